/**
 * Rows about each endpoint of an EVM chain: what it answers to each of the requests that the programs make, and what
 * that means for the operator. Start reading at {@link checkEndpoints}.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { callTracerOptions } from "../../evm/trace.ts";
import type { CheckCode, CheckRow } from "../../checks/check_row.ts";
import { adviseOnFault, describeFault, REQUEST_TIMEOUT_MS, silenceRow } from "../../checks/check_row.ts";
import { isOfEndpoint, RpcFault } from "../../rpc/call.ts";
import { findLag, type HeadReading } from "../../rpc/head_watch.ts";
import type { RpcEndpointSet } from "../../rpc/endpoint_set.ts";
import type { Json } from "../../rpc/json.ts";
import type { Clock } from "../../runtime/clock.ts";
import { judgeClock } from "../chain_checks.ts";
import { blockAt, blockNumber, chainId, logs, type Query } from "./queries.ts";
import { faultAt, probeAll } from "./rpc_batch.ts";
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

/** What a row says, without the place that it is about. */
export type Verdict = Pick<CheckRow, "result" | "found" | "advice">;

/** Verdict about what is in order. */
export function good(found: string): Verdict {
  return { result: "ok", found };
}

/** Verdict about what works, but needs attention. */
export function doubtful(found: string, advice: string): Verdict {
  return { result: "warning", found, advice };
}

/** Verdict about what must be fixed. */
export function bad(found: string, advice: string): Verdict {
  return { result: "failed", found, advice };
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
  const { chain, clock } = options;
  const all = await Promise.all(endpoints.each().map((endpoint) => askFirst(endpoint, clock, signal)));
  const best = findBest(all, options.chainId);
  const isAnswered = all.some((each) => findSilence(each) === undefined);
  const hasOwn = all.some(({ id }) => id === options.chainId);
  const comparison = { options, hasOwn, best: all.length > 1 ? best : undefined };
  const rows = await Promise.all(all.map(async (first): Promise<readonly CheckRow[]> => {
    const silence = findSilence(first);
    if (silence !== undefined) return [silenceRow(chain, silence, isAnswered)];
    const endpoint = first.endpoint.hosts.join();
    const verdicts = await judge(first, comparison, signal);
    return verdicts.map(([check, verdict]) => ({ chain, endpoint, check, ...verdict }));
  }));
  if (best === undefined) return rows.flat();
  return [...rows.flat(), judgeClock(chain, best.timestamp, { nowMs: clock.now() })];
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
  { endpoint, latencyMs, id, head, final }: FirstAnswers,
  { options, hasOwn, best }: Comparison,
  signal: AbortSignal,
): Promise<readonly (readonly [CheckCode, Verdict])[]> {
  const first: readonly (readonly [CheckCode, Verdict])[] = [
    ["endpoint", judgeLatency(latencyMs)],
    ["chain_id", judgeChainId(id, options, hasOwn)],
  ];
  if (id !== options.chainId) return first;
  const { simulateFrom: from } = options;
  const [batch, width, simulation] = await Promise.all([
    checkBatch(endpoint, signal),
    head instanceof RpcFault ? undefined : checkLogs(endpoint, { ...options, height: head.number }, signal),
    from === undefined ? undefined : checkSimulation(endpoint, from, signal),
  ]);
  return [
    ...first,
    ["head", judgeHead(head, best, options.clock.now())],
    ["finalized", judgeFinalized(final, head)],
    ["batch", batch],
    ...width === undefined ? [] : [["logs", width] as const],
    ...simulation === undefined ? [] : [["simulation", simulation] as const],
  ];
}

