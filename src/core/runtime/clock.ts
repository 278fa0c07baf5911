/** Injected time and randomness, so tests control them. */
import { orAbort } from "./linked_abort.ts";

/** Source of time and delays. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls `work` once when {@link sleep} would end; the returned function prevents it. `work` must not throw. */
  after(ms: number, work: () => void): () => void;
}

/** Waits by {@link Clock.after}, see {@link Clock.sleep}. @param share gets what ends the wait early */
export async function sleepOn(
  clock: Pick<Clock, "after">,
  ms: number,
  signal: AbortSignal,
  share?: (end: () => void) => void,
): Promise<void> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<void>();
  share?.(ended.resolve);
  const stop = clock.after(ms, ended.resolve);
  try {
    await orAbort(ended.promise, signal);
  } finally {
    stop();
  }
}

/** Source of randomness. */
export interface Randomness {
  /** Uniformly distributed in [0, 1). */
  fraction(): number;
  /** `count` cryptographically secure bytes. */
  bytes(count: number): Uint8Array;
}

/** Randomness of the operating system. */
export const systemRandomness: Randomness = {
  fraction(): number {
    const [word = 0] = crypto.getRandomValues(new Uint32Array(1));
    return word / 2 ** 32;
  },
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
};
