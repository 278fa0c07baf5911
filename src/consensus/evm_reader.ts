/**
 * Reads of an execution chain for provers: answers are verified while their endpoint is known, so that a fault names it
 * and the next endpoint is tried. Start reading at {@link EvmReader}.
 */
import {
  createEvmEndpointSet,
  type EvmEndpointSetDeps,
  type EvmEndpointSetOptions,
} from "../core/chains/evm/evm_endpoint_set.ts";
import { type BatchGuard, LogReader } from "../core/chains/evm/log_reader.ts";
import {
  blockNumber,
  type BlockReference,
  callResult,
  chainId,
  type HashedHeader,
  headerAt,
  type Query,
  stateRootAt,
  storageProof,
  storageWord,
} from "../core/chains/evm/queries.ts";
import { callOne, faultAt, readAnswer, RpcBatch } from "../core/chains/evm/rpc_batch.ts";
import type { Log, LogFilter } from "../core/chains/evm/rpc_schemas.ts";
import type { Hash256, Hex } from "../core/encoding/bytes.ts";
import { accountNodesOf, provenStorageRoot, provenWord, slotNodesOf } from "./rollup/spec/l1_storage.ts";
import type { Address } from "../core/evm/address.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import { type AccountProofAnswer, EvmProofError } from "../core/merkle/evm_proof.ts";
import { type FaultPlace, RpcFault } from "../core/rpc/call.ts";
import type { RpcEndpointSet } from "../core/rpc/endpoint_set.ts";
import type { Log as TelemetryLog } from "../core/telemetry/log.ts";

export type { BlockReference, HashedHeader, LogFilter };

/** A block whose state root is known from elsewhere, e.g. from the hub. */
export interface TrustedBlock {
  readonly height: bigint;
  readonly stateRoot: Hash256;
}

/** A storage slot or call of a contract. */
export type ContractRead =
  | { readonly kind: "word"; readonly account: Address; readonly slot: Hash256; readonly at: bigint }
  | { readonly kind: "call"; readonly to: Address; readonly data: Hex; readonly at: bigint | "latest" };

/** Slots of a contract to prove; without slots the account alone. */
export interface ProofRequest {
  readonly account: Address;
  readonly slots: readonly Hash256[];
}

/** Chain id that one endpoint reports. */
export type ChainIdReport =
  | { readonly host: string; readonly kind: "id"; readonly chainId: bigint }
  | { readonly host: string; readonly kind: "fault"; readonly fault: RpcFault };

/** An execution chain. Every method may throw an `RpcFault` that names the host of the endpoint. */
export interface EvmReader {
  readonly chain: StateMachine;
  /** Hosts of the endpoints in order of preference. */
  readonly hosts: readonly string[];

  /** Fetches the height of the newest block. */
  fetchHeight(signal: AbortSignal): Promise<bigint>;
  /** Fetches a header and recomputes its hash; `undefined`: no endpoint has the block. */
  fetchHeader(which: BlockReference, signal: AbortSignal): Promise<HashedHeader | undefined>;
  /**
   * Fetches several headers in one request, all from one endpoint. @throws {RpcFault} `lagging` when one is missing.
   */
  fetchHeaders(which: readonly BlockReference[], signal: AbortSignal): Promise<readonly HashedHeader[]>;
  /**
   * Fetches the logs of one contract in blocks `from` to `to`, both inclusive, in order; wide ranges are split. @throws
   * {RpcFault} `lagging` when no endpoint has reached `to` yet.
   */
  fetchLogs(
    filter: LogFilter,
    range: { readonly from: bigint; readonly to: bigint },
    signal: AbortSignal,
  ): Promise<readonly Log[]>;
  /** Fetches storage words and results of calls in one request, in order; `undefined` for a call that reverts. */
  fetchReads(reads: readonly ContractRead[], signal: AbortSignal): Promise<readonly (Hex | undefined)[]>;
  /**
   * Fetches Merkle proofs in one request, each from the block's state root to all requested slots (or to their
   * absence). A missing account is no fault: its proof proves the absence. @throws {RpcFault} `malformed` when a proof
   * does not verify; `pruned` when no endpoint has the state any more.
   */
  fetchProofs(
    requests: readonly ProofRequest[],
    block: TrustedBlock,
    signal: AbortSignal,
  ): Promise<readonly AccountProofAnswer[]>;
  /** Fetches the chain id of every endpoint. */
  fetchChainIds(signal: AbortSignal): Promise<readonly ChainIdReport[]>;
  /**
   * Returns a reader that takes logs and reads only from endpoints that have this block with this state: others are on
   * another chain or fork, and fail with a `wrong_chain` fault.
   */
  heldTo(block: TrustedBlock): EvmReader;
  /** Returns one reader per endpoint, in order of preference, for data that one of them may omit. */
  each(): readonly EvmReader[];
}

