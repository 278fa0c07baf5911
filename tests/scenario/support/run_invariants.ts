/**
 * Invariants of a run as its log and its ledger show them: waits that end and speak, failures that stay where they
 * are. Source: docs/architecture/messaging.md, I11 and I12.
 */
import type { EventCode } from "../../../src/core/telemetry/log.ts";
import type { Facts, ProcessTrace } from "./invariant_facts.ts";

/** Every wait speaks every five minutes, the whole program every ten; with some time for a busy machine. */
const MAX_SILENCE_MS = 630_000;
/** Workers get 20 s to put down what they do; then the rest is closed. With time for a crowded machine. */
const MAX_ENDING_MS = 120_000;
/** Legs of chains that answer begin at once, whatever the others do. With time for a crowded machine. */
const MAX_STARTING_MS = 60_000;

/** I11: no process was silent for long, and each ended soon after it was told to. */
export function* waitsSilent({ trace }: Facts): Iterable<string> {
  for (const [at, { lines, endedAtMs }] of trace.processes.entries()) {
    const times = [...lines.map(({ atMs }) => atMs), ...endedAtMs === undefined ? [] : [endedAtMs]];
    for (const [index, time] of times.slice(1).entries()) {
      const silenceMs = time - (times[index] ?? time);
      if (silenceMs > MAX_SILENCE_MS) yield `I11: process ${at} was silent for ${silenceMs / 1000} s`;
    }
    const told = lines.find(({ record }) => record?.event === "program_stopping");
    if (told === undefined || endedAtMs === undefined) continue;
    const endingMs = endedAtMs - told.atMs;
    if (endingMs > MAX_ENDING_MS) yield `I11: process ${at} took ${endingMs / 1000} s to stop`;
  }
}

/** I12: a worker of one chain never failed for another chain's fault, and legs of chains that answer began. */
export function* failuresSpread(facts: Facts): Iterable<string> {
  for (const process of facts.trace.processes) {
    yield* foreignFaults(facts, process);
    yield* legsMissing(facts, process);
  }
}

/** Lines about a chain that does not answer. */
const DOWN: ReadonlySet<unknown> = new Set<EventCode>([
  "hub_unavailable",
  "chain_unavailable",
  "chain_suspended",
]);

/** Lines about a worker or leg that has no work to do any more, or waits. */
const INTERRUPTIONS: ReadonlySet<unknown> = new Set<EventCode>([
  "worker_restarting",
  "worker_failed",
  "leg_paused",
  "poll_failed",
]);

function* foreignFaults({ hub, histories }: Facts, { lines }: ProcessTrace): Iterable<string> {
  const chains = [...histories.keys()].filter((chain) => chain !== hub);
  for (const { record } of lines) {
    if (record === undefined || !INTERRUPTIONS.has(record.event)) continue;
    const name = String(record.leg ?? record.worker);
    const own = chains.filter((chain) => isNamed(name, chain));
    const fault = JSON.stringify(record.error ?? "");
    // Workers of no chain in particular look after all of them, so no single chain may stop them.
    const foreign = chains.find((chain) => !own.includes(chain) && isNamed(fault, chain));
    if (foreign !== undefined) yield `I12: ${name} was stopped by ${foreign}`;
  }
}

function isNamed(text: string, chain: string): boolean {
  return new RegExp(`\\b${chain}\\b`).test(text);
}

function* legsMissing({ hub, told }: Facts, { lines, endedAtMs }: ProcessTrace): Iterable<string> {
  const start = lines.find(({ record }) => record?.event === "program_started");
  if (start?.record === undefined) return;
  const lastMs = endedAtMs ?? lines.at(-1)?.atMs ?? start.atMs;
  if (lastMs - start.atMs < MAX_STARTING_MS) return;
  const namesIn = (value: unknown): readonly string[] =>
    String(value).split(", ").filter((name) => name !== "");
  const isDown = (chain: string): boolean =>
    lines.some(({ record }) => record?.chain === chain && DOWN.has(record.event));
  const chains = namesIn(start.record.chains);
  const targets = start.record.deliversTo === "all" ? chains : namesIn(start.record.deliversTo);
  const legs = [
    ...chains.map((chain) => ({ source: chain, target: hub, chain })),
    ...chains.filter((chain) => targets.includes(chain)).map((chain) => ({
      source: hub,
      target: chain,
      chain,
    })),
  ];
  for (const { source, target, chain } of legs) {
    const leg = `${source} -> ${target}`;
    const ofLeg = lines.filter(({ record }) => record?.leg === leg);
    const hasStarted = ofLeg.some(({ record }) => record?.event === "leg_started");
    const isExcused = isDown(hub) || isDown(chain) || told(source, target) === 0n ||
      ofLeg.some(({ record }) => INTERRUPTIONS.has(record?.event));
    if (!hasStarted && !isExcused) yield `I12: ${leg} never started`;
  }
}
