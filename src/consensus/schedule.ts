/**
 * Schedule of polls: pure decisions on the result of the last one. Source: docs/protocol/hub-consensus.md sections 1
 * (trap 7) and 3.3.
 */
import { type Backoff, nextDelayMs } from "../core/runtime/retry.ts";

/** Result of a poll and of the submission of its updates. */
export type PollResult =
  /** The hub already knows everything that can be proved. `againInMs`: the prover's override of the interval. */
  | { readonly kind: "nothing"; readonly againInMs: number | undefined }
  /** The hub accepted the updates, ours or another relayer's. `hasMore`: it is still behind. */
  | { readonly kind: "updated"; readonly hasMore: boolean }
  /** A retry may succeed. `backoff`: pauses of this kind of failure; default 1 s to 1 min. */
  | { readonly kind: "failed"; readonly failure: PollFailure; readonly backoff?: Backoff | undefined }
  /** The operator or governance has to fix something; polling often does not help. */
  | { readonly kind: "suspended"; readonly failure: PollFailure };

/** Why a poll failed, for the operator. */
export interface PollFailure {
  /** A clause without a full stop; without texts of endpoints. */
  readonly text: string;
  /** Host of the endpoint; absent where several took part, or none. */
  readonly host?: string | undefined;
}

/** Poll interval, and the polls before. */
export interface Pace {
  readonly intervalMs: number;
  /** Part of the interval that the poll itself took. */
  readonly spentMs: number;
  /** Consecutive failures before this poll. */
  readonly failures: number;
}

/** Pause before the next poll. */
export interface Pause {
  readonly delayMs: number;
  /** True: a new L1 height ends it early. False: something must recover first. */
  readonly interruptible: boolean;
  /** Consecutive failures. */
  readonly failures: number;
}

/** Backoff after failures: 1 s to 1 min (docs/protocol/hub-consensus.md section 3.3). */
const pollBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };

/** Minimum pause between polls: no busy loop, whatever a prover asks for. */
export const MIN_PAUSE_MS = 1_000;

/** Maximum pause: limit of the runtime's timers. */
export const MAX_PAUSE_MS = 2 ** 31 - 1;

/** Pause of a suspended chain. */
export const SUSPENDED_MS = 10 * 60_000;

/** Returns the pause after a poll. @param fraction chance from [0, 1), for the jitter of backoffs. */
export function planPause(result: PollResult, pace: Pace, fraction: number): Pause {
  const { failures } = pace;
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
      const delayMs = nextDelayMs(result.backoff ?? pollBackoff, failures + 1, fraction);
      return { delayMs: bounded(delayMs), interruptible: false, failures: failures + 1 };
    }
    case "suspended":
      return { delayMs: SUSPENDED_MS, interruptible: false, failures: failures + 1 };
  }
}

function bounded(delayMs: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, delayMs));
}
