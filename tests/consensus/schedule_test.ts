import assert from "node:assert/strict";
import { endpointBackoff } from "../../src/core/runtime/retry.ts";
import fc from "fast-check";
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

Deno.test("schedule: no pause is shorter than a second or longer than a timer can hold", () => {
  const result = fc.oneof(
    fc.record({
      kind: fc.constant("nothing" as const),
      againInMs: fc.option(fc.double(), { nil: undefined }),
    }),
    fc.record({ kind: fc.constant("updated" as const), hasMore: fc.boolean() }),
    fc.record({
      kind: fc.constant("failed" as const),
      failure: fc.constant(failure),
      backoff: fc.option(fc.record({ firstMs: fc.nat(), maxMs: fc.nat() }), { nil: undefined }),
    }),
    fc.record({ kind: fc.constant("suspended" as const), failure: fc.constant(failure) }),
  );
  fc.assert(fc.property(
    result.filter((look) => look.kind !== "nothing" || !Number.isNaN(look.againInMs)),
    fc.double({ min: 0, max: 1e20, noNaN: true }),
    fc.nat(),
    fc.nat(1_000),
    fc.double({ min: 0, max: 0.999, noNaN: true }),
    (look, intervalMs, spentMs, failures, fraction) => {
      const pauseMs = planPauseMs(look, { intervalMs, spentMs, failures }, fraction);
      assert.ok(pauseMs >= MIN_PAUSE_MS && pauseMs <= MAX_PAUSE_MS, String(pauseMs));
    },
  ));
});
