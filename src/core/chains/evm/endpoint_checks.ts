/**
 * Rows about each endpoint of an EVM chain: what it answers to each of the requests that the programs make, and what
 * that means for the operator. Start reading at {@link checkEndpoints}.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { Address } from "../../evm/address.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { callTracerOptions } from "../../evm/trace.ts";
import {
  about,
  adviseOnFault,
  type CheckRow,
  describeFault,
  REQUEST_TIMEOUT_MS,
  type RowsAbout,
  silenceRow,
} from "../../checks/check_row.ts";
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

/** An endpoint with its first answers, what they are compared with, and rows about it. */
interface Judged extends FirstAnswers, RowsAbout {
  readonly options: EndpointCheckOptions;
  /** True: at least one endpoint serves the chain. */
  readonly hasOwn: boolean;
  /** Newest block of all; `undefined`: it is the only one. */
  readonly best: shape.Block | undefined;
}

/** Checks every endpoint of a set by itself, all at once; and this machine's clock by the newest block. */
export async function checkEndpoints(
  endpoints: RpcEndpointSet,
  options: EndpointCheckOptions,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { chain, clock } = options;
  const all = await Promise.all(endpoints.each().map((endpoint) => askFirst(endpoint, clock, signal)));
  const newest = findBest(all, options.chainId);
  const isAnswered = all.some((each) => findSilence(each) === undefined);
  const hasOwn = all.some(({ id }) => id === options.chainId);
  const best = all.length > 1 ? newest : undefined;
  const rows = await Promise.all(all.map(async (first): Promise<readonly CheckRow[]> => {
    const silence = findSilence(first);
    if (silence !== undefined) return [silenceRow(chain, silence, isAnswered)];
    const at = about(chain, first.endpoint.hosts.join());
    return await judge({ ...first, ...at, options, hasOwn, best }, signal);
  }));
  if (newest === undefined) return rows.flat();
  return [...rows.flat(), judgeClock(chain, newest.timestamp, { nowMs: clock.now() })];
}

