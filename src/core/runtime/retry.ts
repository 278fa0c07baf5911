/** Trying again: how long to wait (a pure rule), the loop around it, and deadlines. */
import type { Clock } from "./clock.ts";
import { linkedAbort } from "./linked_abort.ts";
import type { Randomness } from "./randomness.ts";

/** Growing pauses. */
export interface Backoff {
  /** Pause before the second attempt. */
  readonly firstMs: number;
  /** Longest pause. */
  readonly maxMs: number;
  /** Growth from one pause to the next; 2 when absent. */
  readonly factor?: number;
  /** Share of the pause that is left to chance, 0 to 1; 0.25 when absent. */
  readonly jitter?: number;
}

/** Transient faults of a chain: 2 s to 5 min (docs/protocol/messaging.md section 11.2). */
export const transientBackoff: Backoff = { firstMs: 2_000, maxMs: 300_000 };

/**
 * Pause after `failures` failures in a row (1 or more), in whole milliseconds. `fraction` in [0, 1) takes away up
 * to the jitter's share, so that the pause never exceeds `maxMs`.
 */
export function nextDelayMs(backoff: Backoff, failures: number, fraction: number): number {
  const factor = backoff.factor ?? 2;
  // The exponent is bounded so that the power stays finite; maxMs decides long before.
  const grown = backoff.firstMs * factor ** Math.min(Math.max(failures - 1, 0), 64);
  const wholeMs = Math.min(grown, backoff.maxMs);
  return Math.round(wholeMs * (1 - (backoff.jitter ?? 0.25) * fraction));
}

/** What to do about a failed attempt. `atLeastMs` is for endpoints that ask for a pause. */
export type RetryDecision = { readonly kind: "again"; readonly atLeastMs?: number | undefined } | {
  readonly kind: "giveUp";
};

/** How {@link retry} goes about it. */
export interface RetryOptions {
  readonly backoff: Backoff;
  /** Judges a fault; `failures` counts from 1. */
  readonly decide: (error: unknown, failures: number) => RetryDecision;
  /** Most attempts; no bound when absent. */
  readonly maxAttempts?: number;
  /** Time for everything, ms: no attempt starts that would begin after it. */
  readonly withinMs?: number;
  /** Told before each pause. */
  readonly onPause?: (error: unknown, failures: number, delayMs: number) => void;
}

/**
 * Runs `work` until it succeeds. When `decide`, the number of attempts or the time says so, the last error is
 * thrown as it came. An abort ends it with the signal's reason.
 */
export async function retry<T>(
  deps: { readonly clock: Clock; readonly randomness: Randomness },
  options: RetryOptions,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const startMs = deps.clock.now();
  for (let failures = 1;; failures++) {
    signal.throwIfAborted();
    try {
      return await work(signal);
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = pauseAfter(error, failures, options, deps.randomness);
      const passedMs = deps.clock.now() - startMs;
      if (delayMs === undefined || passedMs + delayMs > (options.withinMs ?? Infinity)) throw error;
      options.onPause?.(error, failures, delayMs);
      await deps.clock.sleep(delayMs, signal);
    }
  }
}

function pauseAfter(
  error: unknown,
  failures: number,
  options: RetryOptions,
  randomness: Randomness,
): number | undefined {
  const decision = options.decide(error, failures);
  if (decision.kind === "giveUp" || failures >= (options.maxAttempts ?? Infinity)) return undefined;
  return Math.max(nextDelayMs(options.backoff, failures, randomness.fraction()), decision.atLeastMs ?? 0);
}

/** Something took longer than it may. */
export class DeadlineFault extends Error {
  override readonly name = "DeadlineFault";
  readonly code = "deadline";
  constructor(readonly what: string, readonly afterMs: number) {
    super(`No result within ${afterMs} ms: ${what}`);
  }
}

/**
 * Runs `work` with a signal that is aborted after `deadline.afterMs`; does not wait for work that ignores it.
 * @throws {DeadlineFault} when time is up; the signal's reason when aborted from outside.
 */
export async function withDeadline<T>(
  clock: Clock,
  deadline: { readonly what: string; readonly afterMs: number },
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  const timer = new AbortController();
  const inner = linkedAbort(signal);
  clock.sleep(deadline.afterMs, timer.signal).then(
    () => inner.abort(new DeadlineFault(deadline.what, deadline.afterMs)),
    () => undefined, // the timer was stopped: the work ended first
  );
  try {
    return await orAbort(work(inner.signal), inner.signal);
  } finally {
    inner.unlink();
    timer.abort();
  }
}

/** The promise's result, or the signal's reason as soon as it is aborted. The promise itself goes on. */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
