/** Rows that the hub refuses for now, and pairs whose chains do not answer: what waits, and until when. */
import { nextAttemptMs, type RetryClass } from "../relay/decisions/retry_schedule.ts";
import type { FeeDeps } from "./fee_context.ts";

interface Entry {
  readonly attempts: number;
  readonly untilMs: number;
}

/** A list that is kept in memory only: after a restart everything is tried once more. */
export class Deferred {
  readonly #deps: Pick<FeeDeps, "clock" | "random">;
  readonly #retryClass: RetryClass;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: Pick<FeeDeps, "clock" | "random">, retryClass: RetryClass) {
    this.#deps = deps;
    this.#retryClass = retryClass;
  }

  /** Notes another failure; returns how many there were in a row. */
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

  /** Forgets the failures of `key`. */
  clear(key: string): void {
    this.#entries.delete(key);
  }

  /** True while `key` waits. */
  has(key: string): boolean {
    return this.#deps.clock.now() < (this.#entries.get(key)?.untilMs ?? 0);
  }

  /** Failures of `key` in a row. */
  attempts(key: string): number {
    return this.#entries.get(key)?.attempts ?? 0;
  }

  /** How many wait or have waited. */
  get size(): number {
    return this.#entries.size;
  }
}
