/** What the facts about the endpoints of an EVM chain mean for the operator. Pure; facts come from `endpoint_probe.ts`. */
import type { CheckCode, CheckOutcome, CheckRow } from "../../checks/check_row.ts";
import { adviseOnFault, describeFault } from "../../checks/check_row.ts";
import { RpcFault } from "../../rpc/call.ts";
import { judgeClock } from "../chain_checks.ts";
import { BATCH_PROBE, type EndpointFacts, type ProbedHead, type ProbedSimulation } from "./endpoint_probe.ts";

/** Blocks and seconds by which an endpoint may be behind the newest one of its chain. */
const MAX_LAG = { blocks: 3n, seconds: 30n };

/** Answers that take longer are reported, ms: one round of a leg takes a few of them in a row. */
const MAX_LATENCY_MS = 2_000;

/** Calls in one request below which reading takes noticeably longer. */
const FEW_CALLS = 5;

/** What the endpoints are compared with. */
export interface EndpointExpectations {
  /** State machine of the chain. */
  readonly chain: string;
  /** Chain that the endpoints serve, where it is another one: the L1 of a rollup. */
  readonly serves?: string;
  readonly chainId: bigint;
  /** Configuration key that names the endpoints. */
  readonly key: string;
  /** Configured width of `eth_getLogs`, blocks. */
  readonly blocksPerQuery?: bigint | undefined;
  /** Clock of this machine, Unix milliseconds. */
  readonly nowMs: number;
}

type Answering = Extract<EndpointFacts, { kind: "answers" }>;

/** A row without the place that it is about. */
interface Verdict {
  readonly result: CheckOutcome;
  readonly found: string;
  readonly advice?: string;
}

/** Rows of all endpoints of a chain, in their order, and of this machine's clock. */
export function judgeEndpoints(
  facts: readonly EndpointFacts[],
  expected: EndpointExpectations,
): readonly CheckRow[] {
  const best = findBestHead(facts, expected.chainId);
  const isOnly = facts.length === 1;
  const rows = facts.flatMap((each): CheckRow[] => {
    const row = (check: CheckCode, verdict: Verdict): CheckRow => ({
      chain: expected.chain,
      endpoint: each.host,
      check,
      ...verdict,
    });
    if (each.kind === "silent") return [row("endpoint", judgeSilence(each.fault, isAnswered(facts)))];
    const rows = [
      row("endpoint", judgeLatency(each.latencyMs)),
      row("chain_id", judgeChainId(each, expected)),
    ];
    if (each.chainId !== expected.chainId) return rows;
    rows.push(row("head", judgeHead(each.head, { best, isOnly })), row("finalized", judgeFinalized(each)));
    rows.push(row("batch", judgeBatch(each.maxBatch)));
    const logs = judgeLogs(each, expected.blocksPerQuery);
    if (logs !== undefined) rows.push(row("logs", logs));
    if (each.simulation !== undefined) rows.push(row("simulation", judgeSimulation(each.simulation)));
    return rows;
  });
  const { chain, nowMs } = expected;
  return best === undefined ? rows : [...rows, judgeClock(chain, best.timeSec, nowMs)];
}

function isAnswered(facts: readonly EndpointFacts[]): boolean {
  return facts.some(({ kind }) => kind === "answers");
}

function findBestHead(facts: readonly EndpointFacts[], chainId: bigint): ProbedHead | undefined {
  const heads = facts.flatMap((each) =>
    each.kind === "silent" || each.chainId !== chainId || each.head instanceof RpcFault ? [] : [each.head]
  );
  return heads.toSorted((a, b) => a.height < b.height ? 1 : a.height > b.height ? -1 : 0).at(0);
}

function judgeSilence(fault: RpcFault, hasOthers: boolean): Verdict {
  const found = `does not answer: ${describeFault(fault)}`;
  const advice = adviseOnFault(fault);
  return hasOthers
    ? { result: "warning", found: `${found}; the others are used`, advice }
    : { result: "failed", found, advice };
}

function judgeLatency(latencyMs: number): Verdict {
  const found = `answers in ${Math.round(latencyMs)} ms`;
  if (latencyMs <= MAX_LATENCY_MS) return { result: "ok", found };
  return { result: "warning", found, advice: "use a faster endpoint, or put one before it" };
}

