import assert from "node:assert/strict";
import { endpointBackoff } from "../../src/core/runtime/retry.ts";
import {
  MAX_PAUSE_MS,
  MIN_PAUSE_MS,
  planPauseMs,
  type PollResult,
  SUSPENDED_MS,
} from "../../src/consensus/poll_loop.ts";

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
