/** Grace period for pending submissions when the program stops. */
import type { Clock } from "../core/runtime/clock.ts";

/** Time that a stopping program waits for pending submissions, milliseconds. */
export const SHUTDOWN_GRACE_MS = 5_000;

/**
 * Creates a signal that is aborted `afterMs` later than `signal`, with its reason. Call `end` when it is no longer
 * needed.
 */
export function delayAbort(
  clock: Clock,
  signal: AbortSignal,
  afterMs: number,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const ended = new AbortController();
  const late = new AbortController();
  const onAbort = (): void => {
    const abort = (): void => late.abort(signal.reason);
    clock.sleep(afterMs, ended.signal).then(abort, () => undefined); // ended first: nobody listens
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const end = (): void => {
    signal.removeEventListener("abort", onAbort);
    ended.abort();
  };
  return { signal: late.signal, end };
}