/** Timeout of proofs: nodes read old blocks from disk. */
const PROOF_TIMEOUT_MS = 60_000;
/** Timeout of the check: a slower endpoint counts as down. */
const CHECK_TIMEOUT_MS = 10_000;

/** Options of a reader. */
export interface EvmReaderOptions extends EvmEndpointSetOptions {
  /** Maximum number of blocks per `eth_getLogs`; `undefined`: the endpoints' limits are probed. */
  readonly blocksPerLogQuery?: bigint | undefined;
}

/** Creates a reader with its own endpoints. Sends no request before the first read. */
export function openEvmReader(
  deps: EvmEndpointSetDeps & { readonly log: TelemetryLog },
  options: EvmReaderOptions,
): EvmReader {
  const log = deps.log.with({ chain: options.stateMachine });
  const endpoints = createEvmEndpointSet(deps, options);
  const logsOf = (of: RpcEndpointSet): LogReader =>
    new LogReader({ endpoints: of, log, blocksPerQuery: options.blocksPerLogQuery });
  return new EndpointSetReader(
    options.stateMachine,
    { endpoints, logs: logsOf(endpoints), logsOf },
    undefined,
  );
}

/** Dependencies of a reader. */
interface ReaderContext {
  readonly endpoints: RpcEndpointSet;
  readonly logs: LogReader;
  /** Creates a log reader for other endpoints. */
  readonly logsOf: (endpoints: RpcEndpointSet) => LogReader;
}

class EndpointSetReader implements EvmReader {
  readonly #parts: ReaderContext;
  readonly #endpoints: RpcEndpointSet;
  readonly #logs: LogReader;
  readonly #guard: BatchGuard | undefined;

  constructor(
    readonly chain: StateMachine,
    parts: ReaderContext,
    guard: BatchGuard | undefined,
  ) {
    this.#parts = parts;
    this.#endpoints = parts.endpoints;
    this.#logs = parts.logs;
    this.#guard = guard;
  }

  get hosts(): readonly string[] {
    return this.#endpoints.hosts;
  }

  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return callOne(this.#endpoints, blockNumber, { signal });
  }

  async fetchHeader(which: BlockReference, signal: AbortSignal): Promise<HashedHeader | undefined> {
    try {
      const [found] = await this.fetchHeaders([which], signal);
      return found;
    } catch (fault) {
      if (isMissingBlock(fault)) return undefined;
      throw fault;
    }
  }

