/**
 * Workers that live as long as the program. Each is restarted by itself when it fails, so that one chain's trouble
 * never stops another (docs/architecture/messaging.md, I12); only an unrecoverable fault ends the program.
 */
import type { Log } from "../telemetry/log.ts";
import type { Clock } from "./clock.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import { linkedAbort } from "./linked_abort.ts";
import type { Randomness } from "./randomness.ts";
import { type Backoff, nextDelayMs } from "./retry.ts";

/** Nothing that the program can do will help: it ends with exit code 1 (docs/protocol/messaging.md section 19.2). */
export class FatalFault extends Error {
  override readonly name = "FatalFault";
  readonly code = "fatal";
}

/** A named loop. It ends when `signal` is aborted; a worker that returns earlier is finished for good. */
export interface Worker {
  /** Appears in logs, e.g. `EVM-1 -> POLKADOT-3367`. */
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** How {@link superviseWorkers} treats its workers. */
export interface SupervisorOptions {
  /** Pauses before restarts; 1 s to 1 min when absent. */
  readonly backoff?: Backoff;
  /** A run at least this long clears the count of failures, ms; 10 min when absent. */
  readonly healthyAfterMs?: number;
  /** Time for workers to finish after an abort, ms; 20 s when absent. */
  readonly graceMs?: number;
  /** True for faults that end the program beside {@link FatalFault}, e.g. a corrupted database. */
  readonly isFatal?: (error: unknown) => boolean;
  /** True for faults that pass by themselves (an endpoint that is down): a warning instead of an error. */
  readonly isPassing?: (error: unknown) => boolean;
}

/** How it ended. */
export interface SupervisorOutcome {
  /** `finished`: every worker returned. `aborted`: the signal. `fatal`: see `fault`. */
  readonly kind: "finished" | "aborted" | "fatal";
  readonly exitCode: ExitCode;
  /** The fault that ended the program. */
  readonly fault: unknown;
  /** Workers that had not ended when the grace was over. */
  readonly stuck: readonly string[];
}

interface Deps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
}

const defaultBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };
const defaultHealthyAfterMs = 600_000;
const defaultGraceMs = 20_000;

/** Runs the workers side by side until all have returned, the signal is aborted, or one meets a fatal fault. */
export async function superviseWorkers(
  deps: Deps,
  workers: readonly Worker[],
  options: SupervisorOptions,
  signal: AbortSignal,
): Promise<SupervisorOutcome> {
  const stop = linkedAbort(signal);
  const inner = stop.signal;
  const faults: unknown[] = [];
  const running = new Set<string>();
  const runs = workers.map(async (worker) => {
    running.add(worker.name);
    try {
      await keepRunning(deps, worker, options, inner);
    } catch (error) {
      faults.push(error);
      stop.abort(error);
    } finally {
      running.delete(worker.name);
    }
  });
  await settledOrOverdue(deps.clock, Promise.all(runs), options.graceMs ?? defaultGraceMs, inner);
  stop.unlink();
  const stuck = [...running];
  if (stuck.length > 0) deps.log.warn("shutdown_timed_out", { workers: stuck.join(", ") });
  if (faults.length > 0) return { kind: "fatal", exitCode: exitCodes.failed, fault: faults[0], stuck };
  const kind = signal.aborted ? "aborted" : "finished";
  return { kind, exitCode: exitCodes.ok, fault: undefined, stuck };
}

/** Restarts one worker until it returns or is aborted; throws fatal faults only. */
async function keepRunning(
  deps: Deps,
  worker: Worker,
  options: SupervisorOptions,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const startMs = deps.clock.now();
    try {
      await worker.run(signal);
      return;
    } catch (error) {
      // Another worker's fatal fault is the reason of the abort: it comes back out of every wait.
      if (signal.aborted && error === signal.reason) return;
      if (isFatal(error, options)) {
        deps.log.error("worker_failed", { worker: worker.name, error });
        throw error;
      }
      if (signal.aborted) return reportOddEnd(deps.log, worker, error, signal);
      const wasHealthy = deps.clock.now() - startMs >= (options.healthyAfterMs ?? defaultHealthyAfterMs);
      failures = wasHealthy ? 1 : failures + 1;
      await pause(deps, { worker, error, failures, options }, signal);
    }
  }
}

function isFatal(error: unknown, options: SupervisorOptions): boolean {
  return error instanceof FatalFault || (options.isFatal?.(error) ?? false);
}

/** An abort surfaces as its reason; anything else thrown while stopping deserves a line. */
function reportOddEnd(log: Log, worker: Worker, error: unknown, signal: AbortSignal): void {
  const isAbort = error === signal.reason || (error instanceof Error && error.name === "AbortError");
  if (!isAbort) log.warn("worker_failed_stopping", { worker: worker.name, error });
}

async function pause(
  deps: Deps,
  failure: { worker: Worker; error: unknown; failures: number; options: SupervisorOptions },
  signal: AbortSignal,
): Promise<void> {
  const { worker, error, failures, options } = failure;
  const delayMs = nextDelayMs(options.backoff ?? defaultBackoff, failures, deps.randomness.fraction());
  const level = options.isPassing?.(error) ? "warn" : "error";
  deps.log[level]("worker_restarting", {
    worker: worker.name,
    failures,
    againInMs: delayMs,
    error,
  });
  try {
    await deps.clock.sleep(delayMs, signal);
  } catch (reason) {
    if (!signal.aborted) throw reason;
  }
}

/** Waits for the work; after an abort only as long as the grace. */
async function settledOrOverdue(
  clock: Clock,
  work: Promise<unknown>,
  graceMs: number,
  signal: AbortSignal,
): Promise<void> {
  const ended = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  const overdue = aborted.then(() => clock.sleep(graceMs, ended.signal)).catch((error: unknown) => {
    if (!ended.signal.aborted) throw error;
  });
  try {
    await Promise.race([work, overdue]);
  } finally {
    ended.abort();
  }
}
