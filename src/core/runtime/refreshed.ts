/** A value that is made again at most once in a while, however often it is asked for. */
import type { Clock } from "./clock.ts";

/** Keeps a value for some time. */
export class Refreshed<T> {
  readonly #clock: Pick<Clock, "now">;
  readonly #options: { readonly everyMs: number; readonly make: () => T };
  #kept: { readonly value: T; readonly atMs: number } | undefined;

  constructor(clock: Pick<Clock, "now">, options: { readonly everyMs: number; readonly make: () => T }) {
    this.#clock = clock;
    this.#options = options;
  }

  /** The value, at most `everyMs` old. What `make` throws is thrown, and not kept. */
  get(): T {
    const nowMs = this.#clock.now();
    if (this.#kept !== undefined && nowMs - this.#kept.atMs < this.#options.everyMs) return this.#kept.value;
    const value = this.#options.make();
    this.#kept = { value, atMs: nowMs };
    return value;
  }

  /** Has the value made again when it is asked for next: something has changed. */
  drop(): void {
    this.#kept = undefined;
  }
}
