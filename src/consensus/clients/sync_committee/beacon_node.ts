/**
 * Requests to beacon nodes and the parsing of their answers. Decides nothing; answers that violate their schema or
 * contradict themselves become faults of the endpoint (`malformed`). Source: ethereum/beacon-APIs:
 * apis/{beacon,debug,node}; ChainSafe/lodestar: packages/api/src/beacon/routes.
 */
import * as z from "zod";
import { type Hash256, type Hex, toHash256 } from "../../../core/encoding/bytes.ts";
import { type BeaconNetwork, forkNames } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";
import { readForkSchedule } from "./spec/fork_schedule.ts";
import {
  beaconHeaderJson,
  bootstrapJson,
  type FinalityUpdate,
  finalityUpdateJson,
  type LightClientBootstrap,
  type LightClientUpdate,
  lightClientUpdateJson,
  type SigningBlock,
  signingBlockJson,
} from "./spec/light_client_data.ts";
import { headerRoot } from "./spec/ssz_roots.ts";
import { SyncCommitteeError } from "./spec/sync_committee_error.ts";
import type { BeaconBlockHeader } from "./spec/update.ts";
import { onFault } from "../../../core/rpc/call.ts";
import type { Json } from "../../../core/rpc/json.ts";
import type { BodyReader, RestConditions, RestEndpoint } from "../../rest/rest_endpoint.ts";

/** A header with its recomputed root. */
export interface RootedHeader {
  readonly root: Hash256;
  readonly header: BeaconBlockHeader;
}

/** A checkpoint as nodes return it. The root is zero before the first one. */
export interface Checkpoint {
  readonly epoch: bigint;
  readonly root: Hash256;
}

/**
 * Timeout of the first byte of a state, ms: some nodes replay up to 2,048 blocks for one (OffchainLabs/prysm:
 * beacon-chain/state/stategen), which takes minutes.
 */
const STATE_FIRST_BYTE_MS = 10 * 60_000;

/** Names of routes in faults and in the endpoints' capabilities. */
export const beaconRoutes = {
  finalityUpdate: "light_client/finality_update",
  updates: "light_client/updates",
  bootstrap: "light_client/bootstrap/{root}",
  header: "headers/{id}",
  block: "blocks/{id}",
  blindedBlock: "blinded_blocks/{id}",
  checkpoints: "states/{id}/finality_checkpoints",
  stateProof: "proof/state/{id}",
  state: "debug/beacon/states/{id}",
  genesis: "genesis",
  spec: "config/spec",
} as const;

const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/).transform((text) => toHash256(text));
const uint64 = z.string().regex(/^[0-9]{1,20}$/).transform(BigInt);

/** Fork of an answer, or of the first of a list (ethereum/beacon-APIs: `version` beside `data`). */
const versioned = z.object({ version: z.string().regex(/^[a-z0-9]{1,32}$/) });
const updatesJson = z.array(z.object({ data: lightClientUpdateJson })).max(128);
const headerJson = z.object({ root: hash, header: z.object({ message: beaconHeaderJson }) });
const checkpointsJson = z.object({ finalized: z.object({ epoch: uint64, root: hash }) });
const genesisJson = z.object({ genesis_validators_root: hash });
const proofJson = z.object({ leaves: z.array(hash).max(1024) });

/**
 * Runs `read`, which may throw the errors of this chain's codecs and checks. @throws {RpcFault} `malformed` of the
 * endpoint when it does.
 */
export function believed<T>(endpoint: RestEndpoint, route: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const isRefusal = cause instanceof DerivationError || cause instanceof SyncCommitteeError ||
      cause instanceof z.ZodError;
    if (!isRefusal) throw cause;
    const detail = cause instanceof z.ZodError
      ? `unexpected shape at ${cause.issues[0]?.path.join(".") ?? ""}`
      : cause.message;
    throw endpoint.fault("malformed", route, { detail, cause });
  }
}

/** One beacon node, within one operation. Every method may throw an `RpcFault`. */
export class BeaconNode {
  /** With the forks that the node knows. */
  readonly network: BeaconNetwork;
  readonly #conditions: RestConditions;

  /** @param timeoutMs of every request; absent: the endpoint's, and ten minutes for a state's first byte. */
  constructor(
    readonly endpoint: RestEndpoint,
    { network, signal, timeoutMs }: {
      readonly network: BeaconNetwork;
      readonly signal: AbortSignal;
      readonly timeoutMs?: number;
    },
  ) {
    this.network = network;
    this.#conditions = { signal, timeoutMs, firstByteTimeoutMs: timeoutMs ?? STATE_FIRST_BYTE_MS };
  }

