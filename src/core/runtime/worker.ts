/**
 * Workers that live as long as the program. Each is restarted on its own when it fails, so one chain's trouble never
 * stops another (docs/architecture/messaging.md, I12); only an unrecoverable fault ends the program.
 */
import type { Log } from "../telemetry/log.ts";
import type { Clock, Randomness } from "./clock.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import { isAbortOf, linkedAbort, orAbort } from "./linked_abort.ts";
import { type Backoff, endpointBackoff, nextDelayMs } from "./retry.ts";

/** Named loop. It ends when `signal` is aborted; a worker that returns earlier is finished permanently. */
export interface Worker {
  /** Name in logs, e.g. `EVM-1 -> POLKADOT-3367`. */
  readonly name: string;
  run(signal: AbortSignal): Promise<void>;
}

/** Worker that repeats a piece of work. @param everyMs pause between two rounds */
export function everyWorker(
  clock: Pick<Clock, "sleep">,
  name: string,
  everyMs: number,
  work: (signal: AbortSignal) => unknown,
): Worker {
  return {
    name,
    run: async (signal) => {
      while (!signal.aborted) {
        await work(signal);
        await clock.sleep(everyMs, signal);
      }
    },
  };
}

/** Options of {@link superviseWorkers}. */
export interface SupervisorOptions {
  /** Stops all workers. */
  readonly signal: AbortSignal;
  /** Time for workers to finish after an abort, ms; default 20 s. */
  readonly graceMs?: number;
  /** True for faults that end the program with exit code 1 (docs/protocol/messaging.md section 19.2), e.g. a corrupted database. */
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

/** Pauses before restarts after defects; after transient faults: {@link endpointBackoff}. */
const defectBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };
/** A run of at least this length resets the count of failures, ms. */
const HEALTHY_AFTER_MS = 600_000;
const GRACE_MS = 20_000;

/** Runs the workers concurrently until all have returned, the signal is aborted, or one meets a fatal fault. */
export async function superviseWorkers(
  deps: SupervisorDeps,
  workers: readonly Worker[],
  options: SupervisorOptions,
): Promise<SupervisorOutcome> {
  const { signal, graceMs = GRACE_MS } = options;
  const stop = linkedAbort(signal);
  const faults: unknown[] = [];
  const running = new Set<string>();
  const runs = workers.map(async (worker) => {
    running.add(worker.name);
    try {
      await keepRunning(deps, worker, { ...options, signal: stop.signal });
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

/** Restarts one worker until it returns or is aborted; throws fatal faults only. */
async function keepRunning(
  { clock, randomness, log }: SupervisorDeps,
  worker: Worker,
  { signal, isFatal, isPassing, onRestart }: SupervisorOptions,
): Promise<void> {
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
      if (isAbortOf(signal, error)) return;
      if (isFatal?.(error) === true) {
        log.error("worker_failed", { worker: worker.name, error });
        throw error;
      }
      if (signal.aborted) {
        log.warn("shutdown_unclean.failed", { worker: worker.name, error });
        return;
      }
      failures = clock.now() - startMs >= HEALTHY_AFTER_MS ? 1 : failures + 1;
      const [level, backoff] = isPassing?.(error) === true
        ? ["warn", endpointBackoff] as const
        : ["error", defectBackoff] as const;
      onRestart?.(worker.name);
      const delayMs = nextDelayMs(backoff, failures, randomness.fraction());
      log[level]("worker_restarting", { worker: worker.name, failures, againInMs: delayMs, error });
      await clock.sleep(delayMs, signal).catch((reason) => {
        if (!signal.aborted) throw reason;
      });
    } finally {
      own.unlink();
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
