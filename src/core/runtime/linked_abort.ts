/**
 * A controller that others' signals abort, too. To be used in place of `AbortSignal.any`: where nobody but a waiting
 * promise knows such a signal, the runtime may collect both, and the wait never ends.
 */

/** A controller that follows other signals until it is let go. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  /** Aborts this one alone. */
  abort(reason?: unknown): void;
  /** Lets go of the other signals; call it when nobody waits any more, since they may live long. */
  unlink(): void;
}

/** A controller that is aborted, with the same reason, as soon as one of `signals` is. */
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