  /** Fetches the network with the node's fork schedule. */
  fetchNetwork(): Promise<BeaconNetwork> {
    return this.#read(
      beaconRoutes.spec,
      "/eth/v1/config/spec",
      (json) => readForkSchedule(this.network, json),
    );
  }

  /** Fetches the newest finality update. */
  fetchFinalityUpdate(): Promise<FinalityUpdate> {
    const path = "/eth/v1/beacon/light_client/finality_update";
    return this.#readData(beaconRoutes.finalityUpdate, path, finalityUpdateJson);
  }

  /** Fetches the best update of a period. @throws {RpcFault} `not_found` also when the list is empty. */
  async fetchPeriodUpdate(period: bigint): Promise<LightClientUpdate> {
    const route = beaconRoutes.updates;
    const path = `/eth/v1/beacon/light_client/updates?start_period=${period}&count=1`;
    const [update] = await this.#read(route, path, (json) => updatesJson.parse(json));
    if (update !== undefined) return update.data;
    throw this.endpoint.fault("not_found", route, { detail: `no update of period ${period}` });
  }

  /** Fetches the bootstrap of a block. */
  async fetchBootstrap(root: Hash256): Promise<LightClientBootstrap> {
    const route = beaconRoutes.bootstrap;
    const path = `/eth/v1/beacon/light_client/bootstrap/${root}`;
    const bootstrap = await this.#readData(route, path, bootstrapJson);
    if (headerRoot(bootstrap.header.beacon) === root) return bootstrap;
    throw this.endpoint.fault("malformed", route, { detail: "the bootstrap is for another block" });
  }

  /** Fetches a header by slot, root, `head` or `finalized`. */
  async fetchHeader(id: string): Promise<RootedHeader> {
    const route = beaconRoutes.header;
    const { root, header: { message: header } } = await this.#readData(
      route,
      `/eth/v1/beacon/headers/${id}`,
      headerJson,
    );
    if (headerRoot(header) === root && (!id.startsWith("0x") || id === root)) return { root, header };
    throw this.endpoint.fault("malformed", route, { detail: "the header has another root" });
  }

  /** Fetches the signers in a block. Blinded blocks are smaller: they omit the transactions. */
  async fetchBlock(root: Hash256): Promise<SigningBlock> {
    const readWhole = onFault(
      () => this.#readData(beaconRoutes.block, `/eth/v2/beacon/blocks/${root}`, signingBlockJson),
      ...["not_found", "missing_method", "refused", "server_error", "malformed"] as const,
    );
    const path = `/eth/v1/beacon/blinded_blocks/${root}`;
    return await this.#readData(beaconRoutes.blindedBlock, path, signingBlockJson).catch(readWhole);
  }

  /** Fetches the finalized checkpoint of a state, by root, slot or `head`. */
  async fetchFinalizedCheckpoint(state: string): Promise<Checkpoint> {
    const path = `/eth/v1/beacon/states/${state}/finality_checkpoints`;
    return (await this.#readData(beaconRoutes.checkpoints, path, checkpointsJson)).finalized;
  }

  /** Fetches the root of the validators at genesis, which identifies the network. */
  async fetchGenesisValidatorsRoot(): Promise<Hash256> {
    const genesis = await this.#readData(beaconRoutes.genesis, "/eth/v1/beacon/genesis", genesisJson);
    return genesis.genesis_validators_root;
  }

  /** Fetches the leaves of a compact proof of a state. */
  async fetchStateProof(state: string, format: Hex): Promise<readonly Hash256[]> {
    const path = `/eth/v0/beacon/proof/state/${state}?format=${format}`;
    return (await this.#readData(beaconRoutes.stateProof, path, proofJson)).leaves;
  }

  /** Streams a state: its SSZ bytes, or JSON where the body's reader accepts it. */
  async streamState(state: string, body: BodyReader): Promise<void> {
    const path = `/eth/v2/debug/beacon/states/${state}`;
    await this.endpoint.stream({ route: beaconRoutes.state, path }, body, this.#conditions);
  }

  /** Reads the `data` of an answer. */
  async #readData<T>(route: string, path: string, shape: z.ZodType<T>): Promise<T> {
    return await this.#read(route, path, (json) => z.object({ data: shape }).parse(json).data);
  }

  /** @throws {RpcFault} `refused`, caused by a {@link DerivationError} `unknown_fork`, for answers of such a fork. */
  async #read<T>(route: string, path: string, parse: (json: Json) => T): Promise<T> {
    const json = await this.endpoint.fetchJson({ route, path }, this.#conditions);
    const reported = versioned.safeParse(Array.isArray(json) ? json[0] : json).data?.version;
    if (reported === undefined || forkNames.some((name) => name === reported)) {
      return believed(this.endpoint, route, () => parse(json));
    }
    const detail = `the beacon chain has reached fork ${reported}, which this version does not know`;
    throw this.endpoint.fault("refused", route, { detail, cause: new DerivationError("unknown_fork") });
  }
}
