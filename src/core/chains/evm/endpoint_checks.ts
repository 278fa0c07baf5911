/**
 * Rows about each endpoint of an EVM chain: what it answers to each of the requests that the programs make, and what
 * that means for the operator. Start reading at {@link checkEndpoints}.
 */
import * as z from "zod";
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { callTracerOptions } from "../../evm/trace.ts";
import type { CheckCode, CheckOutcome, CheckRow } from "../../checks/check_row.ts";
import { adviseOnFault, describeFault, REQUEST_TIMEOUT_MS, silenceRow } from "../../checks/check_row.ts";
import { isOfEndpoint, RpcFault } from "../../rpc/call.ts";
import { findLag, type HeadReading } from "../../rpc/head_watch.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Clock } from "../../runtime/clock.ts";
import { judgeClock } from "../chain_checks.ts";
import { blockAt, blockNumber, chainId, logs, type Query } from "./queries.ts";
import { faultAt, readAnswer } from "./rpc_batch.ts";
import * as shape from "./rpc_schemas.ts";

/** Calls of one request by which the limit of batches is probed; free plans allow about as many in a second. */
const BATCH_PROBE = 20;
/** Calls in one request below which reading takes noticeably longer. */
const FEW_CALLS = 5;
/** Blocks of one `eth_getLogs` that are probed without a configured width, in this order: the first that works counts. */
const LOG_WIDTHS: readonly bigint[] = [10_000n, 1_000n, 100n, 1n];
/** Answers that take longer are reported, ms: one round of a leg takes a few of them in a row. */
const MAX_LATENCY_MS = 2_000;

/** What is checked beside chain id, head, final block and batches, and what the endpoints are compared with. */
export interface EndpointCheckOptions {
  readonly clock: Pick<Clock, "now">;
  /** State machine of the chain. */
  readonly chain: string;
  /** Chain that the endpoints serve, where it is another one: the L1 of a rollup. */
  readonly serves?: string;
  readonly chainId: bigint;
  /** Configuration key that names the endpoints. */
  readonly key: string;
  /** Contract whose logs are read; absent: the width of `eth_getLogs` is not checked. */
  readonly logsOf?: Address | undefined;
  /** Configured width of `eth_getLogs`, blocks; absent: the widest that works. */
  readonly blocksPerQuery?: bigint | undefined;
  /** Account that simulations are sent from; absent: simulations are not checked. */
  readonly simulateFrom?: Address | undefined;
}

/** A row without the place that it is about. */
interface Verdict {
  readonly result: CheckOutcome;
  readonly found: string;
  readonly advice?: string;
}

/** First answers of an endpoint. */
interface FirstAnswers {
  /** A set of one. */
  readonly endpoint: RpcEndpointSet;
  readonly latencyMs: number;
  readonly id: bigint | RpcFault;
  readonly head: shape.Block | RpcFault;
  /** `undefined`: the node answers that there is no final block. */
  readonly final: shape.Block | RpcFault | undefined;
}

/** Checks every endpoint of a set by itself, all at once; and this machine's clock by the newest block. */
export async function checkEndpoints(
  endpoints: RpcEndpointSet,
  options: EndpointCheckOptions,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const all = await Promise.all(
    endpoints.each().map((endpoint) => askFirst(endpoint, options.clock, signal)),
  );
  const best = findBest(all, options.chainId);
  const isAnswered = all.some((each) => findSilence(each) === undefined);
  const rows = await Promise.all(all.map(async (first): Promise<readonly CheckRow[]> => {
    const { chain } = options;
    const silence = findSilence(first);
    if (silence !== undefined) return [silenceRow(chain, silence, isAnswered)];
    const hasOwn = all.some(({ id }) => id === options.chainId);
    const verdicts = await judge(
      first,
      { options, hasOwn, best: all.length > 1 ? best : undefined },
      signal,
    );
    return verdicts.map(([check, verdict]) => ({
      chain,
      endpoint: first.endpoint.hosts.join(),
      check,
      ...verdict,
    }));
  }));
  if (best === undefined) return rows.flat();
  return [...rows.flat(), judgeClock(options.chain, best.timestamp, { nowMs: options.clock.now() })];
}

/** What one endpoint is compared with. */
interface Comparison {
  readonly options: EndpointCheckOptions;
  /** True: at least one endpoint serves the chain. */
  readonly hasOwn: boolean;
  /** Newest block of all; `undefined`: it is the only one. */
  readonly best: shape.Block | undefined;
}

async function judge(
  first: FirstAnswers,
  { options, hasOwn, best }: Comparison,
  signal: AbortSignal,
): Promise<readonly (readonly [CheckCode, Verdict])[]> {
  const { endpoint, id, head, final } = first;
  const verdicts: (readonly [CheckCode, Verdict])[] = [
    ["endpoint", judgeLatency(first.latencyMs)],
    ["chain_id", judgeChainId(id, options, hasOwn)],
  ];
  if (id !== options.chainId) return verdicts;
  const [batch, width, simulation] = await Promise.all([
    checkBatch(endpoint, signal),
    head instanceof RpcFault ? undefined : checkLogs(endpoint, { ...options, height: head.number }, signal),
    options.simulateFrom === undefined ? undefined : checkSimulation(endpoint, options.simulateFrom, signal),
  ]);
  verdicts.push(["head", judgeHead(head, best, options.clock.now())], [
    "finalized",
    judgeFinalized(final, head),
  ], [
    "batch",
    batch,
  ]);
  if (width !== undefined) verdicts.push(["logs", width]);
  if (simulation !== undefined) verdicts.push(["simulation", simulation]);
  return verdicts;
}