  async fetchHeaders(
    which: readonly BlockReference[],
    signal: AbortSignal,
  ): Promise<readonly HashedHeader[]> {
    const batch = new RpcBatch(this.#endpoints);
    const slots = which.map((each) => batch.add(headerAt(each)));
    let headers: readonly HashedHeader[] = [];
    const check = (place: FaultPlace): RpcFault | undefined => {
      headers = slots.flatMap((slot) => slot() ?? []);
      if (headers.length === slots.length) return undefined;
      const missing = which[slots.findIndex((slot) => slot() === undefined)];
      return faultAt("lagging", place, `no block ${missing}`);
    };
    await batch.send({ signal, check });
    return headers;
  }

  fetchLogs(
    filter: LogFilter,
    range: { readonly from: bigint; readonly to: bigint },
    signal: AbortSignal,
  ): Promise<readonly Log[]> {
    return this.#logs.fetch(filter, range, signal, this.#guard);
  }

  async fetchReads(
    reads: readonly ContractRead[],
    signal: AbortSignal,
  ): Promise<readonly (Hex | undefined)[]> {
    if (reads.length === 0) return [];
    const batch = new RpcBatch(this.#endpoints);
    const slots = reads.map((read) => batch.addOptional(queryOf(read)));
    const guarding = this.#guard?.(batch);
    await batch.send({ signal, check: (place) => guarding?.check(place, [], 0n) });
    return slots.map((slot) => {
      const value = slot();
      if (!(value instanceof RpcFault)) return value;
      if (value.code === "reverted") return undefined;
      throw value;
    });
  }

  async fetchProofs(
    requests: readonly ProofRequest[],
    { height, stateRoot }: TrustedBlock,
    signal: AbortSignal,
  ): Promise<readonly AccountProofAnswer[]> {
    const batch = new RpcBatch(this.#endpoints);
    const slots = requests.map(({ account, slots }) => batch.add(storageProof(account, slots, height)));
    const check = (place: FaultPlace): RpcFault | undefined => {
      try {
        requests.forEach((request, index) => {
          const answer = slots[index]?.();
          if (answer === undefined) throw new Error("A proof without an answer");
          checkProof(answer, request, stateRoot);
        });
        return undefined;
      } catch (cause) {
        if (!(cause instanceof EvmProofError)) throw cause;
        return faultAt("malformed", place, `the proof of block ${height} does not verify: ${cause.code}`);
      }
    };
    await batch.send({ signal, timeoutMs: PROOF_TIMEOUT_MS, check });
    return slots.map((slot) => slot());
  }

  async fetchChainIds(signal: AbortSignal): Promise<readonly ChainIdReport[]> {
    const reports = await this.#endpoints.callEach([chainId.call], { signal, timeoutMs: CHECK_TIMEOUT_MS });
    return reports.map((report): ChainIdReport => {
      const { host } = report;
      if (report.kind === "fault") return { host, kind: "fault", fault: report.fault };
      const [answer] = report.answers;
      if (answer === undefined) throw new Error("A call without an answer");
      const place = { chain: this.chain, endpointHost: host, method: chainId.call.method };
      try {
        return { host, kind: "id", chainId: readAnswer(chainId, answer, place) };
      } catch (fault) {
        if (!(fault instanceof RpcFault)) throw fault;
        return { host, kind: "fault", fault };
      }
    });
  }

  each(): readonly EvmReader[] {
    const { logsOf } = this.#parts;
    return this.#endpoints.each().map((endpoints) =>
      new EndpointSetReader(this.chain, { endpoints, logs: logsOf(endpoints), logsOf }, this.#guard)
    );
  }

  heldTo({ height, stateRoot }: TrustedBlock): EvmReader {
    const guard: BatchGuard = (batch) => {
      const root = batch.add(stateRootAt(height));
      const check = (place: FaultPlace): RpcFault | undefined => {
        const found = root();
        if (found === undefined) return faultAt("lagging", place, `no block ${height} yet`);
        if (found === stateRoot) return undefined;
        const detail = `block ${height} has the state root ${found} here and ${stateRoot} on the hub: ` +
          "the endpoint is on another chain or fork";
        return faultAt("wrong_chain", place, detail);
      };
      return { check };
    };
    return new EndpointSetReader(this.chain, this.#parts, guard);
  }
}

function queryOf(read: ContractRead): Query<Hex> {
  switch (read.kind) {
    case "word":
      return storageWord(read.account, read.slot, read.at);
    case "call":
      return callResult({ to: read.to, data: read.data }, read.at);
  }
}

/** @throws {EvmProofError} when the nodes are inconclusive for any slot under the root. */
function checkProof(answer: AccountProofAnswer, { account, slots }: ProofRequest, stateRoot: Hash256): void {
  let storageRoot: Hash256;
  try {
    storageRoot = provenStorageRoot(accountNodesOf(answer), stateRoot, account);
  } catch (error) {
    if (error instanceof EvmProofError && error.code === "account_not_present") return;
    throw error;
  }
  slots.forEach((slot, index) => provenWord(slotNodesOf(answer, index), storageRoot, slot));
  if (answer.storageHash.toLowerCase() !== storageRoot) throw new EvmProofError("malformed_answer");
}

/** True when every endpoint answered and none has the block. */
function isMissingBlock(fault: unknown): boolean {
  return fault instanceof RpcFault && fault.code === "lagging";
}
