/**
 * When a chain is looked at again: pure decisions over what the last look led to.
 * Source: docs/protocol/hub-consensus.md sections 1 (traps 16, 18) and 3.3.
 */
import { type Backoff, nextDelayMs } from "../core/runtime/retry.ts";

/** What a look at a chain, and the submission of what it found, led to. */
export type PollResult =
  /** The hub knows all that can be proved. `againInMs`: the prover knows better than the interval. */
  | { readonly kind: "nothing"; readonly againInMs: number | undefined }
  /** The hub took the updates, of us or of somebody else. `hasMore`: it is still behind. */
  | { readonly kind: "updated"; readonly hasMore: boolean }
  /** It may succeed when tried again. `atLeastMs`: what an endpoint asked for. */
  | { readonly kind: "failed"; readonly atLeastMs?: number | undefined }
  /** Somebody has to fix something; looking often helps nobody. */
  | { readonly kind: "suspended" };

/** The usual pause, and how much of it the look itself has taken. */
export interface Pace {
  readonly intervalMs: number;
  readonly spentMs: number;
}

/** The pause before the next look. */
export interface Pause {
  readonly delayMs: number;
  /** True: news of the L1 end it early. False: it is a pause for something that must recover first. */
  readonly interruptible: boolean;
  /** Failures in a row. */
  readonly failures: number;
}

/** After failures: 1 s to 1 min (docs/protocol/hub-consensus.md section 3.3). */
export const pollBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };

/** Least pause between two looks, whatever is said: no loop without a pause. */
export const MIN_PAUSE_MS = 1_000;

/** Longest pause: what a timer of the runtime takes. */
export const MAX_PAUSE_MS = 2 ** 31 - 1;

/** Pause where somebody has to fix something. */
export const SUSPENDED_MS = 10 * 60_000;

/**
 * The pause after a look.
 * @param failures in a row before this look.
 * @param fraction chance from [0, 1), for the jitter of backoffs.
 */
export function pauseAfter(result: PollResult, pace: Pace, failures: number, fraction: number): Pause {
  switch (result.kind) {
    case "nothing": {
      const delayMs = result.againInMs ?? pace.intervalMs - pace.spentMs;
      return { delayMs: bounded(delayMs), interruptible: true, failures: 0 };
    }
    case "updated": {
      const delayMs = result.hasMore ? MIN_PAUSE_MS : pace.intervalMs - pace.spentMs;
      return { delayMs: bounded(delayMs), interruptible: true, failures: 0 };
    }
    case "failed": {
      const delayMs = Math.max(nextDelayMs(pollBackoff, failures + 1, fraction), result.atLeastMs ?? 0);
      return { delayMs: bounded(delayMs), interruptible: false, failures: failures + 1 };
    }
    case "suspended":
      return { delayMs: SUSPENDED_MS, interruptible: false, failures: failures + 1 };
  }
}

function bounded(delayMs: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, delayMs));
}
