/**
 * Stalls of an event loop: how late its timers are while something calculates. Start reading at {@link watchLoop}.
 */
import { readThreadCpuMs } from "./process_usage.ts";
import { percentile } from "./report.ts";

/**
 * Stalls of one piece of work, by what a timer due at each moment would have waited: one of 100 ms is one of 100 ms, one
 * of 98 ms, and so on.
 */
export interface LoopLag {
  /** For 99 of 100 moments at most, milliseconds. */
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A timer as often as that: shorter stalls are not seen. */
const EVERY_MS = 2;

/**
 * Watches the loop of this process until it is asked for the result, once. A timer counts as late for no longer than
 * its thread has calculated meanwhile: what it waits for a processor that others use is no stall of its own.
 */
export function watchLoop(): () => LoopLag {
  const lateMs: number[] = [];
  let startMs = performance.now();
  let startCpuMs = readThreadCpuMs();
  const note = (): void => {
    const late = performance.now() - startMs - EVERY_MS;
    let wait = Math.min(late, readThreadCpuMs() - startCpuMs);
    do lateMs.push(Math.max(0, wait)); while ((wait -= EVERY_MS) > 0);
    [startMs, startCpuMs] = [performance.now(), readThreadCpuMs()];
  };
  const tick = (): void => {
    note();
    timer = setTimeout(tick, EVERY_MS);
  };
  let timer = setTimeout(tick, EVERY_MS);
  return () => {
    clearTimeout(timer);
    note();
    return { p99Ms: percentile(lateMs, 0.99), maxMs: Math.max(...lateMs) };
  };
}
