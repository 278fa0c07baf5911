import { deepEqual, equal, match } from "node:assert/strict";
import { drawScale } from "./scale_plots.ts";
import { type CaseResult, scaleMeasures, type ScaleResult } from "./scale_result.ts";

function caseOf(change: Partial<CaseResult>): CaseResult {
  return {
    chains: 4,
    pending: 1_000,
    urls: 1,
    idleCpuPercent: 1,
    residentMb: 100,
    requestsPerTick: 1,
    callsPerTick: 2,
    latencyP50Ms: 400,
    latencyP95Ms: 1_000,
    workP50Ms: 90,
    workP95Ms: 100,
    ...change,
  };
}

const result: ScaleResult = {
  cases: [
    caseOf({}),
    caseOf({ chains: 64, idleCpuPercent: 6, residentMb: 130, latencyP95Ms: 1_400 }),
    caseOf({ pending: 100_000, requestsPerTick: 2, latencyP95Ms: 1_600 }),
    caseOf({ urls: 3 }),
  ],
  cpuPerMessage: [{ messages: 500, ms: 2 }, { messages: 2_000, ms: 3 }],
  slowChainRatio: 1.05,
  ledger: { rows: 1_000_000, megabytes: 900, openMs: 1_200, queries: [{ name: "due", p50Ms: 1, p95Ms: 6 }] },
};

Deno.test("bench of scale: what grows with chains, pending messages or rows misses its aim", () => {
  const missed = scaleMeasures(result).filter(({ aim }) => aim?.isReached === false).map(({ name }) => name);
  deepEqual(missed, [
    "64 chains, 1000 pending, 1 URL: idle processor time, of one core",
    "4 chains, 100000 pending, 1 URL: requests of an idle chain and tick",
    "4 chains, 100000 pending, 1 URL: p95 of a message, beside the smallest case",
    "processor time of a message, 2000 beside 500",
    "1000000 rows (900 MB): open",
    "1000000 rows: p95 of the slowest queries: due",
  ]);
  const further = scaleMeasures(result).find(({ name }) => name.includes("further chain"));
  equal(further?.value, "0.50 MB");
});

Deno.test("bench of scale: a plot has a point for each case along each axis, and names its lines", () => {
  const plots = drawScale(result);
  deepEqual([...plots.keys()], ["cpu", "memory", "requests", "latency"]);
  const points = [...plots.values()].map((svg) => svg.match(/<circle/g)?.length ?? 0);
  // Each of the three axes has two cases; requests and latency have two lines.
  deepEqual(points, [6, 6, 12, 12]);
  match(plots.get("latency") ?? "", />p95</);
  match(plots.get("memory") ?? "", />100,000</);
});