function judgeChainId(
  { chainId }: Answering,
  { chain, serves = chain, chainId: wanted, key }: EndpointExpectations,
): Verdict {
  if (chainId instanceof RpcFault) {
    return {
      result: "failed",
      found: `eth_chainId: ${describeFault(chainId)}`,
      advice: adviseOnFault(chainId),
    };
  }
  if (chainId === wanted) return { result: "ok", found: `serves ${serves}` };
  return {
    result: "failed",
    found: `serves EVM-${chainId}, not ${serves}`,
    advice: `remove it from ${key}, or correct state_machine`,
  };
}

function judgeHead(
  head: ProbedHead | RpcFault,
  { best, isOnly }: { readonly best: ProbedHead | undefined; readonly isOnly: boolean },
): Verdict {
  if (head instanceof RpcFault) {
    return { result: "failed", found: describeFault(head), advice: adviseOnFault(head) };
  }
  if (best === undefined || isOnly) return { result: "ok", found: `block ${head.height}` };
  const blocks = best.height - head.height;
  const seconds = best.timeSec - head.timeSec;
  if (blocks === 0n) return { result: "ok", found: `block ${head.height}, the newest` };
  const found = `block ${head.height}, ${blocks} blocks (${seconds} s) behind the newest`;
  if (blocks < MAX_LAG.blocks || seconds < MAX_LAG.seconds) return { result: "ok", found };
  return { result: "warning", found, advice: "let the node catch up, or use another endpoint" };
}

function judgeFinalized({ finalized, head }: Answering): Verdict {
  if (finalized !== undefined && !(finalized instanceof RpcFault)) {
    const behind = head instanceof RpcFault ? "" : `, ${head.height - finalized} behind its head`;
    return { result: "ok", found: `block ${finalized}${behind}` };
  }
  const reason = finalized === undefined ? "no final block" : describeFault(finalized);
  return {
    result: "warning",
    found: `the tag "finalized" is not served: ${reason}; 64 blocks below the head count as final`,
    advice: "use an endpoint that serves the tag",
  };
}

function judgeBatch(maxBatch: number): Verdict {
  if (maxBatch === Infinity) return { result: "ok", found: `at least ${BATCH_PROBE} calls in one request` };
  const found = maxBatch === 1 ? "no batches: every call is a request" : `${maxBatch} calls in one request`;
  if (maxBatch >= FEW_CALLS) return { result: "ok", found };
  return {
    result: "warning",
    found,
    advice: "use an endpoint that takes batches: this one needs many requests",
  };
}

function judgeLogs({ logs }: Answering, configured: bigint | undefined): Verdict | undefined {
  if (logs === undefined) return undefined;
  const { blocks, refused } = logs;
  if (blocks === undefined) {
    const reason = refused === undefined ? "no answer" : describeFault(refused.fault);
    return {
      result: "failed",
      found: `eth_getLogs is refused for a single block: ${reason}`,
      advice: "allow eth_getLogs at the node, or use an endpoint that offers it",
    };
  }
  if (configured === undefined || refused === undefined) {
    return { result: "ok", found: `eth_getLogs of ${blocks} blocks` };
  }
  return {
    result: "warning",
    found: `query_batch_size = ${configured} is refused (${
      describeFault(refused.fault)
    }), ${blocks} blocks work`,
    advice: `set query_batch_size to ${blocks} or more, up to what the endpoint takes`,
  };
}

function judgeSimulation({ trace, simulate }: ProbedSimulation): Verdict {
  if (trace === true) return { result: "ok", found: "debug_traceCall, with logs" };
  const why = trace === false
    ? "debug_traceCall shows no logs"
    : `no debug_traceCall (${describeFault(trace)})`;
  if (simulate === true) {
    return {
      result: "warning",
      found: `${why}; eth_simulateV1 is used, which does not tell what each message of a batch costs`,
      advice: "use an endpoint with debug_traceCall for exact costs",
    };
  }
  return {
    result: "warning",
    found: `${why}, nor eth_simulateV1; eth_call is used: failing modules are noticed only after paying`,
    advice: "use an endpoint with debug_traceCall or eth_simulateV1",
  };
}
