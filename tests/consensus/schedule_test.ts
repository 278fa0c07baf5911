import assert from "node:assert/strict";
import { endpointBackoff } from "../../src/core/runtime/retry.ts";
import fc from "fast-check";
import {
  MAX_PAUSE_MS,
  MIN_PAUSE_MS,
  planPause,
  type PollResult,
  SUSPENDED_MS,
} from "../../src/consensus/poll_loop.ts";

const pace = { intervalMs: 300_000, spentMs: 0, failures: 0 };

Deno.test("schedule: the interval counts from one poll to the next, however long the poll took", () => {
  const nothing: PollResult = { kind: "nothing", againInMs: undefined };
  assert.deepEqual(planPause(nothing, { intervalMs: 300_000, spentMs: 20_000, failures: 4 }, 0), {
    delayMs: 280_000,
    interruptible: true,
    failures: 0,
  });
  assert.equal(
    planPause(nothing, { intervalMs: 300_000, spentMs: 900_000, failures: 0 }, 0).delayMs,
    MIN_PAUSE_MS,
  );
});

Deno.test("schedule: a prover that knows better than the interval decides, earlier or later", () => {
  assert.equal(planPause({ kind: "nothing", againInMs: 12_000 }, pace, 0).delayMs, 12_000);
  assert.equal(planPause({ kind: "nothing", againInMs: 900_000 }, pace, 0).delayMs, 900_000);
});

Deno.test("schedule: what is still behind continues at once, what has caught up waits", () => {
  assert.equal(planPause({ kind: "updated", hasMore: true }, pace, 0).delayMs, MIN_PAUSE_MS);
  assert.equal(planPause({ kind: "updated", hasMore: false }, pace, 0).delayMs, 300_000);
});

const failure = { text: "it failed" };

Deno.test("schedule: failures wait 1 s, 2 s, 4 s and so on up to a minute, and a poll without an update resets that", () => {
  const delays: number[] = [];
  let failures = 0;
  for (let count = 0; count < 8; count++) {
    const pause = planPause({ kind: "failed", failure }, { ...pace, failures }, 0);
    assert.equal(pause.interruptible, false);
    ({ failures } = pause);
    delays.push(pause.delayMs / 1_000);
  }
  assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 60, 60]);
  assert.equal(failures, 8);
  const late = { ...pace, failures };
  assert.equal(planPause({ kind: "failed", failure, backoff: endpointBackoff }, late, 0).delayMs, 15_000);
  assert.equal(planPause({ kind: "suspended", failure }, pace, 0).delayMs, SUSPENDED_MS);
});

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
      const { delayMs } = planPause(look, { intervalMs, spentMs, failures }, fraction);
      assert.ok(delayMs >= MIN_PAUSE_MS && delayMs <= MAX_PAUSE_MS, String(delayMs));
    },
  ));
});
