/**
 * Deferred work: rows that the hub refuses for now and pairs whose chains do not answer, with the time of the next
 * attempt.
 */
import type { FeeContext } from "./fee_context.ts";
import { nextAttemptMs, type RetryClass } from "../relay/decisions/retry_schedule.ts";

interface Entry {
  readonly attempts: number;
  readonly untilMs: number;
}

/** List of deferred keys, kept in memory only: after a restart everything is attempted again. */
export class Deferred {
  readonly #context: Pick<FeeContext, "clock" | "random">;
  readonly #retryClass: RetryClass;
  readonly #entries = new Map<string, Entry>();

  constructor(context: Pick<FeeContext, "clock" | "random">, retryClass: RetryClass) {
    this.#context = context;
    this.#retryClass = retryClass;
  }

  /** Records another failure; returns the number of consecutive failures. */
  add(key: string): number {
    const attempts = (this.#entries.get(key)?.attempts ?? 0) + 1;
    const untilMs = nextAttemptMs({
      retryClass: this.#retryClass,
      attempts,
      nowMs: this.#context.clock.now(),
      retryFrequencySec: undefined,
      jitter: this.#context.random.fraction(),
    });
    this.#entries.set(key, { attempts, untilMs });
    return attempts;
  }

  /** Clears the failures of `key`. */
  clear(key: string): void {
    this.#entries.delete(key);
  }

  /** True while `key` is deferred. */
  has(key: string): boolean {
    return this.#context.clock.now() < (this.#entries.get(key)?.untilMs ?? 0);
  }

  /** Number of consecutive failures of `key`. */
  attempts(key: string): number {
    return this.#entries.get(key)?.attempts ?? 0;
  }

  /** Number of keys that are or were deferred. */
  get size(): number {
    return this.#entries.size;
  }
}
