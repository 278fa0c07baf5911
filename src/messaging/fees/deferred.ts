/**
 * Deferred work: rows that the hub refuses for now and pairs whose chains do not answer, with the time of the next
 * attempt.
 */
import { nextAttemptMs, type RetryClass } from "../relay/decisions/retry_schedule.ts";
import type { FeeDeps } from "./fee_context.ts";

interface Entry {
  readonly attempts: number;
  readonly untilMs: number;
}

/** List of deferred keys, kept in memory only: after a restart everything is attempted again. */
export class Deferred {
  readonly #deps: Pick<FeeDeps, "clock" | "random">;
  readonly #retryClass: RetryClass;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: Pick<FeeDeps, "clock" | "random">, retryClass: RetryClass) {
    this.#deps = deps;
    this.#retryClass = retryClass;
  }

  /** Records another failure; returns the number of consecutive failures. */
  add(key: string): number {
    const attempts = (this.#entries.get(key)?.attempts ?? 0) + 1;
    const untilMs = nextAttemptMs({
      retryClass: this.#retryClass,
      attempts,
      nowMs: this.#deps.clock.now(),
      retryFrequencySec: undefined,
      jitter: this.#deps.random.fraction(),
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
    return this.#deps.clock.now() < (this.#entries.get(key)?.untilMs ?? 0);
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
