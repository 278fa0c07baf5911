/** What both programs measure of themselves: memory, event loop, restarts, warnings. */
import { type Clock, pauseOf } from "../runtime/clock.ts";
import { programVersion } from "../runtime/version.ts";
import type { Worker } from "../runtime/worker.ts";
import { MetricRegistry } from "./metrics.ts";
import { type RecentWarning, RecentWarnings } from "./recent_warnings.ts";

/** A timer comes at least so often. */
const LOOP_EVERY_MS = 1_000;

/** The latest timer of such a time is counted: work that takes long delays one, however many come before and after. */
const COUNT_EVERY_MS = 500;

/** Watches one program. */
export class ProgramWatch {
  readonly registry = new MetricRegistry();
  readonly warnings = new RecentWarnings();
  readonly startedAtMs: number;
  readonly #clock: Clock;

  constructor(clock: Clock, program: string) {
    this.#clock = clock;
    this.startedAtMs = clock.now();
    this.registry.set("causeway_build_info", { program, version: programVersion }, 1);
    this.registry.set("causeway_start_time_seconds", {}, this.startedAtMs / 1_000);
    for (const level of ["warn", "error"]) this.registry.add("causeway_log_lines_total", { level }, 0);
  }

  /** Keeps a warning and counts it. */
  noteWarning(line: RecentWarning): void {
    this.warnings.add(line);
    this.registry.add("causeway_log_lines_total", { level: line.level });
  }

  /** Counts a restart of a worker. */
  noteRestart(worker: string): void {
    this.registry.add("causeway_worker_restarts_total", { worker });
  }

  /** Lets workers that never restarted be counted, too. */
  noteWorkers(workers: readonly Worker[]): void {
    for (const { name } of workers) this.registry.add("causeway_worker_restarts_total", { worker: name }, 0);
  }

  /** Worker that measures how late timers are: those of everybody, since one more would cost processor time. */
  loopWorker(): Worker {
    return {
      name: "event loop",
      run: async (signal) => {
        let sinceMs = this.#clock.now();
        let latestMs = 0;
        const stop = this.#clock.watchLateness((lateMs) => {
          latestMs = Math.max(latestMs, lateMs);
          const nowMs = this.#clock.now();
          if (nowMs - sinceMs < COUNT_EVERY_MS) return;
          this.registry.observe("causeway_event_loop_lag_seconds", {}, latestMs / 1_000);
          [sinceMs, latestMs] = [nowMs, 0];
        });
        try {
          while (!signal.aborted) await this.#clock.sleep(pauseOf(LOOP_EVERY_MS), signal);
        } finally {
          stop();
        }
      },
    };
  }

  /** Writes the gauges of the moment. */
  collect(): void {
    this.registry.set("causeway_memory_resident_bytes", {}, Deno.memoryUsage().rss);
  }
}
