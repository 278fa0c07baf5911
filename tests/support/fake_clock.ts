/** A clock that stands still until a test moves it. */
import { setImmediate } from "node:timers/promises";
import { type Clock, sleepOn } from "../../src/core/runtime/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly fire: () => void;
}

/**
 * Time by hand. Timers fire one by one, by due time and then by the order in which they were set; between two of
 * them everything that became ready runs, so the same test takes the same course every time.
 */
export class FakeClock implements Clock {
  #nowMs: number;
  #count = 0;
  readonly #timers = new Set<Timer>();

  /** Starts at 2026-01-01T00:00:00Z unless told otherwise. */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return sleepOn(this, ms, signal);
  }

  after(ms: number, work: () => void): () => void {
    const timer: Timer = { dueMs: this.#nowMs + Math.max(0, ms), order: this.#count++, fire: work };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  /** How many waits are under way. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets everything run that needs no time. */
  async settle(): Promise<void> {
    await setImmediate();
  }

  /** Moves time on by `ms`, firing what becomes due on the way (0: what is due now). */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.settle();
    for (let timer = this.#next(); timer !== undefined && timer.dueMs <= untilMs; timer = this.#next()) {
      await this.#fire(timer);
    }
    this.#nowMs = untilMs;
  }

  /** Sets the clock without firing anything: a machine whose clock was corrected. */
  jump(ms: number): void {
    this.#nowMs += ms;
  }

  /**
   * Moves time on as far as it takes for `promise` to settle, and gives its result.
   * @throws {Error} when nobody waits any more or `withinMs` (1 day) has passed and it has not settled.
   */
  async run<T>(promise: Promise<T>, withinMs = 86_400_000): Promise<T> {
    const untilMs = this.#nowMs + withinMs;
    let isSettled = false;
    const transition = (): void => void (isSettled = true);
    promise.then(transition, transition);
    await this.settle();
    while (!isSettled) {
      const timer = this.#next();
      if (timer === undefined) throw new Error("Nobody waits for time, and the promise has not settled");
      if (timer.dueMs > untilMs) throw new Error(`Not settled after ${withinMs} ms of fake time`);
      await this.#fire(timer);
    }
    return await promise;
  }

  #next(): Timer | undefined {
    let best: Timer | undefined;
    for (const timer of this.#timers) {
      if (
        best === undefined || timer.dueMs < best.dueMs ||
        (timer.dueMs === best.dueMs && timer.order < best.order)
      ) best = timer;
    }
    return best;
  }

  async #fire(timer: Timer): Promise<void> {
    this.#timers.delete(timer);
    this.#nowMs = Math.max(this.#nowMs, timer.dueMs);
    timer.fire();
    await this.settle();
  }
}

/** The clock of one machine, which may be wrong: its waits are those of another one. */
export class WrongClock implements Clock {
  readonly #base: Clock;
  /** What it is ahead, ms. */
  aheadMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): number {
    return this.#base.now() + this.aheadMs;
  }

  sleep(ms: number, signal: AbortSignal): Promise<void> {
    return this.#base.sleep(ms, signal);
  }

  after(ms: number, work: () => void): () => void {
    return this.#base.after(ms, work);
  }
}
