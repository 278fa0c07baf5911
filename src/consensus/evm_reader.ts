/**
 * Reads of an execution chain for provers: answers are verified while their endpoint is known, so that a fault names it
 * and the next endpoint is tried. Start reading at {@link EvmReader}.
 */
import { accountNodesOf, provenWord, slotNodesOf } from "./rollup/spec/l1_storage.ts";
import { type ChainIdReport, judgeChainIds } from "../core/chains/evm/endpoint_checks.ts";
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
  stateRootAt,
  storageProof,
} from "../core/chains/evm/queries.ts";
import { callOne, faultAt, probeAll, RpcBatch } from "../core/chains/evm/rpc_batch.ts";
import type { Log, LogFilter } from "../core/chains/evm/rpc_schemas.ts";
import type { CheckRow } from "../core/checks/check_row.ts";
import { fromHex, type Hash256, type Hex } from "../core/encoding/bytes.ts";
import type { Address } from "../core/evm/address.ts";
import type { EvmBlockHeader } from "../core/evm/block_header.ts";
import { evmChainId, type StateMachine } from "../core/ismp/state_machine.ts";
import { type AccountProofAnswer, EvmProofError, readAccountRoot } from "../core/merkle/evm_proof.ts";
import { type FaultPlace, onFault, RpcFault } from "../core/rpc/call.ts";
import type { RpcEndpointSet } from "../core/rpc/endpoint_set.ts";
import type { Log as TelemetryLog } from "../core/telemetry/log.ts";

export type { BlockReference, HashedHeader, LogFilter };

/** A block whose state root is known from elsewhere, e.g. from the hub. */
export interface TrustedBlock {
  readonly height: bigint;
  readonly stateRoot: Hash256;
}

/** A call of a contract. */
export interface ContractCall {
  readonly to: Address;
  readonly data: Hex;
}

/** Slots of a contract to prove; without slots the account alone. */
export interface ProofRequest {
  readonly account: Address;
  readonly slots: readonly Hash256[];
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
  const toSource = (endpoints: RpcEndpointSet): Source => ({
    endpoints,
    logs: new LogReader({ endpoints, log, blocksPerQuery: options.blocksPerLogQuery }),
  });
  const all = createEvmEndpointSet(deps, options);
  const singles = all.hosts.length === 1 ? undefined : all.each().map(toSource);
  return new EvmReader(options.stateMachine, toSource(all), singles);
}

/** Endpoints, with what is known of their limits. */
interface Source {
  readonly endpoints: RpcEndpointSet;
  readonly logs: LogReader;
}

/** An execution chain. Every method may throw an `RpcFault` that names the host of the endpoint. */
export class EvmReader {
  readonly #source: Source;
  readonly #singles: readonly Source[];
  readonly #guard: BatchGuard | undefined;

  /** @param singles the endpoints one by one. @param guard refuses answers of endpoints on another chain or fork. */
  constructor(
    readonly chain: StateMachine,
    source: Source,
    singles: readonly Source[] = [source],
    guard?: BatchGuard,
  ) {
    this.#source = source;
    this.#singles = singles;
    this.#guard = guard;
  }

