/**
 * Workers that live as long as the program. Each is restarted on its own when it fails, so one chain's trouble never
 * stops another (docs/architecture/messaging.md, I12); only an unrecoverable fault ends the program.
 */
import type { Log } from "../telemetry/log.ts";
import type { Clock, Randomness } from "./clock.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import { linkedAbort, orAbort } from "./linked_abort.ts";
import { type Backoff, endpointBackoff, nextDelayMs } from "./retry.ts";

/** Unrecoverable fault: the program ends with exit code 1 (docs/protocol/messaging.md section 19.2). */
export class FatalFault extends Error {
  override readonly name = "FatalFault";
  readonly code = "fatal";
}

/** Named loop. It ends when `signal` is aborted; a worker that returns earlier is finished permanently. */
export interface Worker {
  /** Name in logs, e.g. `EVM-1 -> POLKADOT-3367`. */
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link superviseWorkers}. */
export interface SupervisorOptions {
  /** Stops all workers. */
  readonly signal: AbortSignal;
  /** Pauses before restarts; default 1 s to 1 min, of transient faults to 15 s. */
  readonly backoff?: Backoff;
  /** A run of at least this length resets the count of failures, ms; default 10 min. */
  readonly healthyAfterMs?: number;
  /** Time for workers to finish after an abort, ms; default 20 s. */
  readonly graceMs?: number;
  /** True for faults besides {@link FatalFault} that end the program, e.g. a corrupted database. */
  readonly isFatal?: (error: unknown) => boolean;
  /** True for transient faults (an endpoint that is down): logged as a warning instead of an error. */
  readonly isPassing?: (error: unknown) => boolean;
  /** Called before each restart of a worker. */
  readonly onRestart?: (worker: string) => void;
}

/** Outcome of {@link superviseWorkers}. */
export interface SupervisorOutcome {
  /** `finished`: every worker returned. `aborted`: the signal. `fatal`: see `fault`. */
  readonly kind: "finished" | "aborted" | "fatal";
  readonly exitCode: ExitCode;
  /** Fault that ended the program. */
  readonly fault: unknown;
  /** Workers that had not ended when the grace period was over. */
  readonly stuck: readonly string[];
}

/** What the supervisor needs. */
export interface SupervisorDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
}

const defaultBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };
const defaultHealthyAfterMs = 600_000;
const defaultGraceMs = 20_000;

/** Runs the workers concurrently until all have returned, the signal is aborted, or one meets a fatal fault. */
export async function superviseWorkers(
  deps: SupervisorDeps,
  workers: readonly Worker[],
  options: SupervisorOptions,
): Promise<SupervisorOutcome> {
  const { signal, graceMs = defaultGraceMs } = options;
  const stop = linkedAbort(signal);
  const supervisor = new Supervisor(deps, { ...options, signal: stop.signal });
  const faults: unknown[] = [];
  const running = new Set<string>();
  const runs = workers.map(async (worker) => {
    running.add(worker.name);
    try {
      await supervisor.keepRunning(worker);
    } catch (error) {
      faults.push(error);
      stop.abort(error);
    } finally {
      running.delete(worker.name);
    }
  });
  await settledOrOverdue(deps.clock, Promise.all(runs), { graceMs, signal: stop.signal });
  stop.unlink();
  const stuck = [...running];
  if (stuck.length > 0) deps.log.warn("shutdown_unclean.stuck", { workers: stuck.join(", ") });
  if (faults.length > 0) return { kind: "fatal", exitCode: exitCodes.failed, fault: faults[0], stuck };
  const kind = signal.aborted ? "aborted" : "finished";
  return { kind, exitCode: exitCodes.ok, fault: undefined, stuck };
}

/** Restarts workers. */
class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #options: SupervisorOptions;

  constructor(deps: SupervisorDeps, options: SupervisorOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** Restarts one worker until it returns or is aborted; throws fatal faults only. */
  async keepRunning(worker: Worker): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal, healthyAfterMs = defaultHealthyAfterMs } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      const startMs = clock.now();
      // A signal of its own: in a shared one each wait is looked for among the waits of all workers.
      const own = linkedAbort(signal);
      try {
        await worker.run(own.signal);
        return;
      } catch (error) {
        // Another worker's fatal fault is the abort reason and is thrown by every wait.
        if (signal.aborted && error === signal.reason) return;
        if (this.#isFatal(error)) {
          log.error("worker_failed", { worker: worker.name, error });
          throw error;
        }
        if (signal.aborted) return this.#reportOddEnd(worker, error);
        const wasHealthy = clock.now() - startMs >= healthyAfterMs;
        failures = wasHealthy ? 1 : failures + 1;
        await this.#pause(worker, error, failures);
      } finally {
        own.unlink();
      }
    }
  }

  #isFatal(error: unknown): boolean {
    return error instanceof FatalFault || (this.#options.isFatal?.(error) ?? false);
  }

  /** Logs errors thrown while stopping, except the abort reason itself. */
  #reportOddEnd(worker: Worker, error: unknown): void {
    const isAbort = error === this.#options.signal.reason ||
      (error instanceof Error && error.name === "AbortError");
    if (!isAbort) this.#deps.log.warn("shutdown_unclean.failed", { worker: worker.name, error });
  }

  async #pause(worker: Worker, error: unknown, failures: number): Promise<void> {
    const { clock, randomness, log } = this.#deps;
    const { isPassing, signal } = this.#options;
    const level = isPassing?.(error) ? "warn" : "error";
    const { backoff = level === "warn" ? endpointBackoff : defaultBackoff } = this.#options;
    this.#options.onRestart?.(worker.name);
    const delayMs = nextDelayMs(backoff, failures, randomness.fraction());
    log[level]("worker_restarting", { worker: worker.name, failures, againInMs: delayMs, error });
    try {
      await clock.sleep(delayMs, signal);
    } catch (reason) {
      if (!signal.aborted) throw reason;
    }
  }
}

/** Waits for the work; after an abort only for the grace period. */
async function settledOrOverdue(
  clock: Clock,
  work: Promise<unknown>,
  { graceMs, signal }: { readonly graceMs: number; readonly signal: AbortSignal },
): Promise<void> {
  const ended = new AbortController();
  const aborted = orAbort(new Promise<never>(() => {}), signal);
  const overdue = aborted.catch(() => clock.sleep(graceMs, ended.signal)).catch((error: unknown) => {
    if (!ended.signal.aborted) throw error;
  });
  try {
    await Promise.race([work, overdue]);
  } finally {
    ended.abort();
  }
}
