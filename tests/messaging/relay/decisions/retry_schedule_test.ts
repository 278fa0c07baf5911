import assert from "node:assert/strict";
import {
  CONFIRM_AFTER_MS,
  isRefusedForGood,
  NEVER_MS,
  nextAttemptMs,
  nextReadingMs,
  type RetryClass,
} from "../../../../src/messaging/relay/decisions/retry_schedule.ts";

function delays(
  retryClass: RetryClass,
  attempts: readonly number[],
  retryFrequencySec?: number,
): readonly number[] {
  return attempts.map((count) =>
    nextAttemptMs({ retryClass, attempts: count, nowMs: 0, retryFrequencySec, jitter: 0.5 })
  );
}

const MIN_MS = 60_000;
const MOST_MS = 6 * 60 * MIN_MS;

/** What kind of failure, the operator's frequency, the attempts, and the pauses after them. */
const schedules: readonly [RetryClass, number | undefined, readonly number[], readonly number[]][] = [
  ["transient", 600, [1, 2, 3, 8, 9, 100], [2_000, 4_000, 8_000, 256_000, 5 * MIN_MS, 5 * MIN_MS]],
  ["hub_waiting", undefined, [1, 2, 6, 7, 50], [15_000, 30_000, 8 * MIN_MS, 10 * MIN_MS, 10 * MIN_MS]],
  ["hub_refused", undefined, [1, 2, 3, 6, 7], [15_000, MIN_MS, 4 * MIN_MS, 256 * MIN_MS, MOST_MS]],
  ["slow", undefined, [1, 2, 3, 6, 7], [10 * MIN_MS, 20 * MIN_MS, 40 * MIN_MS, 320 * MIN_MS, MOST_MS]],
  ["failed", 600, [1, 10, 11, 12, 30], [10 * MIN_MS, 10 * MIN_MS, 20 * MIN_MS, 40 * MIN_MS, MOST_MS]],
  ["failed", 10 * 3_600, [1, 40], [600 * MIN_MS, 600 * MIN_MS]],
  ["failed", undefined, [1, 5], [NEVER_MS, NEVER_MS]],
];
for (const [retryClass, frequencySec, attempts, pauses] of schedules) {
  Deno.test(`retries: pauses of ${retryClass}, with a frequency of ${frequencySec} s`, () => {
    assert.deepEqual(delays(retryClass, attempts, frequencySec), pauses);
  });
}

Deno.test("retries: what the hub refuses ends after ten times or 30 days, unless a timeout ends it", () => {
  const day = 86_400_000;
  const ends = (refusals: number, ageMs: number, timeoutInMs?: number): boolean =>
    isRefusedForGood({
      refusals,
      timeoutSec: timeoutInMs === undefined ? 0n : BigInt((100 * day + timeoutInMs) / 1000),
      createdAtMs: 100 * day - ageMs,
      nowMs: 100 * day,
    });
  assert.deepEqual([ends(9, day), ends(10, day), ends(1, 30 * day)], [false, true, true]);
  assert.deepEqual([ends(10, day, 20 * day), ends(100, 40 * day, day)], [false, false]);
  assert.equal(ends(10, day, 31 * day), true, "a timeout in the far future is none");
});

Deno.test("retries: jitter spreads a delay by a quarter to both sides", () => {
  const at = (jitter: number) =>
    nextAttemptMs({ retryClass: "transient", attempts: 1, nowMs: 100, retryFrequencySec: undefined, jitter });
  assert.equal(at(0), 1_600);
  assert.equal(at(0.999_999), 2_600);
});

const readings: readonly [
  string,
  Parameters<typeof nextReadingMs>[0]["reason"],
  number,
  boolean,
  number | undefined,
][] = [
  ["the first reading is repeated after a minute", "race", 0, false, 60_000],
  ["the second one hours later", "unprofitable", 60_000, false, CONFIRM_AFTER_MS],
  ["then it counts, whatever the one before found", "unprofitable", CONFIRM_AFTER_MS, false, undefined],
  ["an end needs what was found before", "unprofitable", CONFIRM_AFTER_MS, true, 60_000],
  ["and comes when it was", "too_large", CONFIRM_AFTER_MS, true, undefined],
  ["a clock that was set back confirms nothing", "too_large", -CONFIRM_AFTER_MS, true, CONFIRM_AFTER_MS],
];
for (const [what, before, ageMs, isEnd, waitMs] of readings) {
  Deno.test(`retries: of readings that decide for good, ${what}`, () => {
    const nowMs = 10 * CONFIRM_AFTER_MS;
    const row = { reason: before, updatedAtMs: nowMs - ageMs };
    const next = nextReadingMs(row, { reason: "too_large", isEnd, nowMs });
    assert.equal(next === undefined ? undefined : next - nowMs, waitMs);
  });
}

Deno.test("retries: what a transaction has shown needs no second reading", () => {
  const facts = { reason: "not_executed", isEnd: false, nowMs: 1 } as const;
  assert.equal(nextReadingMs({ reason: undefined, updatedAtMs: 1 }, facts), undefined);
});
