/** System clock. */
import type { Clock } from "./clock.ts";
import type { FenceTime } from "./fence.ts";

/** Maximum wait of one timer of the runtime (2^31 - 1 ms, 24.8 days); longer waits are split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

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

/**
 * Time of the machine, as {@link steadyNow} reads it. Waits use timers, so setting the clock does not stretch them.
 */
export const systemClock: Clock = {
  now: steadyNow(() => Date.now(), () => performance.now()),
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    let leftMs = Math.max(0, ms);
    do {
      const pieceMs = Math.min(leftMs, MAX_TIMER_MS);
      await timer(pieceMs, signal);
      leftMs -= pieceMs;
    } while (leftMs > 0);
  },
};

/** What the machine's own clocks say: the time as it is set, and a timer that nobody sets. */
export function machineTime(): FenceTime {
  return { wallMs: Date.now(), timerMs: performance.now() };
}

function timer(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      clearTimeout(id);
      reject(signal.reason);
    };
    const id = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
