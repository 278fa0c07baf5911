/** System clock. */
import type { Clock } from "./clock.ts";

/** Maximum wait of one timer of the runtime (2^31 - 1 ms, 24.8 days); longer waits are split. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Time of the machine. Waits use timers, so setting the clock does not stretch them. */
export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    let leftMs = Math.max(0, ms);
    do {
      const pieceMs = Math.min(leftMs, MAX_TIMER_MS);
      await timer(pieceMs, signal);
      leftMs -= pieceMs;
    } while (leftMs > 0);
  },
};

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
