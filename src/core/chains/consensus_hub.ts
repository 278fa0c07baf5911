/**
 * The hub as the consensus relayer sees it: what it trusts of the other chains, and where their updates go.
 * Source of the rules: docs/protocol/evm-consensus.md section 4 and docs/protocol/hub-consensus.md section 3.4.
 */
import type { StateCommitment } from "../ismp/state_commitment.ts";
import type {
  ConsensusClientId,
  ConsensusStateId,
  StateMachineHeight,
  StateMachineId,
} from "../ismp/state_machine.ts";
import type { BroadcastResult, CheckFinding, Refusal, SignedSubmission, SubmissionOutcome } from "./port.ts";

/** A light client of the hub, as it stands at one block. */
export interface ConsensusClientView {
  readonly clientId: ConsensusClientId;
  /** SCALE bytes of the trusted state, in the layout of the client. */
  readonly state: Uint8Array;
  /** Unix seconds of the last accepted update. */
  readonly updatedSec: bigint;
  /** Seconds after which a client without an update is dead. */
  readonly unbondingSec: bigint;
  readonly isFrozen: boolean;
}

/** Which block of the hub is asked. */
export type HubBlock = "best" | "final";

/** What an accepted extrinsic stored: the heights that it really brought, which may be none. */
export type UpdateOutcome = SubmissionOutcome & { readonly advanced?: readonly StateMachineHeight[] };

/** The hub, asked for and fed with consensus. Every method may throw an `RpcFault`. */
export interface ConsensusTarget {
  /** The hub, and the consensus state id under which others know it. */
  readonly id: StateMachineId;

  /** Compares the node with the configuration. */
  check(signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /** The light client of that name; `undefined`: the hub has none (it must be created by governance). */
  fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined>;
  /** Newest height stored of a chain; `undefined`: none. */
  fetchLatestHeight(of: StateMachineId, signal: AbortSignal): Promise<bigint | undefined>;
  /** What is stored of one height; `undefined`: nothing (any more). */
  fetchCommitment(of: StateMachineHeight, signal: AbortSignal): Promise<StateCommitment | undefined>;
  /** When the commitment of that height was stored, Unix seconds. */
  fetchUpdateTime(of: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined>;
  /** The hub's own clock, Unix seconds. */
  fetchNowSec(signal: AbortSignal): Promise<bigint>;
  /** Raw storage values, all of one block, in the order of the keys; one round trip, two for the final block. */
  fetchStorage(
    keys: readonly Uint8Array[],
    signal: AbortSignal,
    /** Default `best`. */
    block?: HubBlock,
  ): Promise<readonly (Uint8Array | undefined)[]>;

  /** What the runtime says now to these proofs, one after the other in one extrinsic; `undefined`: it takes them. */
  dryRunUpdates(
    id: ConsensusStateId,
    proofs: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<Refusal | undefined>;
  /**
   * Makes one unsigned `Ismp.handle_unsigned` with a consensus message per proof, in order, each with our sr25519
   * signature of keccak256(proof). Nothing is sent.
   */
  prepareUpdates(
    id: ConsensusStateId,
    proofs: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<SignedSubmission>;
  /** Hands the bytes to the pool. */
  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult>;
  /** What became of it, and which heights it stored (`StateMachineUpdated` events of that very extrinsic). */
  fetchUpdateOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<UpdateOutcome>;

  /** Closes connections. The hub must not be used afterwards. */
  close(): Promise<void>;
}
