/** What the benchmark of scale finds, and the aims that it is held to. Pure. */
import { atMost, type Measure } from "./report.ts";

/** What a relayer is put beside. */
export interface ScaleCase {
  readonly chains: number;
  /** Messages in its ledger that cannot be delivered now. */
  readonly pending: number;
  /** Of each EVM chain. */
  readonly urls: number;
}

/** What a relayer takes there. */
export interface CaseResult extends ScaleCase {
  /** Of one core, while nothing happens. */
  readonly idleCpuPercent: number;
  readonly residentMb: number;
  /** To a chain on which nothing happens, while its relayer polls once. */
  readonly requestsPerTick: number;
  readonly callsPerTick: number;
  /** Of a message, from the update that proves it to its transaction, milliseconds. */
  readonly latencyP50Ms: number;
  readonly latencyP95Ms: number;
  /** The same without the wait for the next poll. */
  readonly workP50Ms: number;
  readonly workP95Ms: number;
}

/** Everything that was found in one run. */
export interface ScaleResult {
  /** The first one is the smallest. */
  readonly cases: readonly CaseResult[];
  /** Processor time of a message, milliseconds, by how many waited. */
  readonly cpuPerMessage: readonly { readonly messages: number; readonly ms: number }[];
  /** Time of a message's work beside a slow chain, over that without one: medians of messages in turns. */
  readonly slowChainRatio: number;
  readonly ledger: {
    readonly rows: number;
    readonly megabytes: number;
    readonly openMs: number;
    /** Slowest first. */
    readonly queries: readonly { readonly name: string; readonly p50Ms: number; readonly p95Ms: number }[];
  };
}

/** Jitter of the poll interval over a short window. */
const MAX_REQUESTS_PER_TICK = 1.05;
const MAX_IDLE_CPU_PERCENT = 5;
const MAX_MB_PER_CHAIN = 0.7;
const MAX_LATENCY_RATIO = 1.5;
/** Of processor time of a message: linear means that it does not grow with their number. */
const MAX_CPU_RATIO = 1.2;
const MAX_SLOW_RATIO = 1.1;
const MAX_QUERY_MS = 5;
const MAX_OPEN_MS = 1_000;
/** Queries that are named. */
const NAMED = 3;

const times = (ratio: number): string => `${ratio.toFixed(2)} times`;
const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const mb = (value: number): string => `${value.toFixed(2)} MB`;
const percent = (value: number): string => `${value.toFixed(1)} %`;

/** Lines of the table. @throws {RangeError} without cases. */
export function scaleMeasures(
  { cases, cpuPerMessage, slowChainRatio, ledger }: ScaleResult,
): readonly Measure[] {
  const [smallest, ...others] = cases;
  if (smallest === undefined) throw new RangeError("No cases");
  const widest = cases.reduce((most, each) => each.chains > most.chains ? each : most);
  const [few, many] = [cpuPerMessage[0], cpuPerMessage.at(-1)];
  return [
    ...cases.flatMap((each) => caseMeasures(each, smallest)),
    atMost(
      `${widest.chains} chains: memory of a further chain`,
      (widest.residentMb - smallest.residentMb) / Math.max(1, widest.chains - smallest.chains),
      MAX_MB_PER_CHAIN,
      mb,
    ),
    ...others.map((each) =>
      atMost(
        `${nameOf(each)}: p95 of a message, beside the smallest case`,
        each.latencyP95Ms / smallest.latencyP95Ms,
        MAX_LATENCY_RATIO,
        times,
      )
    ),
    ...few === undefined || many === undefined ? [] : [
      atMost(
        `processor time of a message, ${many.messages} beside ${few.messages}`,
        many.ms / few.ms,
        MAX_CPU_RATIO,
        times,
      ),
    ],
    atMost("a message beside a slow chain", slowChainRatio, MAX_SLOW_RATIO, times),
    atMost(`${ledger.rows} rows (${ledger.megabytes.toFixed(0)} MB): open`, ledger.openMs, MAX_OPEN_MS, ms),
    ...ledger.queries.slice(0, NAMED).map(({ name, p95Ms }) =>
      atMost(`${ledger.rows} rows: p95 of the slowest queries: ${name}`, p95Ms, MAX_QUERY_MS, ms)
    ),
  ];
}

function caseMeasures(each: CaseResult, smallest: CaseResult): readonly Measure[] {
  const name = nameOf(each);
  const cpu = `${name}: idle processor time, of one core`;
  return [
    atMost(cpu, each.idleCpuPercent, MAX_IDLE_CPU_PERCENT, percent),
    { name: `${name}: resident; beside the smallest case`, value: residentOf(each, smallest) },
    atMost(
      `${name}: requests of an idle chain and tick`,
      each.requestsPerTick,
      MAX_REQUESTS_PER_TICK,
      (value) => value.toFixed(2),
    ),
    { name: `${name}: calls of an idle chain and tick`, value: each.callsPerTick.toFixed(2) },
    {
      name: `${name}: a message after its update, p50; p95`,
      value: `${ms(each.latencyP50Ms)}; ${ms(each.latencyP95Ms)}`,
    },
    {
      name: `${name}: without the wait for the poll, p50; p95`,
      value: `${ms(each.workP50Ms)}; ${ms(each.workP95Ms)}`,
    },
  ];
}

function residentOf(each: CaseResult, smallest: CaseResult): string {
  return `${each.residentMb.toFixed(0)} MB; ${times(each.residentMb / smallest.residentMb)}`;
}

/** A case for people. */
export function nameOf({ chains, pending, urls }: ScaleCase): string {
  return `${chains} chains, ${pending} pending, ${urls} ${urls === 1 ? "URL" : "URLs"}`;
}
