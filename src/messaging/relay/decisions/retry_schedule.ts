/**
 * Decides when a message that could not be delivered is retried. Pure.
 * Rules: docs/protocol/messaging.md section 11.2; `unprofitable_retry_frequency` of the specification.
 */

import type { MessageReason } from "../../ledger/message_state.ts";

/** Class of a wait, which selects the schedule. */
export type RetryClass =
  /** Node behind, challenge period, nonce race, lost race: always retried. */
  | "transient"
  /** Our account cannot pay: checked once a minute, since an operator may fund it at any time. */
  | "unfunded"
  /** The hub cannot accept it yet: always retried. */
  | "hub_waiting"
  /** The hub refuses it (bandwidth, a blocked sender, its module): always retried, at increasing intervals. */
  | "hub_refused"
  /** Expensive to check and rarely successful: always retried, rarely. */
  | "slow"
  /** Simulation failed, mined without effect, unprofitable: retried only if the operator asked for it. */
  | "failed";

/** Timestamp meaning "never": beyond every clock, still a safe integer. */
export const NEVER_MS = Number.MAX_SAFE_INTEGER;

const TRANSIENT = { firstMs: 2_000, maxMs: 5 * 60_000 };
/** Time between two readings that decide something for good, ms (two hours): no price or answer of one moment does. */
export const CONFIRM_AFTER_MS = 2 * 3_600_000;
/** Pause after the first of them, ms: most mistakes are over by then. */
const DOUBT_MS = 60_000;

/** Reasons for which a reading, and not a transaction, leaves a message undelivered. */
export const READINGS: ReadonlySet<MessageReason | undefined> = new Set<MessageReason>([
  "unprofitable",
  "simulation_failed",
  "too_large",
  "height_unknown",
  "hub_originated",
  "bad_destination",
  "request_unknown",
  "request_gone",
]);

/**
 * Computes when a message is judged again that a reading would leave undelivered for good: after a minute, and two hours
 * after that. `undefined`: it was, so that the reading counts. Only an end needs the same reason as before.
 * @param row as it was before this reading
 */
export function nextReadingMs(
  row: { readonly reason: MessageReason | undefined; readonly updatedAtMs: number },
  { reason, isEnd, nowMs }: {
    readonly reason: MessageReason;
    readonly isEnd: boolean;
    readonly nowMs: number;
  },
): number | undefined {
  if (!READINGS.has(reason)) return undefined;
  if (!(isEnd ? row.reason === reason : READINGS.has(row.reason))) return nowMs + DOUBT_MS;
  // Of a clock that was set back nothing is known.
  return nowMs - row.updatedAtMs >= CONFIRM_AFTER_MS ? undefined : nowMs + CONFIRM_AFTER_MS;
}

/** Interval between checks of an account that cannot pay, ms. */
export const UNFUNDED_PAUSE_MS = 60_000;
const SLOW = { firstMs: 10 * 60_000, maxMs: 6 * 3_600_000 };
const HUB_WAITING = { firstMs: 15_000, maxMs: 10 * 60_000 };
/** Ten attempts take a day: exhausted bandwidth is bought within hours, and spam must not be retried for long. */
const HUB_REFUSED = { firstMs: 15_000, maxMs: 6 * 3_600_000, factor: 4 };
/** Number of refusals by the hub after which a message without a timeout ends. */
const MAX_REFUSALS = 10;
/** Maximum time to a timeout, ms: one further away counts as none, and a message without one ends after this time. */
const MAX_WAIT_MS = 30 * 24 * 3_600_000;
/** After this many attempts the operator's interval doubles, up to {@link FAILED_MAX_MS}. */
const FAILED_PATIENCE = 10;
export const FAILED_MAX_MS = 6 * 3_600_000;

/**
 * Computes the time of the next attempt, Unix milliseconds.
 * @param facts.attempts attempts made so far, at least 1; of class `hub_refused` the refusals
 * @param facts.retryFrequencySec `unprofitable_retry_frequency`; `undefined` disables retries of class `failed`
 * @param facts.failedMaxMs longest interval of class `failed`; {@link FAILED_MAX_MS} when absent
 * @param facts.jitter random number in [0, 1)
 */
export function nextAttemptMs(facts: {
  readonly retryClass: RetryClass;
  readonly attempts: number;
  readonly nowMs: number;
  readonly retryFrequencySec: number | undefined;
  readonly failedMaxMs?: number | undefined;
  readonly jitter: number;
}): number {
  if (facts.retryClass === "failed") {
    const { attempts, retryFrequencySec, failedMaxMs = FAILED_MAX_MS } = facts;
    if (retryFrequencySec === undefined) return NEVER_MS;
    const doublings = Math.min(20, Math.max(0, attempts - FAILED_PATIENCE));
    const everyMs = retryFrequencySec * 1000;
    return facts.nowMs + Math.max(everyMs, Math.min(failedMaxMs, everyMs * 2 ** doublings));
  }
  if (facts.retryClass === "unfunded") return facts.nowMs + UNFUNDED_PAUSE_MS;
  const { firstMs, maxMs, factor = 2 } = SCHEDULES[facts.retryClass];
  const delayMs = Math.min(maxMs, firstMs * factor ** Math.min(20, Math.max(0, facts.attempts - 1)));
  return facts.nowMs + Math.round(delayMs * (0.75 + facts.jitter / 2));
}

const SCHEDULES: Readonly<
  Record<
    "transient" | "slow" | "hub_waiting" | "hub_refused",
    { firstMs: number; maxMs: number; factor?: number }
  >
> = { transient: TRANSIENT, slow: SLOW, hub_waiting: HUB_WAITING, hub_refused: HUB_REFUSED };

/**
 * True when a message that the hub refused again ends: it was refused ten times, or is 30 days old, and no timeout will
 * end it. Upstream's relayer tries once.
 * @param facts.refusals refusals so far, this one included; other waits do not count
 * @param facts.timeoutSec Unix seconds; 0: never
 */
export function isRefusedForGood(
  facts: {
    readonly refusals: number;
    readonly timeoutSec: bigint;
    readonly createdAtMs: number;
    readonly nowMs: number;
  },
): boolean {
  const { refusals, timeoutSec, createdAtMs, nowMs } = facts;
  const endsByItself = timeoutSec > 0n && timeoutSec * 1000n <= BigInt(nowMs + MAX_WAIT_MS);
  return !endsByItself && (refusals >= MAX_REFUSALS || nowMs - createdAtMs >= MAX_WAIT_MS);
}
