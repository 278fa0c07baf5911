/**
 * Decides when a message that could not be delivered is looked at again. Pure.
 * Rules: 04-messaging-flow section 11.2 of the protocol notes; `unprofitable_retry_frequency` of the specification.
 */

/** Why a message waits, as far as the schedule is concerned. */
export type RetryClass =
  /** Node behind, challenge period, nonce race, lost race: always retried. */
  | "transient"
  /** Our account cannot pay: looked at once a minute, since an operator may fill it at any time. */
  | "unfunded"
  /** The hub's dry run refused it: always retried, since most causes pass. */
  | "hub_refused"
  /** Costs a node much to look at, and hardly ever passes: always retried, seldom. */
  | "slow"
  /** Simulation failed, mined without effect, unprofitable: retried only if the operator asked for it. */
  | "failed";

/** Time stamp of "not by itself": beyond every clock, still a safe integer. */
export const NEVER_MS = Number.MAX_SAFE_INTEGER;

const TRANSIENT = { firstMs: 2_000, mostMs: 5 * 60_000 };
/** Pause between two looks at an account that cannot pay, ms. */
export const UNFUNDED_PAUSE_MS = 60_000;
const SLOW = { firstMs: 10 * 60_000, mostMs: 6 * 3_600_000 };
const HUB_REFUSED = { firstMs: 15_000, mostMs: 10 * 60_000 };
const backoffs = { transient: TRANSIENT, hub_refused: HUB_REFUSED, slow: SLOW } as const;
/** After this many attempts the operator's interval doubles, up to {@link FAILED_MOST_MS}. */
const FAILED_PATIENCE = 10;
const FAILED_MOST_MS = 6 * 3_600_000;

/**
 * Unix milliseconds of the next attempt.
 * @param facts.attempts attempts made so far, at least 1
 * @param facts.retryFrequencySec `unprofitable_retry_frequency`; `undefined` disables retries of class `failed`
 * @param facts.jitter random number in [0, 1)
 */
export function nextAttemptMs(facts: {
  readonly retryClass: RetryClass;
  readonly attempts: number;
  readonly nowMs: number;
  readonly retryFrequencySec: number | undefined;
  readonly jitter: number;
}): number {
  if (facts.retryClass === "failed") return nextFailedMs(facts);
  if (facts.retryClass === "unfunded") return facts.nowMs + UNFUNDED_PAUSE_MS;
  const { firstMs, mostMs } = backoffs[facts.retryClass];
  const delayMs = Math.min(mostMs, firstMs * 2 ** Math.min(20, Math.max(0, facts.attempts - 1)));
  return facts.nowMs + Math.round(delayMs * (0.75 + facts.jitter / 2));
}

function nextFailedMs(
  facts: { attempts: number; nowMs: number; retryFrequencySec: number | undefined },
): number {
  if (facts.retryFrequencySec === undefined) return NEVER_MS;
  const everyMs = facts.retryFrequencySec * 1000;
  const doublings = Math.max(0, facts.attempts - FAILED_PATIENCE);
  return facts.nowMs + Math.max(everyMs, Math.min(FAILED_MOST_MS, everyMs * 2 ** Math.min(20, doublings)));
}
