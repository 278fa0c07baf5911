/**
 * Abort controller linked to other signals. Used instead of `AbortSignal.any`: when only a waiting promise references
 * such a signal, the runtime may collect both, and the wait never ends.
 */

/** Controller that follows other signals until it is unlinked. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  /** Aborts this controller only. */
  abort(reason?: unknown): void;
  /** Detaches from the other signals; call it when nothing waits any more, since they may live long. */
  unlink(): void;
}

/** Creates a controller that is aborted, with the same reason, as soon as one of `signals` is. */
export function linkedAbort(...signals: readonly AbortSignal[]): LinkedAbort {
  const own = new AbortController();
  const links = signals.map((signal) => {
    const passOn = (): void => own.abort(signal.reason);
    if (signal.aborted) passOn();
    signal.addEventListener("abort", passOn, { once: true });
    return (): void => signal.removeEventListener("abort", passOn);
  });
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    unlink: () => links.forEach((unlink) => unlink()),
  };
}

/**
 * Returns the promise's result, or rejects with the signal's reason as soon as it is aborted. The promise itself
 * continues.
 */
export function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

/** True when an error says no more than that the signal was aborted. */
export function isAbortOf(signal: AbortSignal, error: unknown): boolean {
  return signal.aborted &&
    (error === signal.reason || (error instanceof Error && error.name === "AbortError"));
}
