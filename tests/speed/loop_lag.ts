/**
 * Stalls of an event loop: how late its timers are while something calculates. Start reading at {@link watchLoop}.
 */
import { percentile } from "./report.ts";

/** Stalls of one piece of work. */
export interface LoopLag {
  /** What 99 of 100 timers were late at most, milliseconds. */
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** A timer as often as that: shorter stalls are not seen. */
const EVERY_MS = 2;

/** Watches the loop of this process until it is asked for the result, once. */
export function watchLoop(): () => LoopLag {
  const lateMs: number[] = [];
  let dueMs = performance.now() + EVERY_MS;
  const tick = (): void => {
    const nowMs = performance.now();
    lateMs.push(Math.max(0, nowMs - dueMs));
    dueMs = nowMs + EVERY_MS;
    timer = setTimeout(tick, EVERY_MS);
  };
  let timer = setTimeout(tick, EVERY_MS);
  return () => {
    clearTimeout(timer);
    lateMs.push(Math.max(0, performance.now() - dueMs));
    return { p99Ms: percentile(lateMs, 0.99), maxMs: Math.max(...lateMs) };
  };
}