async function askFirst(
  endpoint: RpcEndpointSet,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<FirstAnswers> {
  const startMs = clock.now();
  const [id, head, final] = await askAll(
    endpoint,
    [chainId, blockAt("latest"), blockAt("finalized")],
    { signal, timeoutMs: REQUEST_TIMEOUT_MS },
  );
  const latencyMs = clock.now() - startMs;
  const place = {
    chain: endpoint.chain,
    endpointHost: endpoint.hosts.join(),
    method: "eth_getBlockByNumber",
  };
  return { endpoint, latencyMs, id, head: head ?? faultAt("malformed", place, "no newest block"), final };
}

/** Fault of an endpoint that gave no answer at all. */
function findSilence({ id, head }: FirstAnswers): RpcFault | undefined {
  return [id, head].find(isSilence);
}

/** True for a fault of the endpoint itself: it says nothing about what was asked for. */
function isSilence(answer: unknown): answer is RpcFault {
  return answer instanceof RpcFault && answer.code !== "malformed" && isOfEndpoint(answer.code);
}

function unknownVerdict(what: string, fault: RpcFault): Verdict {
  const found = `${what} could not be checked: ${describeFault(fault)}`;
  return { result: "warning", found, advice: adviseOnFault(fault) };
}

function findBest(all: readonly FirstAnswers[], wanted: bigint): shape.Block | undefined {
  const heads = all.flatMap(({ id, head }) => id !== wanted || head instanceof RpcFault ? [] : [head]);
  return heads.toSorted((a, b) => a.number < b.number ? 1 : a.number > b.number ? -1 : 0).at(0);
}

/** Answers or faults of the queries, in their order. */
type Answers<Queries extends readonly Query<unknown>[]> = {
  readonly [Index in keyof Queries]: Queries[Index] extends Query<infer T> ? T | RpcFault : never;
};

/** Sends queries in one request; a fault stands for the answer of each query that it concerns. */
export async function askAll<const Queries extends readonly Query<unknown>[]>(
  endpoint: RpcEndpointSet,
  queries: Queries,
  conditions: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Answers<Queries>> {
  const [report] = await endpoint.callEach(queries.map(({ call }) => call), conditions);
  if (report === undefined) throw new Error("A set without an endpoint");
  const read = (query: Query<unknown>, index: number): unknown => {
    if (report.kind === "fault") return report.fault;
    const answer = report.answers[index];
    if (answer === undefined) throw new Error("A query without an answer");
    const { chain } = endpoint;
    try {
      return readAnswer(query, answer, { chain, endpointHost: report.host, method: query.call.method });
    } catch (fault) {
      if (fault instanceof RpcFault) return fault;
      throw fault;
    }
  };
  // Checked: each element is the result of the reader of the query at its index.
  return queries.map(read) as Answers<Queries>;
}

function judgeLatency(latencyMs: number): Verdict {
  const found = `answers in ${Math.round(latencyMs)} ms`;
  if (latencyMs <= MAX_LATENCY_MS) return { result: "ok", found };
  return { result: "warning", found, advice: "use a faster endpoint, or list one ahead of it" };
}

/** Compares the chain of an endpoint with the configured one. @param hasOthers true: others serve that one */
export function judgeChainId(
  id: bigint | RpcFault,
  { chain, serves = chain, chainId: wanted, key }: Omit<EndpointCheckOptions, "clock">,
  hasOthers: boolean,
): Verdict {
  if (id instanceof RpcFault) {
    return { result: "failed", found: `eth_chainId: ${describeFault(id)}`, advice: adviseOnFault(id) };
  }
  if (id === wanted) return { result: "ok", found: `serves ${serves}` };
  return {
    result: hasOthers ? "warning" : "failed",
    found: `serves EVM-${id}, not ${serves}`,
    advice: `remove it from ${key}, or correct state_machine`,
  };
}

/** By the rule that decides about the order of endpoints. */
function judgeHead(
  head: shape.Block | RpcFault,
  best: shape.Block | undefined,
  readAtMs: number,
): Verdict {
  if (head instanceof RpcFault) {
    return { result: "failed", found: describeFault(head), advice: adviseOnFault(head) };
  }
  if (best === undefined) return { result: "ok", found: `block ${head.number}` };
  const blocks = best.number - head.number;
  const seconds = best.timestamp - head.timestamp;
  if (blocks === 0n) return { result: "ok", found: `block ${head.number}, the newest` };
  const found = `block ${head.number}, ${blocks} blocks (${seconds} s) behind the newest`;
  const read = ({ number: height, timestamp }: shape.Block): HeadReading => {
    return { height, timeSec: Number(timestamp), readAtMs, blockSec: 0 };
  };
  if (findLag(read(head), [read(best)], false) === undefined) return { result: "ok", found };
  return { result: "warning", found, advice: "let the node catch up, or use another endpoint" };
}

function judgeFinalized(final: FirstAnswers["final"], head: shape.Block | RpcFault): Verdict {
  if (final !== undefined && !(final instanceof RpcFault)) {
    const behind = head instanceof RpcFault ? "" : `, ${head.number - final.number} behind its head`;
    return { result: "ok", found: `block ${final.number}${behind}` };
  }
  const reason = final === undefined ? "no final block" : describeFault(final);
  return {
    result: "warning",
    found: `the tag "finalized" is not served: ${reason}; 64 blocks below the head count as final`,
    advice: "use an endpoint that serves the tag",
  };
}

async function checkBatch(endpoint: RpcEndpointSet, signal: AbortSignal): Promise<Verdict> {
  const probe = Array.from({ length: BATCH_PROBE }, () => blockNumber);
  await askAll(endpoint, probe, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  const { batchLimit: max } = endpoint;
  if (max === Infinity) return { result: "ok", found: `at least ${BATCH_PROBE} calls in one request` };
  const found = max === 1 ? "no batches: every call is a request" : `${max} calls in one request`;
  if (max >= FEW_CALLS) return { result: "ok", found };
  return {
    result: "warning",
    found,
    advice: "use an endpoint that accepts batches: this one needs many requests",
  };
}

async function checkLogs(
  endpoint: RpcEndpointSet,
  { logsOf: address, blocksPerQuery, height }: EndpointCheckOptions & { readonly height: bigint },
  signal: AbortSignal,
): Promise<Verdict | undefined> {
  if (address === undefined) return undefined;
  const wanted = blocksPerQuery === undefined
    ? LOG_WIDTHS
    : [blocksPerQuery, ...LOG_WIDTHS.filter((width) => width < blocksPerQuery)];
  const topics = [hostEventTopics.PostRequestEvent];
  const answers = await Promise.all(wanted.map(async (width) => {
    const from = height >= width ? height - width + 1n : 0n;
    const query = logs({ address, topics, from, to: height });
    const [answer] = await askAll(endpoint, [query], { signal, timeoutMs: REQUEST_TIMEOUT_MS });
    return { width, answer };
  }));
  const works = answers.find(({ answer }) => !(answer instanceof RpcFault));
  const faults = answers.flatMap(({ answer }) => answer instanceof RpcFault ? [answer] : []);
  const silence = faults.find(isSilence);
  if (works === undefined && silence !== undefined) return unknownVerdict("eth_getLogs", silence);
  const [refusal] = faults.map(describeFault);
  if (works === undefined) {
    return {
      result: "failed",
      found: `eth_getLogs is refused for a single block: ${refusal}`,
      advice: "allow eth_getLogs at the node, or use an endpoint that offers it",
    };
  }
  const { width } = works;
  if (blocksPerQuery === undefined || width === blocksPerQuery) {
    return { result: "ok", found: `eth_getLogs of ${width} blocks` };
  }
  return {
    result: "warning",
    found: `query_batch_size = ${blocksPerQuery} is refused (${refusal}), ${width} blocks work`,
    advice: `set query_batch_size to ${width} or more, up to the limit of the endpoint`,
  };
}

/** Init code that emits one empty log and ends: PUSH1 0 PUSH1 0 LOG0 STOP. */
const LOGGING_CODE: Hex = "0x60006000a000";

const loggedFrame = z.object({ logs: z.array(z.unknown()).optional() });

const loggedBlocks = z.array(z.object({ calls: z.array(loggedFrame) }));

async function checkSimulation(
  endpoint: RpcEndpointSet,
  from: Address,
  signal: AbortSignal,
): Promise<Verdict> {
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
  const conditions = { signal, timeoutMs: REQUEST_TIMEOUT_MS };
  const [[trace], [simulate]] = await Promise.all([
    askAll(endpoint, [traced], conditions),
    askAll(endpoint, [simulated], conditions),
  ]);
  if (trace === true) return { result: "ok", found: "debug_traceCall, with logs" };
  const silence = [trace, simulate].find(isSilence);
  if (silence !== undefined) return unknownVerdict("simulations", silence);
  const why = trace === false
    ? "debug_traceCall shows no logs"
    : `no debug_traceCall (${describeFault(trace)})`;
  if (simulate === true) {
    return {
      result: "warning",
      found: `${why}; eth_simulateV1 is used, which does not show the cost of each message of a batch`,
      advice: "use an endpoint with debug_traceCall for exact costs",
    };
  }
  return {
    result: "warning",
    found: `${why}, nor eth_simulateV1; eth_call is used: failing modules are noticed only after paying`,
    advice: "use an endpoint with debug_traceCall or eth_simulateV1",
  };
}

function hasLogs(frames: readonly z.output<typeof loggedFrame>[]): boolean {
  return frames.some(({ logs: found = [] }) => found.length > 0);
}
