/** A clock for tests with real nodes and programs that wait for seconds: time passes, but faster. */
import type { Clock } from "../../src/core/runtime/clock.ts";
import { systemClock } from "../../src/core/runtime/system_clock.ts";

/** Time that passes `factor` times as fast as real time. */
export function fastClock(factor: number): Clock {
  const start = systemClock.now();
  return {
    now: () => start + (systemClock.now() - start) * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
    after: (ms, work) => systemClock.after(ms / factor, work),
  };
}
