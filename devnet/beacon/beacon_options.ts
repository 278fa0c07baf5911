/**
 * What can be chosen about the simulated beacon node, and what a test sees of it.
 * It is a node as far as its REST routes go: no peers, no validators' work, no checks of what it is told.
 */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { BeaconNetwork } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";

/** Routes, each by the name of what it answers. */
export type BeaconRoute =
  | "finalityUpdate"
  | "updates"
  | "bootstrap"
  | "finalityCheckpoints"
  | "header"
  | "block"
  | "blindedBlock"
  | "debugState"
  | "lodestarProof"
  | "syncing"
  | "version"
  | "spec"
  | "genesis";

/** Routes that not every node has; the node then answers 404 as for any unknown path. */
export type OptionalRoutes =
  /** finality_update, updates, bootstrap */
  | "lightClient"
  /** Lodestar's /eth/v0/beacon/proof/state */
  | "lodestarProof"
  | "blindedBlocks"
  | "debugStates";

/** A request as the hooks see it. */
export interface BeaconQuestion {
  readonly route: BeaconRoute;
  /** With the query, e.g. `/eth/v1/beacon/headers/head`. */
  readonly path: string;
}

/** Makes the node say what is not true. Every hook gets each answer of the node and gives the one to be sent. */
export interface BeaconLie {
  /** @param body of an answer in JSON, a copy that may be changed in place. */
  readonly json?: (question: BeaconQuestion, body: unknown) => unknown;
  /** An HTTP status of 400 or more instead of the answer; undefined leaves it. */
  readonly status?: (question: BeaconQuestion) => number | undefined;
}

/** What may change about one node while it runs. */
export interface NodeBehaviour {
  /** Routes that the node has not. @default none */
  readonly without: readonly OptionalRoutes[];
  /** True: 503 to everything but node/syncing and node/version. @default false */
  readonly isSyncing: boolean;
  /** True: states come in JSON whatever is asked for, as from some providers. @default false */
  readonly hasJsonStatesOnly: boolean;
  /** @default none */
  readonly lie: BeaconLie | undefined;
}

/** What may change about the chain and its first node while they run. */
export interface BeaconBehaviour extends NodeBehaviour {
  /** Members of 512 that sign a block at a slot. @default 500 */
  readonly signers: number | ((slot: number) => number);
}

/** What is chosen at the start. */
export interface BeaconOptions extends Partial<BeaconBehaviour> {
  /** JSON-RPC of the anvil whose blocks the beacon blocks carry. */
  readonly executionUrl: string;
  /** @default Sepolia */
  readonly network?: BeaconNetwork;
  /**
   * Epoch whose first block is the head at the start. The three epochs before have a block each. Fulu at the
   * earliest. @default the ninth epoch of the second period of Fulu
   */
  readonly startEpoch?: number;
  /** How many of an epoch's 32 slots have blocks: two epochs of them pass before a block is final. @default 4 */
  readonly blocksPerEpoch?: number;
  /** Milliseconds between two polls at the execution chain; 0: none, see `Beacon.sync`. @default 250 */
  readonly pollMs?: number;
}

/** A request that was answered. */
export interface BeaconRequest {
  /** Undefined for paths that the node has not. */
  readonly route: BeaconRoute | undefined;
  readonly path: string;
  readonly accept: string;
  readonly status: number;
  /** Bytes of the body handed to the connection; less than the whole when the reader stopped. */
  readonly bytes: number;
}

/** A beacon block and the execution block that it carries. */
export interface BeaconBlockName {
  readonly slot: number;
  readonly root: Hash256;
  readonly stateRoot: Hash256;
  readonly blockNumber: number;
  readonly blockHash: Hash256;
}

/** A node: one address that serves the chain. */
export interface SimulatedBeaconNode extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`, to be followed by `/eth/...`. */
  readonly url: string;
  /** All requests since the start or {@link forgetRequests}, in the order of their arrival. */
  readonly requests: readonly BeaconRequest[];
  forgetRequests(): void;
  change(behaviour: Partial<NodeBehaviour>): void;
  /** Ends the node. Safe to call twice. */
  stop(): Promise<void>;
}

/** A command that the chain cannot follow. */
export class BeaconFault extends Error {
  override readonly name = "BeaconFault";

  constructor(
    /** `finalized`: a reorg would have to undo what is final; `period_passed`; `fulu_only`: too early a start. */
    readonly code: "finalized" | "period_passed" | "fulu_only",
  ) {
    super(`The beacon chain cannot do that: ${code}`);
  }
}