async function askFirst(
  endpoint: RpcEndpointSet,
  clock: Pick<Clock, "now">,
  signal: AbortSignal,
): Promise<FirstAnswers> {
  const startMs = clock.now();
  const queries = [chainId, blockAt("latest"), blockAt("finalized")] as const;
  const [id, found, final] = await probeAll(endpoint, queries, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  const latencyMs = clock.now() - startMs;
  const place = {
    chain: endpoint.chain,
    endpointHost: endpoint.hosts.join(),
    method: queries[1].call.method,
  };
  const head = found ?? faultAt("malformed", place, "no newest block");
  return { endpoint, latencyMs, id, head, final };
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
  return doubtful(`${what} could not be checked: ${describeFault(fault)}`, adviseOnFault(fault));
}

function findBest(all: readonly FirstAnswers[], wanted: bigint): shape.Block | undefined {
  const heads = all.flatMap(({ id, head }) => id !== wanted || head instanceof RpcFault ? [] : [head]);
  return heads.toSorted((a, b) => a.number < b.number ? 1 : a.number > b.number ? -1 : 0).at(0);
}

function judgeLatency(latencyMs: number): Verdict {
  const found = `answers in ${Math.round(latencyMs)} ms`;
  if (latencyMs <= MAX_LATENCY_MS) return good(found);
  return doubtful(found, "use a faster endpoint, or list one ahead of it");
}

/** Compares the chain of an endpoint with the configured one. @param hasOthers true: others serve that one */
export function judgeChainId(
  id: bigint | RpcFault,
  { chain, serves = chain, chainId: wanted, key }: Omit<EndpointCheckOptions, "clock">,
  hasOthers: boolean,
): Verdict {
  if (id instanceof RpcFault) return bad(`eth_chainId: ${describeFault(id)}`, adviseOnFault(id));
  if (id === wanted) return good(`serves ${serves}`);
  const judged = hasOthers ? doubtful : bad;
  return judged(`serves EVM-${id}, not ${serves}`, `remove it from ${key}, or correct state_machine`);
}

/** By the rule that decides about the order of endpoints. */
function judgeHead(
  head: shape.Block | RpcFault,
  best: shape.Block | undefined,
  readAtMs: number,
): Verdict {
  if (head instanceof RpcFault) return bad(describeFault(head), adviseOnFault(head));
  if (best === undefined) return good(`block ${head.number}`);
  const blocks = best.number - head.number;
  if (blocks === 0n) return good(`block ${head.number}, the newest`);
  const found = `block ${head.number}, ${blocks} blocks (${
    best.timestamp - head.timestamp
  } s) behind the newest`;
  const read = ({ number: height, timestamp }: shape.Block): HeadReading => {
    return { height, timeSec: Number(timestamp), readAtMs, blockSec: 0 };
  };
  if (findLag(read(head), [read(best)], false) === undefined) return good(found);
  return doubtful(found, "let the node catch up, or use another endpoint");
}

function judgeFinalized(final: FirstAnswers["final"], head: shape.Block | RpcFault): Verdict {
  if (final !== undefined && !(final instanceof RpcFault)) {
    const behind = head instanceof RpcFault ? "" : `, ${head.number - final.number} behind its head`;
    return good(`block ${final.number}${behind}`);
  }
  const reason = final === undefined ? "no final block" : describeFault(final);
  return doubtful(
    `the tag "finalized" is not served: ${reason}; 64 blocks below the head count as final`,
    "use an endpoint that serves the tag",
  );
}

async function checkBatch(endpoint: RpcEndpointSet, signal: AbortSignal): Promise<Verdict> {
  const probe = Array.from({ length: BATCH_PROBE }, () => blockNumber);
  await probeAll(endpoint, probe, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  const { batchLimit: max } = endpoint;
  if (max === Infinity) return good(`at least ${BATCH_PROBE} calls in one request`);
  const found = max === 1 ? "no batches: every call is a request" : `${max} calls in one request`;
  if (max >= FEW_CALLS) return good(found);
  return doubtful(found, "use an endpoint that accepts batches: this one needs many requests");
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
    const [answer] = await probeAll(endpoint, [query], { signal, timeoutMs: REQUEST_TIMEOUT_MS });
    return { width, answer };
  }));
  const width = answers.find(({ answer }) => !(answer instanceof RpcFault))?.width;
  const faults = answers.flatMap(({ answer }) => answer instanceof RpcFault ? [answer] : []);
  const silence = faults.find(isSilence);
  if (width === undefined && silence !== undefined) return unknownVerdict("eth_getLogs", silence);
  const [refusal] = faults.map(describeFault);
  if (width === undefined) {
    return bad(
      `eth_getLogs is refused for a single block: ${refusal}`,
      "allow eth_getLogs at the node, or use an endpoint that offers it",
    );
  }
  if (blocksPerQuery === undefined || width === blocksPerQuery) return good(`eth_getLogs of ${width} blocks`);
  return doubtful(
    `query_batch_size = ${blocksPerQuery} is refused (${refusal}), ${width} blocks work`,
    `set query_batch_size to ${width} or more, up to the limit of the endpoint`,
  );
}

/** Init code that emits one empty log and ends: PUSH1 0 PUSH1 0 LOG0 STOP. */
const LOGGING_CODE: Hex = "0x60006000a000";

/** True when a trace or simulation, of whatever shape, shows a log. */
function hasLogs(result: Json): boolean {
  const text = JSON.stringify(result, (_, value) => typeof value === "bigint" ? String(value) : value);
  return /"logs":\[\{/.test(text);
}

async function checkSimulation(
  endpoint: RpcEndpointSet,
  from: Address,
  signal: AbortSignal,
): Promise<Verdict> {
  const call = { from, data: LOGGING_CODE, gas: "0x30d40" };
  const traced: Query<boolean> = {
    call: { method: "debug_traceCall", params: [call, "latest", callTracerOptions] },
    read: hasLogs,
  };
  const blocks = { blockStateCalls: [{ calls: [call] }], validation: false, traceTransfers: false };
  const simulated: Query<boolean> = {
    call: { method: "eth_simulateV1", params: [blocks, "latest"] },
    read: hasLogs,
  };
  const conditions = { signal, timeoutMs: REQUEST_TIMEOUT_MS };
  const [[trace], [simulate]] = await Promise.all([
    probeAll(endpoint, [traced], conditions),
    probeAll(endpoint, [simulated], conditions),
  ]);
  if (trace === true) return good("debug_traceCall, with logs");
  const silence = [trace, simulate].find(isSilence);
  if (silence !== undefined) return unknownVerdict("simulations", silence);
  const why = trace === false
    ? "debug_traceCall shows no logs"
    : `no debug_traceCall (${describeFault(trace)})`;
  if (simulate === true) {
    return doubtful(
      `${why}; eth_simulateV1 is used, which does not show the cost of each message of a batch`,
      "use an endpoint with debug_traceCall for exact costs",
    );
  }
  return doubtful(
    `${why}, nor eth_simulateV1; eth_call is used: failing modules are noticed only after paying`,
    "use an endpoint with debug_traceCall or eth_simulateV1",
  );
}
