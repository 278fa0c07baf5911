/**
 * Probe of one endpoint of an EVM chain: what it answers to each of the requests that the programs make. Faults are
 * facts; what they mean is decided in `endpoint_rows.ts`.
 */
import * as z from "zod";
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { callTracerOptions } from "../../evm/trace.ts";
import { REQUEST_TIMEOUT_MS } from "../../checks/check_row.ts";
import { type FaultPlace, RpcFault } from "../../rpc/call.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import { blockAt, blockNumber, chainId, logs, type Query } from "./queries.ts";
import { readAnswer } from "./rpc_batch.ts";
import * as shape from "./rpc_schemas.ts";

/** Calls of one request by which the limit of batches is probed; free plans allow about as many in a second. */
export const BATCH_PROBE = 20;

/** Blocks of one `eth_getLogs` that are probed without a configured width, in this order: the first that works counts. */
const LOG_WIDTHS: readonly bigint[] = [10_000n, 1_000n, 100n, 1n];

/** What is probed beside chain id, head, final block and batches. */
export interface EvmProbeOptions {
  readonly clock: Pick<Clock, "now">;
  /** Contract whose logs are read; absent: the width of `eth_getLogs` is not probed. */
  readonly logsOf?: Address | undefined;
  /** Configured width of `eth_getLogs`, blocks; absent: the widest that works. */
  readonly blocksPerQuery?: bigint | undefined;
  /** Account that simulations are sent from; absent: simulations are not probed. */
  readonly simulateFrom?: Address | undefined;
}

/** Newest block of an endpoint. */
export interface ProbedHead {
  readonly height: bigint;
  /** Unix seconds. */
  readonly timeSec: bigint;
}

/** Result of `eth_getLogs`: the width that worked and those that were refused before. */
export interface ProbedLogs {
  /** `undefined`: not even one block. */
  readonly blocks: bigint | undefined;
  /** Refusal of the widest range; absent: the first range worked. */
  readonly refused?: { readonly blocks: bigint; readonly fault: RpcFault };
}

/** Simulations: whether the logs of a call are shown, or the fault. */
export interface ProbedSimulation {
  readonly trace: boolean | RpcFault;
  readonly simulate: boolean | RpcFault;
}

/** Facts about one endpoint. */
export type EndpointFacts =
  | { readonly host: string; readonly kind: "silent"; readonly fault: RpcFault }
  | {
    readonly host: string;
    readonly kind: "answers";
    /** Time of the first answer. */
    readonly latencyMs: number;
    readonly chainId: bigint | RpcFault;
    readonly head: ProbedHead | RpcFault;
    /** `undefined`: the node answers that there is no final block. */
    readonly finalized: bigint | RpcFault | undefined;
    /** Maximum number of calls in one request; `Infinity`: at least {@link BATCH_PROBE}. */
    readonly maxBatch: number;
    readonly logs: ProbedLogs | undefined;
    readonly simulation: ProbedSimulation | undefined;
  };

/** Probes every endpoint of a set by itself, all at once. */
export function probeEndpoints(
  endpoints: RpcEndpointSet,
  options: EvmProbeOptions,
  signal: AbortSignal,
): Promise<readonly EndpointFacts[]> {
  return Promise.all(endpoints.each().map((endpoint) => probeEndpoint(endpoint, options, signal)));
}

/** @param endpoint a set of one. */
async function probeEndpoint(
  endpoint: RpcEndpointSet,
  options: EvmProbeOptions,
  signal: AbortSignal,
): Promise<EndpointFacts> {
  const [host = ""] = endpoint.hosts;
  const startMs = options.clock.now();
  const [id, latest, final] = await askAll(
    endpoint,
    [chainId, blockAt("latest"), blockAt("finalized")],
    signal,
  );
  const latencyMs = options.clock.now() - startMs;
  const silent = [id, latest].find(isSilence);
  if (silent !== undefined) return { host, kind: "silent", fault: silent };
  const head = toHead(latest);
  const height = head instanceof RpcFault ? undefined : head.height;
  const [maxBatch, found, simulation] = await Promise.all([
    probeBatch(endpoint, signal),
    options.logsOf === undefined || height === undefined
      ? undefined
      : probeLogs(endpoint, { address: options.logsOf, height, blocks: options.blocksPerQuery }, signal),
    options.simulateFrom === undefined ? undefined : probeSimulation(endpoint, options.simulateFrom, signal),
  ]);
  const finalized = final instanceof RpcFault ? final : final?.number;
  return {
    host,
    kind: "answers",
    latencyMs,
    chainId: id,
    head,
    finalized,
    maxBatch,
    logs: found,
    simulation,
  };

  function toHead(block: shape.Block | RpcFault | undefined): ProbedHead | RpcFault {
    if (block instanceof RpcFault) return block;
    if (block === undefined) {
      return new RpcFault("malformed", "retry", place(endpoint, "eth_getBlockByNumber"), {
        detail: "no newest block",
      });
    }
    return { height: block.number, timeSec: block.timestamp };
  }
}

