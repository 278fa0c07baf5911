import assert from "node:assert/strict";
import {
  CONFIRM_AFTER_MS,
  isRefusedForGood,
  isRevertOfChain,
  judgeRecorded,
  judgeRefused,
  NEVER_MS,
  nextAttemptMs,
  nextReadingMs,
  type RetryClass,
} from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { names } from "../fixture.ts";

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
const MAX_MS = 6 * 60 * MIN_MS;

/** What kind of failure, the operator's frequency, the attempts, and the pauses after them. */
const schedules: readonly [RetryClass, number | undefined, readonly number[], readonly number[]][] = [
  ["transient", 600, [1, 2, 3, 8, 9, 100], [2_000, 4_000, 8_000, 256_000, 5 * MIN_MS, 5 * MIN_MS]],
  ["hub_waiting", undefined, [1, 2, 6, 7, 50], [15_000, 30_000, 8 * MIN_MS, 10 * MIN_MS, 10 * MIN_MS]],
  ["hub_refused", undefined, [1, 2, 3, 6, 7], [15_000, MIN_MS, 4 * MIN_MS, 256 * MIN_MS, MAX_MS]],
  ["slow", undefined, [1, 2, 3, 6, 7], [10 * MIN_MS, 20 * MIN_MS, 40 * MIN_MS, 320 * MIN_MS, MAX_MS]],
  ["failed", 600, [1, 10, 11, 12, 30], [10 * MIN_MS, 10 * MIN_MS, 20 * MIN_MS, 40 * MIN_MS, MAX_MS]],
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

Deno.test("outcomes: what the host recorded distinguishes our delivery, another relayer's and none (F15)", () => {
  const [us, other] = [1, 2].map((byte) => new Uint8Array(20).fill(byte));
  assert.ok(us !== undefined);
  const outcomes = [us, other, undefined].map((relayer) => judgeRecorded(relayer, us, "not_executed"));
  assert.deepEqual(outcomes, ["delivered", "delivered_by_other", "not_executed"]);
});

Deno.test("refusals: what a chain refuses is held, ended or held for good by its reason (F18)", () => {
  const found = (code: Parameters<typeof judgeRefused>[1]["code"], targetIsHub: boolean): string => {
    const target = { id: { stateMachine: targetIsHub ? names.hub : names.one } };
    return Object.values(judgeRefused({ settings: names, target }, { code, detail: "" })).join(" ").trim();
  };
  assert.equal(found("timed_out", true), "too_close_to_timeout transient");
  assert.equal(found("bad_destination", false), "bad_destination rejected");
  assert.equal(found("too_large", false), "too_large held");
  assert.equal(found("untraceable", false), "untraceable slow");
  assert.equal(found("insufficient_funds", false), "unfunded unfunded");
  for (const code of ["no_bandwidth", "blocked_sender"] as const) {
    assert.equal(found(code, true), `${code} hub_refused`);
  }
  for (const code of ["not_executed", "module_failed", "unspecified"] as const) {
    assert.deepEqual([found(code, false), found(code, true)], [
      "simulation_failed failed",
      "hub_refused hub_refused",
    ]);
  }
  for (const code of ["duplicate", "not_ready", "host_frozen", "handler_replaced", "bad_proof"] as const) {
    assert.match(found(code, false), / transient$/);
  }
});

Deno.test("outcomes: a revert that concerns the chain blames no message", () => {
  const codes = ["host_frozen", "handler_replaced", "bad_proof", "unspecified", undefined] as const;
  assert.deepEqual(codes.map(isRevertOfChain), [true, true, true, false, false]);
});
