/** What both programs measure of themselves: memory, event loop, restarts, warnings. */
import type { Clock } from "../runtime/clock.ts";
import { programVersion } from "../runtime/version.ts";
import type { Worker } from "../runtime/worker.ts";
import { MetricRegistry } from "./metrics.ts";
import type { RecentWarning } from "./open_log.ts";
import { StandingTroubles } from "./troubles.ts";

/** Interval of the timer whose lateness is measured: work that takes longer delays it. */
const LOOP_EVERY_MS = 1_000;

/** Number of warnings that are kept. */
const KEPT_WARNINGS = 20;

/** Watches one program. */
export class ProgramWatch {
  readonly registry = new MetricRegistry();
  #warnings: readonly RecentWarning[] = [];
  readonly troubles: StandingTroubles;
  readonly startedAtMs: number;
  readonly #clock: Clock;

  constructor(clock: Clock, program: string) {
    this.#clock = clock;
    this.startedAtMs = clock.now();
    this.troubles = new StandingTroubles(clock);
    this.registry.set("causeway_build_info", { program, version: programVersion }, 1);
    this.registry.set("causeway_start_time_seconds", {}, this.startedAtMs / 1_000);
    for (const level of ["warn", "error"]) this.registry.add("causeway_log_lines_total", { level }, 0);
  }

  /** The last warnings and errors, newest first. */
  get warnings(): readonly RecentWarning[] {
    return this.#warnings;
  }

  /** Keeps a warning and counts it. */
  noteWarning(line: RecentWarning): void {
    this.#warnings = [line, ...this.#warnings].slice(0, KEPT_WARNINGS);
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

  /** Worker that measures how late a timer comes. */
  loopWorker(): Worker {
    return {
      name: "event loop",
      run: async (signal) => {
        while (!signal.aborted) {
          const startMs = this.#clock.now();
          await this.#clock.sleep(LOOP_EVERY_MS, signal);
          const lateMs = Math.max(0, this.#clock.now() - startMs - LOOP_EVERY_MS);
          this.registry.observe("causeway_event_loop_lag_seconds", {}, lateMs / 1_000);
        }
      },
    };
  }

  /** Writes the gauges of the moment. */
  collect(): void {
    this.registry.set("causeway_memory_resident_bytes", {}, Deno.memoryUsage().rss);
  }
}
