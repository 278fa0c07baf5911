/** Retries: the length of the pauses (a pure rule), the loop around it, and deadlines. */
import type { Clock, Randomness } from "./clock.ts";
import { linkedAbort, orAbort } from "./linked_abort.ts";

/** Backoff whose pauses double. */
export interface Backoff {
  /** Pause before the second attempt. */
  readonly firstMs: number;
  /** Maximum pause. */
  readonly maxMs: number;
  /** Random share of the pause, 0 to 1; default 0.25. */
  readonly jitter?: number;
}

/** Pauses of whatever waits for an endpoint: what has come back is used within 15 s. */
export const endpointBackoff: Backoff = { firstMs: 1_000, maxMs: 15_000 };

/**
 * Pause after `failures` consecutive failures (1 or more), in whole milliseconds. `fraction` in [0, 1) subtracts up
 * to the jitter's share, so the pause never exceeds `maxMs`.
 */
export function nextDelayMs(backoff: Backoff, failures: number, fraction: number): number {
  // The exponent is bounded so that the power stays finite; `maxMs` applies long before.
  const grown = backoff.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 64);
  const wholeMs = Math.min(grown, backoff.maxMs);
  return Math.round(wholeMs * (1 - (backoff.jitter ?? 0.25) * fraction));
}

/** Options of {@link retry}. */
export interface RetryOptions {
  readonly backoff: Backoff;
  /** Shortest pause after this fault, ms: endpoints may request one; `undefined`: another attempt does not help. */
  readonly pauseAfter: (error: unknown) => number | undefined;
  /** Maximum number of attempts; no limit if absent. */
  readonly maxAttempts?: number;
  /** Total time, ms: no attempt starts after it. */
  readonly withinMs?: number;
}

/** Dependencies of {@link retry}. */
export interface RetryContext {
  readonly clock: Clock;
  readonly randomness: Randomness;
  /** Ends the attempts and the pauses. */
  readonly signal: AbortSignal;
}

/**
 * Runs `work` until it succeeds. When another attempt does not help, or their number or the time is used up, the last
 * error is rethrown. An abort ends it with the signal's reason.
 */
export async function retry<T>(
  { clock, randomness, signal }: RetryContext,
  options: RetryOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const startMs = clock.now();
  for (let failures = 1;; failures++) {
    signal.throwIfAborted();
    try {
      return await work(signal);
    } catch (error) {
      signal.throwIfAborted();
      const leastMs = options.pauseAfter(error);
      if (leastMs === undefined || failures >= (options.maxAttempts ?? Infinity)) throw error;
      const delayMs = Math.max(leastMs, nextDelayMs(options.backoff, failures, randomness.fraction()));
      if (clock.now() - startMs + delayMs > (options.withinMs ?? Infinity)) throw error;
      await clock.sleep(delayMs, signal);
    }
  }
}

/** Deadline exceeded. */
export class DeadlineFault extends Error {
  override readonly name = "DeadlineFault";
  readonly code = "deadline";
  constructor(readonly what: string, readonly afterMs: number) {
    super(`No result within ${afterMs} ms: ${what}`);
  }
}

/** Limit of {@link withDeadline}. */
export interface Deadline {
  /** What is awaited, for the fault. */
  readonly what: string;
  readonly afterMs: number;
  /** Ends the work earlier. */
  readonly signal: AbortSignal;
}

/**
 * Runs `work` with a signal that is aborted after `afterMs`; does not wait for work that ignores it.
 * @throws {DeadlineFault} when time is up; the signal's reason when aborted from outside.
 */
export async function withDeadline<T>(
  clock: Clock,
  { what, afterMs, signal }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const inner = linkedAbort(signal);
  const stop = clock.after(afterMs, () => inner.abort(new DeadlineFault(what, afterMs)));
  try {
    return await orAbort(work(inner.signal), inner.signal);
  } finally {
    stop();
    inner.unlink();
  }
}
