/** System clock. */
import { type Clock, sleepOn } from "./clock.ts";
import type { FenceTime } from "./fence.ts";

/** Share of its speed at which the clock goes while it is ahead of the machine's. */
const SLOW = 0.5;

/**
 * Reads of a clock that is never set back: where the machine's is, this one goes slower until both agree. A time to wait
 * for that was noted before is so reached in at most twice the wait, instead of after the whole step. Forward it follows
 * at once.
 * @param wall the machine's time, Unix milliseconds
 * @param elapsed milliseconds of a timer that nobody sets
 */
export function steadyNow(wall: () => number, elapsed: () => number): () => number {
  let timeMs = wall();
  let readMs = elapsed();
  return () => {
    const [wallMs, nowMs] = [wall(), elapsed()];
    const passedMs = Math.max(0, nowMs - readMs);
    readMs = nowMs;
    timeMs = Math.max(wallMs, timeMs + passedMs * SLOW);
    return Math.floor(timeMs);
  };
}

/** Longest time of one timer of the runtime (2^31 - 1 ms, 24.8 days); longer waits are split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A wait may take so much longer, as a share of itself, up to a maximum, ms. */
const TOLERANCE = 0.1;
const MAX_TOLERANCE_MS = 1_000;
/** Shorter waits end on time, ms: a fence is looked at four times a second. */
const EXACT_BELOW_MS = 300;

/** Waits that can end at a multiple of this time do, so that those of all workers come to end together. */
const GRID_MS = 1_000;

/** Timers of the runtime may come by a part of a millisecond too early. */
const EARLY_MS = 1;

/** The runtime's time and timers. */
export interface RuntimeTimers {
  /** Milliseconds of a clock that nobody sets. */
  elapsed(): number;
  /** Calls `work` after `ms` milliseconds; the returned function prevents it. */
  set(ms: number, work: () => void): () => void;
}

interface Wait {
  readonly dueMs: number;
  /** When it ends unless another one wakes the process between {@link dueMs} and then. */
  readonly wakeMs: number;
  readonly work: () => void;
}

/** How much longer than `ms` a wait may take, ms. */
export function toleranceMs(ms: number): number {
  return ms < EXACT_BELOW_MS ? 0 : Math.min(ms * TOLERANCE, MAX_TOLERANCE_MS);
}

/** Best time between two: on the grid if there is one, else the last, which leads there with every further wait. */
function wakeBetween(dueMs: number, latestMs: number): number {
  const onGridMs = Math.floor(latestMs / GRID_MS) * GRID_MS;
  return onGridMs >= dueMs ? onGridMs : latestMs;
}

/**
 * Many waits on one timer of the runtime. To wake the process takes more processor time than most of what is done
 * then, so a wait may take a little longer when it can end together with another one.
 */
export class SharedTimer {
  readonly #timers: RuntimeTimers;
  readonly #waits = new Set<Wait>();
  readonly #listeners = new Set<(lateMs: number) => void>();
  #armed: { readonly atMs: number; readonly clear: () => void } | undefined;

  constructor(timers: RuntimeTimers) {
    this.#timers = timers;
  }

  /**
   * Calls `work` once after `ms` milliseconds, or up to {@link toleranceMs} later, never earlier; the returned function
   * prevents it. `work` must not throw.
   */
  after(ms: number, work: () => void): () => void {
    const dueMs = this.#timers.elapsed() + Math.max(0, ms);
    const wait: Wait = { dueMs, wakeMs: wakeBetween(dueMs, dueMs + toleranceMs(ms)), work };
    this.#waits.add(wait);
    this.#arm(wait.wakeMs);
    return () => {
      this.#waits.delete(wait);
      // A timer that others may be waiting for stays; that it comes for nothing costs less than to set it again.
      if (this.#waits.size === 0) this.#disarm();
    };
  }

  /** Tells how late each timer of the runtime comes, ms, until the returned function is called. */
  watchLateness(listener: (lateMs: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #arm(atMs: number): void {
    if (this.#armed !== undefined && this.#armed.atMs <= atMs) return;
    this.#disarm();
    const delayMs = Math.min(Math.max(0, atMs - this.#timers.elapsed()), MAX_TIMER_MS);
    this.#armed = { atMs, clear: this.#timers.set(delayMs, () => this.#fire(atMs)) };
  }

  #disarm(): void {
    this.#armed?.clear();
    this.#armed = undefined;
  }

  #fire(atMs: number): void {
    this.#armed = undefined;
    const nowMs = this.#timers.elapsed();
    for (const listener of this.#listeners) listener(Math.max(0, nowMs - atMs));
    const due = [...this.#waits].filter(({ dueMs }) => dueMs <= nowMs + EARLY_MS);
    for (const wait of due) this.#waits.delete(wait);
    if (this.#waits.size > 0) {
      this.#arm([...this.#waits].reduce((min, { wakeMs }) => Math.min(min, wakeMs), Infinity));
    }
    for (const { work } of due.sort((a, b) => a.dueMs - b.dueMs)) work();
  }
}

const timer = new SharedTimer({
  elapsed: () => performance.now(),
  set: (ms, work) => {
    const id = setTimeout(work, ms);
    return () => clearTimeout(id);
  },
});

/**
 * Time of the machine, as {@link steadyNow} reads it. Waits use timers, so setting the clock does not stretch them.
 */
export const systemClock: Clock = {
  now: steadyNow(() => Date.now(), () => performance.now()),
  sleep: (ms, signal) => sleepOn(timer, ms, signal),
  after: (ms, work) => timer.after(ms, work),
  watchLateness: (listener) => timer.watchLateness(listener),
};

/** What the machine's own clocks say: the time as it is set, and a timer that nobody sets. */
export function machineTime(): FenceTime {
  return { wallMs: Date.now(), timerMs: performance.now() };
}
