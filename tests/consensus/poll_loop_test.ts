/** Pauses between polls, and checks before the first one as an observer hears of them. */
import assert from "node:assert/strict";
import { endpointBackoff } from "../../src/core/runtime/retry.ts";
import {
  MAX_PAUSE_MS,
  MIN_PAUSE_MS,
  observeCheck,
  planPauseMs,
  type PollResult,
  SUSPENDED_MS,
} from "../../src/consensus/poll_loop.ts";
import type { CheckRow } from "../../src/core/checks/check_row.ts";
import { faultOf } from "../support/rpc_faults.ts";

const pace = { intervalMs: 300_000, spentMs: 0, failures: 0 };

const failure = { text: "it failed" };
const nothing: PollResult = { kind: "nothing", againInMs: undefined };
const failed: PollResult = { kind: "failed", failure };

/** A result, what differs in the pace, and the pause until the next poll, seconds. */
const cases: readonly (readonly [string, PollResult, Partial<typeof pace>, number])[] = [
  ["the interval counts from poll to poll", nothing, { spentMs: 20_000, failures: 4 }, 280],
  ["however long the poll took", nothing, { spentMs: 900_000 }, MIN_PAUSE_MS / 1_000],
  ["a prover may want it earlier", { kind: "nothing", againInMs: 12_000 }, {}, 12],
  ["or later", { kind: "nothing", againInMs: 900_000 }, {}, 900],
  ["or at once, or before", { kind: "nothing", againInMs: -1_000 }, {}, MIN_PAUSE_MS / 1_000],
  ["no pause is longer than a timer can hold", nothing, { intervalMs: 1e20 }, MAX_PAUSE_MS / 1_000],
  ["what is behind continues at once", { kind: "updated", hasMore: true }, {}, MIN_PAUSE_MS / 1_000],
  ["what has caught up waits", { kind: "updated", hasMore: false }, {}, 300],
  ...[1, 2, 4, 8, 16, 32, 60, 60].map((seconds, failures) =>
    [`after ${failures} failures`, failed, { failures }, seconds] as const
  ),
  ["failing endpoints are polled sooner", { ...failed, backoff: endpointBackoff }, { failures: 8 }, 15],
  ["a suspended chain waits for its operator", { kind: "suspended", failure }, {}, SUSPENDED_MS / 1_000],
];

for (const [what, result, change, seconds] of cases) {
  Deno.test(`schedule: ${what}`, () => {
    assert.equal(planPauseMs(result, { ...pace, ...change }, 0), seconds * 1_000);
  });
}

const route = { chain: "EVM-1", target: "KUSAMA-4009" };

/** Makes a check; returns what was noted, and what the caller gets. */
async function make(
  check: () => Promise<readonly CheckRow[]>,
): Promise<{ readonly noted: readonly PollResult[]; readonly end: unknown }> {
  const noted: PollResult[] = [];
  const observer = {
    noteUpdate: () => assert.fail("nothing was updated"),
    notePoll: (of: unknown, result: PollResult) => {
      assert.equal(of, route);
      noted.push(result);
    },
  };
  const end = await observeCheck({ route, observer, check }).catch((error: unknown) => error);
  return { noted, end };
}

const row = { chain: "EVM-1", check: "chain_id" } as const;
const warning: CheckRow = { ...row, result: "warning", found: "there is none" };
const failedRow: CheckRow = { ...row, result: "failed", found: "it serves EVM-5" };

Deno.test("check of a worker: warnings are none of the observer's, failed rows are", async () => {
  assert.deepEqual(await make(() => Promise.resolve([warning])), { noted: [], end: [warning] });
  const { noted, end } = await make(() => Promise.resolve([warning, failedRow]));
  assert.deepEqual(noted, [{ kind: "suspended", failure: { text: "it serves EVM-5" } }]);
  assert.deepEqual(end, [warning, failedRow]);
});

Deno.test("check of a worker: a fault is noted with its endpoint, and thrown", async () => {
  const fault = faultOf("timeout");
  const { noted: [result], end } = await make(() => Promise.reject(fault));
  assert.ok(result?.kind === "failed");
  assert.equal(result.failure.host, fault.where.endpointHost);
  assert.match(result.failure.text, / on .*: timeout$/);
  assert.equal(end, fault);
  const defect = new Error("a defect");
  assert.deepEqual(await make(() => Promise.reject(defect)), { noted: [], end: defect });
});