/** Faults that mean that the endpoint gave no answer at all. */
function isSilence(answer: unknown): answer is RpcFault {
  const codes = ["timeout", "unreachable", "server_error", "throttled", "unauthorized"];
  return answer instanceof RpcFault && codes.includes(answer.code);
}

function place(endpoint: RpcEndpointSet, method: string): FaultPlace {
  const [endpointHost = ""] = endpoint.hosts;
  return { chain: endpoint.chain, endpointHost, method };
}

/** Answers or faults of the queries, in their order. */
type Answers<Queries extends readonly Query<unknown>[]> = {
  readonly [Index in keyof Queries]: Queries[Index] extends Query<infer T> ? T | RpcFault : never;
};

/** Sends queries in one request; a fault stands for the answer of each query that it concerns. */
async function askAll<const Queries extends readonly Query<unknown>[]>(
  endpoint: RpcEndpointSet,
  queries: Queries,
  signal: AbortSignal,
): Promise<Answers<Queries>> {
  const conditions = { signal, timeoutMs: REQUEST_TIMEOUT_MS };
  const [report] = await endpoint.callEach(queries.map(({ call }) => call), conditions);
  if (report === undefined) throw new Error("A set without an endpoint");
  const read = (query: Query<unknown>, index: number): unknown => {
    if (report.kind === "fault") return report.fault;
    const answer = report.answers[index];
    if (answer === undefined) throw new Error("A query without an answer");
    try {
      return readAnswer(query, answer, place(endpoint, query.call.method));
    } catch (fault) {
      if (fault instanceof RpcFault) return fault;
      throw fault;
    }
  };
  // Checked: each element is the result of the reader of the query at its index.
  return queries.map(read) as Answers<Queries>;
}

async function probeBatch(endpoint: RpcEndpointSet, signal: AbortSignal): Promise<number> {
  await askAll(endpoint, Array.from({ length: BATCH_PROBE }, () => blockNumber), signal);
  return endpoint.batchLimit;
}

async function probeLogs(
  endpoint: RpcEndpointSet,
  { address, height, blocks }: {
    readonly address: Address;
    readonly height: bigint;
    readonly blocks: bigint | undefined;
  },
  signal: AbortSignal,
): Promise<ProbedLogs> {
  const wanted = blocks === undefined
    ? LOG_WIDTHS
    : [blocks, ...LOG_WIDTHS.filter((width) => width < blocks)];
  const topics = [hostEventTopics.PostRequestEvent];
  const asked = wanted.map((width) => {
    const from = height >= width ? height - width + 1n : 0n;
    return askAll(endpoint, [logs({ address, topics, from, to: height })], signal);
  });
  let refused: ProbedLogs["refused"];
  for (const [index, [answer]] of (await Promise.all(asked)).entries()) {
    const width = wanted[index] ?? 1n;
    if (!(answer instanceof RpcFault)) return { blocks: width, ...refused && { refused } };
    refused ??= { blocks: width, fault: answer };
  }
  return { blocks: undefined, ...refused && { refused } };
}

/** Init code that emits one empty log and ends: PUSH1 0 PUSH1 0 LOG0 STOP. */
const LOGGING_CODE: Hex = "0x60006000a000";

const loggedFrame = z.object({ logs: z.array(z.unknown()).optional() });

const loggedBlocks = z.array(z.object({ calls: z.array(loggedFrame) }));

async function probeSimulation(
  endpoint: RpcEndpointSet,
  from: Address,
  signal: AbortSignal,
): Promise<ProbedSimulation> {
  const call = { from, data: LOGGING_CODE, gas: "0x30d40" };
  const traced: Query<boolean> = {
    call: { method: "debug_traceCall", params: [call, "latest", callTracerOptions] },
    read: (result) => hasLogs([shape.parseResponse(loggedFrame, result, "debug_traceCall")]),
  };
  const blocks = { blockStateCalls: [{ calls: [call] }], validation: false, traceTransfers: false };
  const simulated: Query<boolean> = {
    call: { method: "eth_simulateV1", params: [blocks, "latest"] },
    read: (result) =>
      hasLogs(shape.parseResponse(loggedBlocks, result, "eth_simulateV1").flatMap(({ calls }) => calls)),
  };
  const [[trace], [simulate]] = await Promise.all([
    askAll(endpoint, [traced], signal),
    askAll(endpoint, [simulated], signal),
  ]);
  return { trace, simulate };
}

function hasLogs(frames: readonly z.output<typeof loggedFrame>[]): boolean {
  return frames.some(({ logs: found = [] }) => found.length > 0);
}
