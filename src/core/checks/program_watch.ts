/**
 * Watches a running program for its operator: what is observed of its endpoints, log and checks comes together in its
 * snapshot, which is served as JSON, page, metrics and readiness. The program's work depends on nothing of this.
 */
import { ChainNames } from "../config/chain_names.ts";
import { EndpointBoard } from "../rpc/endpoint_board.ts";
import type { Clock } from "../runtime/clock.ts";
import { readMemory } from "../runtime/process_env.ts";
import { Refreshed } from "../runtime/refreshed.ts";
import { everyWorker, type Worker } from "../runtime/worker.ts";
import type { StatusSources } from "../telemetry/http/status_server.ts";
import type { EventCode, LogFields } from "../telemetry/log.ts";
import { MetricRegistry, type SnapshotGauges } from "../telemetry/metrics.ts";
import type { RecentWarning } from "../telemetry/open_log.ts";
import { type NotReadyReason, ReasonMemory } from "../telemetry/readiness.ts";
import { endsTrouble, StandingTroubles } from "../telemetry/troubles.ts";
import { CheckBoard } from "./check_board.ts";
import { programGauges, type ProgramStatus, type SnapshotPlace } from "./program_status.ts";
import { type ProgramView, renderProgramPage } from "./program_view.ts";

/** Interval of the timer whose lateness is measured: work that takes longer delays it. */
const LOOP_EVERY_MS = 1_000;

/** Interval of snapshots that nobody asks for: since when something is in the way, is known from the first one on. */
const LOOK_EVERY_MS = 60_000;

/** Number of warnings that are kept. */
const KEPT_WARNINGS = 20;

/** A kept warning, with what says that it is over. */
interface KeptWarning {
  readonly line: RecentWarning;
  readonly fields: LogFields;
}

/** What is particular to a program. */
export interface WatchedProgram<Status extends ProgramStatus> extends ProgramView<Status> {
  readonly program: string;
  readonly gauges: SnapshotGauges<Status>;
  /** Age of a snapshot up to which it is shown again, ms. */
  readonly everyMs: number;
}

/** Watches one program. */
export abstract class ProgramWatch<Status extends ProgramStatus> {
  readonly registry: MetricRegistry;
  readonly endpoints: EndpointBoard;
  /** Results of the checks that the program makes. */
  readonly checks = new CheckBoard();
  readonly troubles: StandingTroubles;
  protected readonly snapshot: Refreshed<Status>;
  readonly #startedAtMs: number;
  readonly #memory: ReasonMemory;
  #warnings: readonly KeptWarning[] = [];

  /** @param names of the chains, as the configuration has them */
  constructor(
    protected readonly clock: Clock,
    protected readonly names: ChainNames,
    protected readonly of: WatchedProgram<Status>,
  ) {
    this.registry = new MetricRegistry(names);
    this.endpoints = new EndpointBoard({ clock, registry: this.registry });
    this.troubles = new StandingTroubles(clock);
    this.#startedAtMs = clock.now();
    this.#memory = new ReasonMemory(clock);
    this.snapshot = new Refreshed(clock, { everyMs: of.everyMs, make: () => this.read() });
    for (const level of ["warn", "error"]) this.registry.add("causeway_log_lines_total", { level }, 0);
  }

  /** Takes a snapshot. */
  protected abstract read(): Status;

  /** The snapshot. */
  status(): Status {
    return this.snapshot.get();
  }

  /** Keeps a warning and counts it. */
  noteWarning(line: RecentWarning, fields: LogFields = {}): void {
    this.#warnings = [{ line, fields }, ...this.#warnings].slice(0, KEPT_WARNINGS);
    this.registry.add("causeway_log_lines_total", { level: line.level });
  }

  /**
   * Takes an event of any level: it may begin a trouble, or end what a warning told. An unknown thing is listed among the
   * checks; false: it is listed already.
   */
  noteEvent(event: EventCode, fields: LogFields, redact: (text: string) => string): boolean {
    if (event === "unknown_met") return this.checks.noteUnknown(fields, redact, this.clock.now());
    this.troubles.note(event, fields, redact);
    this.#warnings = this.#warnings.map(({ line, ...kept }) => {
      const isOver = endsTrouble({ event, fields }, { event: line.event, fields: kept.fields });
      return { ...kept, line: isOver ? { endedAtMs: this.clock.now(), ...line } : line };
    });
    return true;
  }

  /** Counts a restart of a worker. */
  noteRestart(worker: string): void {
    this.registry.add("causeway_worker_restarts_total", { worker });
  }

  /** Lets workers that never restarted be counted, too. */
  noteWorkers(workers: readonly Worker[]): void {
    for (const { name } of workers) this.registry.add("causeway_worker_restarts_total", { worker: name }, 0);
  }

  /** Worker that measures how late a timer comes, and worker that takes snapshots nobody asks for. */
  watchers(): readonly Worker[] {
    let dueMs = Infinity;
    const measure = (): void => {
      const nowMs = this.clock.now();
      const lateMs = Math.max(0, nowMs - dueMs);
      if (dueMs < Infinity) this.registry.observe("causeway_event_loop_lag_seconds", {}, lateMs / 1_000);
      dueMs = nowMs + LOOP_EVERY_MS;
    };
    return [
      everyWorker(this.clock, "event loop", LOOP_EVERY_MS, measure),
      everyWorker(this.clock, "reasons", LOOK_EVERY_MS, () => void this.status()),
    ];
  }

  /** Reasons for which the program is not ready. */
  reasons(): readonly NotReadyReason[] {
    return this.status().reasons;
  }

  /** What the status server serves. */
  sources(): StatusSources {
    return {
      metrics: () => this.#expose(),
      reasons: () => this.reasons(),
      page: () => renderProgramPage(this.status(), this.of),
      statusJson: () => `${JSON.stringify(this.status(), null, 2)}\n`,
    };
  }

  /** Forgets what belongs to a configuration: another one may follow. */
  protected forget(): void {
    this.troubles.clear();
    this.endpoints.clear();
    this.snapshot.drop();
  }

  /** Where a snapshot is taken now. */
  protected place(hub: string): SnapshotPlace {
    return {
      program: this.of.program,
      hub,
      nowMs: this.clock.now(),
      names: this.names,
      running: {
        startedAtMs: this.#startedAtMs,
        memoryBytes: readMemory(),
        endpoints: this.endpoints.list(),
        readHeights: (chain) => this.endpoints.heights(chain),
        warnings: this.#warnings.map(({ line }) => line),
        checks: this.checks.rows,
        checkedAtMs: this.checks.madeAtMs,
        troubles: this.troubles.list(),
        dateReasons: (found) => this.#memory.date(found),
      },
    };
  }

  #expose(): Promise<string> {
    const status = this.status();
    this.registry.write(programGauges, status);
    this.registry.write(this.of.gauges, status);
    return this.registry.expose();
  }
}
