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
 * @param elapsed monotonic milliseconds
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

/** Longest time of one timer of the runtime (2^31 - 1 ms, 24.8 days); longer waits take several. */
const MAX_TIMER_MS = 2 ** 31 - 1;

function after(ms: number, work: () => void): () => void {
  let id = 0;
  const wait = (leftMs: number): void => {
    const partMs = Math.min(Math.max(0, leftMs), MAX_TIMER_MS);
    id = setTimeout(() => partMs < leftMs ? wait(leftMs - partMs) : work(), partMs);
  };
  wait(ms);
  return () => clearTimeout(id);
}

/**
 * Time of the machine, as {@link steadyNow} reads it. Waits use timers, so setting the clock does not stretch them.
 */
export const systemClock: Clock = {
  now: steadyNow(() => Date.now(), () => performance.now()),
  sleep: (ms, signal) => sleepOn({ after }, ms, signal),
  after,
};

/** The machine's own clocks: the time as it is set, and a monotonic one. */
export function machineTime(): FenceTime {
  return { wallMs: Date.now(), timerMs: performance.now() };
}