  get #endpoints(): RpcEndpointSet {
    return this.#source.endpoints;
  }

  /** Hosts of the endpoints in order of preference. */
  get hosts(): readonly string[] {
    return this.#endpoints.hosts;
  }

  /** Fetches the height of the newest block. */
  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return callOne(this.#endpoints, blockNumber, { signal });
  }

  /** Fetches a header and recomputes its hash; `undefined`: no endpoint has the block. */
  async fetchHeader(which: BlockReference, signal: AbortSignal): Promise<HashedHeader | undefined> {
    // With "lagging" every endpoint answered and none has the block.
    return (await this.fetchHeaders([which], signal).catch(onFault(() => [], "lagging")))[0];
  }

  /**
   * Fetches several headers in one request, all from one endpoint. @throws {RpcFault} `lagging` when one is missing.
   */
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

  /**
   * Fetches the logs of one contract in blocks `from` to `to`, both inclusive, in order; wide ranges are split. @throws
   * {RpcFault} `lagging` when no endpoint has reached `to` yet.
   */
  fetchLogs(
    filter: LogFilter,
    range: { readonly from: bigint; readonly to: bigint },
    signal: AbortSignal,
  ): Promise<readonly Log[]> {
    return this.#source.logs.fetch(filter, range, signal, this.#guard);
  }

  /** Fetches the results of calls at the newest block in one request, in order; `undefined` for one that reverts. */
  async fetchCalls(
    calls: readonly ContractCall[],
    signal: AbortSignal,
  ): Promise<readonly (Hex | undefined)[]> {
    if (calls.length === 0) return [];
    const batch = new RpcBatch(this.#endpoints);
    const slots = calls.map((call) => batch.addOptional(callResult(call, "latest")));
    const judge = this.#guard?.(batch);
    await batch.send({ signal, check: (place) => judge?.(place, [], 0n) });
    return slots.map((slot) => {
      const value = slot();
      if (!(value instanceof RpcFault)) return value;
      if (value.code === "reverted") return undefined;
      throw value;
    });
  }

  /**
   * Fetches Merkle proofs in one request, each from the block's state root to all requested slots (or to their
   * absence). A missing account is no fault: its proof proves the absence. @throws {RpcFault} `malformed` when a proof
   * does not verify; `pruned` when no endpoint has the state any more.
   */
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
          readWords(answer, request, stateRoot);
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

  /** Fetches the proven words of slots; `undefined` for one that is empty. @throws {RpcFault} as {@link fetchProofs} */
  async fetchProvenWords(
    request: ProofRequest,
    block: TrustedBlock,
    signal: AbortSignal,
  ): Promise<readonly (Hash256 | undefined)[]> {
    const [answer] = await this.fetchProofs([request], block, signal);
    if (answer === undefined) throw new Error("A proof without an answer");
    return readWords(answer, request, block.stateRoot);
  }

  /** Fetches the chain id of every endpoint. */
  async fetchChainIds(signal: AbortSignal): Promise<readonly ChainIdReport[]> {
    return await Promise.all(
      this.#endpoints.each().map(async (endpoint) => {
        const [id] = await probeAll(endpoint, [chainId], { signal, timeoutMs: CHECK_TIMEOUT_MS });
        return { host: endpoint.hosts.join(), id };
      }),
    );
  }

  /** Returns one reader per endpoint, in order of preference, for data that one of them may omit. */
  each(): readonly EvmReader[] {
    return this.#singles.map((single) => new EvmReader(this.chain, single, [single], this.#guard));
  }

  /**
   * Returns a reader that takes logs and results only from endpoints that have this block with this state: others are on
   * another chain or fork, and fail with a `wrong_chain` fault.
   */
  heldTo({ height, stateRoot }: TrustedBlock): EvmReader {
    const guard: BatchGuard = (batch) => {
      const root = batch.add(stateRootAt(height));
      return (place) => {
        const found = root();
        if (found === undefined) return faultAt("lagging", place, `no block ${height} yet`);
        if (found === stateRoot) return undefined;
        const detail = `block ${height} has the state root ${found} here and ${stateRoot} on the hub: ` +
          "the endpoint is on another chain or fork";
        return faultAt("wrong_chain", place, detail);
      };
    };
    return new EvmReader(this.chain, this.#source, this.#singles, guard);
  }
}

/** Fetches one header. @throws {RpcFault} `lagging` when no endpoint has the block */
export async function fetchEvmHeader(
  reader: Pick<EvmReader, "fetchHeaders">,
  which: BlockReference,
  signal: AbortSignal,
): Promise<EvmBlockHeader> {
  const [found] = await reader.fetchHeaders([which], signal);
  if (found === undefined) throw new Error("A header without an answer");
  return found.header;
}

/** Compares the chain id of every endpoint with the configuration. @param place.key setting with the URLs */
export async function checkChainIds(
  reader: Pick<EvmReader, "chain" | "fetchChainIds">,
  place: { readonly chain: StateMachine; readonly key: string },
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const serves = reader.chain;
  const options = { ...place, serves, chainId: BigInt(evmChainId(serves)) };
  return judgeChainIds(await reader.fetchChainIds(signal), options);
}

/** Reads the words of slots; none of a missing account. @throws {EvmProofError} when the nodes are inconclusive. */
function readWords(
  answer: AccountProofAnswer,
  { account, slots }: ProofRequest,
  stateRoot: Hash256,
): readonly (Hash256 | undefined)[] {
  const root = readAccountRoot(accountNodesOf(answer), stateRoot, fromHex(account));
  if (root === undefined) return slots.map(() => undefined);
  const words = slots.map((slot, index) => provenWord(slotNodesOf(answer, index), root, slot));
  if (answer.storageHash.toLowerCase() !== root) throw new EvmProofError("malformed_answer");
  return words;
}
