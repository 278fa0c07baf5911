/** Cache of one value with an age limit. */
import type { Clock } from "../../runtime/clock.ts";

/** One value with an age limit. */
export class Cached<T> {
  readonly #clock: Clock;
  readonly #ttlMs: number;
  #entry: { readonly value: T; readonly untilMs: number } | undefined;

  constructor(clock: Clock, ttlMs: number) {
    this.#clock = clock;
    this.#ttlMs = ttlMs;
  }

  /** Latest value, however old. */
  get last(): T | undefined {
    return this.#entry?.value;
  }

  /** The value, while it is not too old. */
  get fresh(): T | undefined {
    return this.#entry !== undefined && this.#clock.now() < this.#entry.untilMs
      ? this.#entry.value
      : undefined;
  }

  forget(): void {
    this.#entry = undefined;
  }

  set(value: T): void {
    this.#entry = { value, untilMs: this.#clock.now() + this.#ttlMs };
  }

  async get(fetchValue: () => Promise<T>): Promise<T> {
    const known = this.fresh;
    if (known !== undefined) return known;
    const value = await fetchValue();
    this.set(value);
    return value;
  }
}