async function judge(at: Judged, signal: AbortSignal): Promise<readonly CheckRow[]> {
  const first = [judgeLatency(at), judgeChainId(at, at.options, at.hasOwn)];
  if (at.id !== at.options.chainId) return first;
  const probes = await Promise.all([
    checkBatch(at, signal),
    checkLogs(at, signal),
    checkSimulation(at, signal),
  ]);
  return [...first, judgeHead(at), judgeFinalized(at), ...probes.flat()];
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

function findBest(all: readonly FirstAnswers[], wanted: bigint): shape.Block | undefined {
  const heads = all.flatMap(({ id, head }) => id !== wanted || head instanceof RpcFault ? [] : [head]);
  return heads.toSorted((a, b) => a.number < b.number ? 1 : a.number > b.number ? -1 : 0).at(0);
}

function judgeLatency({ ok, warning, latencyMs }: Judged): CheckRow {
  const judged = latencyMs <= MAX_LATENCY_MS ? ok : warning;
  const advice = "use a faster endpoint, or list one ahead of it";
  return judged("endpoint", `answers in ${Math.round(latencyMs)} ms`, advice);
}

/** Chain id that one endpoint reports. */
export interface ChainIdReport {
  readonly host: string;
  readonly id: bigint | RpcFault;
}

/** Rows about endpoints that do not answer, or serve another chain than the configured one, which others may serve. */
export function judgeChainIds(
  reports: readonly ChainIdReport[],
  options: Omit<EndpointCheckOptions, "clock">,
): readonly CheckRow[] {
  const hasOwn = reports.some(({ id }) => id === options.chainId);
  return reports.filter(({ id }) => id !== options.chainId).map(({ host, id }) =>
    id instanceof RpcFault
      ? silenceRow(options.chain, id, true)
      : judgeChainId({ ...about(options.chain, host), id }, options, hasOwn)
  );
}

function judgeChainId(
  { ok, warning, failed, id }: RowsAbout & Pick<FirstAnswers, "id">,
  { chain, serves = chain, chainId: wanted, key }: Omit<EndpointCheckOptions, "clock">,
  hasOwn: boolean,
): CheckRow {
  if (id instanceof RpcFault) {
    return failed("chain_id", `eth_chainId: ${describeFault(id)}`, adviseOnFault(id));
  }
  if (id === wanted) return ok("chain_id", `serves ${serves}`);
  const judged = hasOwn ? warning : failed;
  const advice = `remove it from ${key}, or correct ${serves === chain ? "" : "l1_"}state_machine`;
  return judged("chain_id", `serves EVM-${id}, not ${serves}`, advice);
}

/** By the rule that decides about the order of endpoints. */
function judgeHead({ ok, warning, failed, head, best, options }: Judged): CheckRow {
  if (head instanceof RpcFault) return failed("head", describeFault(head), adviseOnFault(head));
  if (best === undefined) return ok("head", `block ${head.number}`);
  const blocks = best.number - head.number;
  if (blocks === 0n) return ok("head", `block ${head.number}, the newest`);
  const behindSec = best.timestamp - head.timestamp;
  const found = `block ${head.number}, ${blocks} blocks (${behindSec} s) behind the newest`;
  const readAtMs = options.clock.now();
  const read = ({ number: height, timestamp }: shape.Block): HeadReading => {
    return { height, timeSec: Number(timestamp), readAtMs, blockSec: 0 };
  };
  const judged = findLag(read(head), [read(best)], false) === undefined ? ok : warning;
  return judged("head", found, "let the node catch up, or use another endpoint");
}

function judgeFinalized({ ok, warning, final, head }: Judged): CheckRow {
  if (final !== undefined && !(final instanceof RpcFault)) {
    const behind = head instanceof RpcFault ? "" : `, ${head.number - final.number} behind its head`;
    return ok("finalized", `block ${final.number}${behind}`);
  }
  const reason = final === undefined ? "no final block" : describeFault(final);
  const found = `the tag "finalized" is not served: ${reason}; 64 blocks below the head count as final`;
  return warning("finalized", found, "use an endpoint that serves the tag");
}

async function checkBatch({ ok, warning, endpoint }: Judged, signal: AbortSignal): Promise<CheckRow> {
  const probe = Array.from({ length: BATCH_PROBE }, () => blockNumber);
  await probeAll(endpoint, probe, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  const { batchLimit: max } = endpoint;
  if (max === Infinity) return ok("batch", `at least ${BATCH_PROBE} calls in one request`);
  const found = max === 1 ? "no batches: every call is a request" : `${max} calls in one request`;
  const judged = max >= FEW_CALLS ? ok : warning;
  return judged("batch", found, "use an endpoint that accepts batches: this one needs many requests");
}

/** Without a contract or a newest block there is nothing to ask for. */
async function checkLogs(
  { ok, warning, failed, endpoint, head, options }: Judged,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  const { logsOf: address, blocksPerQuery } = options;
  if (address === undefined || head instanceof RpcFault) return [];
  const height = head.number;
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
  const [refusal] = faults.map(describeFault);
  if (width === undefined) {
    const advice = "allow eth_getLogs at the node, or use an endpoint that offers it";
    return [
      silence === undefined
        ? failed("logs", `eth_getLogs is refused for a single block: ${refusal}`, advice)
        : warning("logs", `could not be checked: ${describeFault(silence)}`, adviseOnFault(silence)),
    ];
  }
  if (blocksPerQuery === undefined || width === blocksPerQuery) {
    return [ok("logs", `eth_getLogs of ${width} blocks`)];
  }
  const found = `query_batch_size = ${blocksPerQuery} is refused (${refusal}), ${width} blocks work`;
  return [
    warning("logs", found, `set query_batch_size to ${width} or more, up to the limit of the endpoint`),
  ];
}

/** Init code that emits one empty log and ends: PUSH1 0 PUSH1 0 LOG0 STOP. */
const LOGGING_CODE: Hex = "0x60006000a000";

/** True when a trace or simulation, of whatever shape, shows a log. */
function hasLogs(result: Json): boolean {
  const text = JSON.stringify(result, (_, value) => typeof value === "bigint" ? String(value) : value);
  return /"logs":\[\{/.test(text);
}

async function checkSimulation(
  { ok, warning, endpoint, options: { simulateFrom: from } }: Judged,
  signal: AbortSignal,
): Promise<readonly CheckRow[]> {
  if (from === undefined) return [];
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
  if (trace === true) return [ok("simulation", "debug_traceCall, with logs")];
  const silence = [trace, simulate].find(isSilence);
  if (silence !== undefined) {
    return [warning("simulation", `could not be checked: ${describeFault(silence)}`, adviseOnFault(silence))];
  }
  const why = trace === false
    ? "debug_traceCall shows no logs"
    : `no debug_traceCall (${describeFault(trace)})`;
  if (simulate === true) {
    const found = `${why}; eth_simulateV1 is used, which does not show the cost of each message of a batch`;
    return [warning("simulation", found, "use an endpoint with debug_traceCall for exact costs")];
  }
  const found = `${why}, nor eth_simulateV1; eth_call is used: failing modules are noticed only after paying`;
  return [warning("simulation", found, "use an endpoint with debug_traceCall or eth_simulateV1")];
}
