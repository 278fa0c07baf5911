/** Hints between workers: a worker waits for its interval or for a hint from another one. */
import type { Clock } from "./clock.ts";
import { orAbort } from "./linked_abort.ts";

/**
 * Coalescing hint for one waiting worker: any number of calls of {@link Wake.wake} end one wait early, even when they
 * came before it began. Hints carry no data; the facts are in the ledger, so a lost hint only costs time.
 */
export class Wake {
  readonly #clock: Clock;
  #isPending = false;
  #end: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the current wait, or the next one. */
  wake(): void {
    this.#isPending = true;
    this.#end?.();
  }

  /**
   * Waits `ms` milliseconds or for a hint, whichever is first; rejects with the signal's reason when aborted.
   * @throws {Error} a defect: two workers wait at the same time.
   */
  async wait(ms: number, signal: AbortSignal): Promise<"woken" | "elapsed"> {
    if (this.#end !== undefined) throw new Error("Two workers wait for the same hint");
    signal.throwIfAborted();
    if (!this.#isPending) await this.#sleep(ms, signal);
    const wasWoken = this.#isPending;
    this.#isPending = false;
    return wasWoken ? "woken" : "elapsed";
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const stop = this.#clock.after(ms, ended.resolve);
    this.#end = ended.resolve;
    try {
      await orAbort(ended.promise, signal);
    } finally {
      this.#end = undefined;
      stop();
    }
  }
}
