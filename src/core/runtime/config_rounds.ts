/**
 * Work in rounds, each with its own configuration: when the file was read again, the round under way ends as at a stop,
 * with everything recorded, and the next one begins with the new configuration.
 */
import { type ConfigResult, renderDiagnostic } from "../config/diagnostics.ts";
import { listSecrets } from "../config/redact.ts";
import type { OpenLog } from "../telemetry/open_log.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import { isAbortOf, linkedAbort } from "./linked_abort.ts";
import { findChangedKeys } from "../config/changed_keys.ts";
import {
  superviseWorkers,
  type SupervisorDeps,
  type SupervisorOptions,
  type SupervisorOutcome,
  type Worker,
} from "./worker.ts";

/** Reason of the end of a round that is followed by another. */
export class ReloadRequested extends Error {
  override readonly name = "ReloadRequested";
  readonly code = "reload";
}

/** How a configuration is read again. */
export interface ReloadOptions<C> {
  /** Reads the file and logs what is wrong or new; `undefined`: nothing is to be changed. */
  readonly read: () => C | undefined;
  /** Calls `request` whenever the file is to be read again; returns what ends that. */
  readonly watch: (request: () => void) => () => void;
}

/**
 * Runs rounds until the program is stopped, or one of them ends by itself.
 * @param work its signal is aborted when the program is asked to stop, and when the next round is to begin
 */
export async function runRounds<C>(
  { read, watch }: ReloadOptions<C>,
  { first, signal }: { readonly first: C; readonly signal: AbortSignal },
  work: (config: C, signal: AbortSignal) => Promise<ExitCode>,
): Promise<ExitCode> {
  let current = first;
  let next: C | undefined;
  let endRound = (): void => {};
  const unwatch = watch(() => {
    const config = read();
    if (config === undefined || signal.aborted) return;
    next = config;
    endRound();
  });
  try {
    for (;;) {
      const round = linkedAbort(signal);
      endRound = () => round.abort(new ReloadRequested());
      const code = await endedBy(round.signal, work(current, round.signal));
      round.unlink();
      if (signal.aborted || next === undefined || code !== exitCodes.ok) return code;
      current = next;
      next = undefined;
    }
  } finally {
    unwatch();
  }
}

/** The end of a round: aborting it does not stop the program. */
async function endedBy(signal: AbortSignal, work: Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await work;
  } catch (error) {
    if (signal.reason instanceof ReloadRequested && isAbortOf(signal, error)) return exitCodes.ok;
    throw error;
  }
}

/** Supervises the workers of one round. Not to be followed by another one while some of them are stuck: two workers of one job. */
export async function superviseRound(
  deps: SupervisorDeps,
  workers: readonly Worker[],
  options: SupervisorOptions,
): Promise<SupervisorOutcome> {
  const outcome = await superviseWorkers(deps, workers, options);
  const isReload = options.signal.reason instanceof ReloadRequested;
  if (outcome.kind === "aborted" && !isReload) deps.log.info("program_stopped");
  return isReload && outcome.stuck.length > 0 ? { ...outcome, exitCode: exitCodes.failed } : outcome;
}

/** How the file is read again, and what is done with the result. */
export interface RereadOptions<C> {
  readonly file: string;
  /** The first reading. */
  readonly reading: ConfigResult<C>;
  /** Reads the file again, for SIGHUP. */
  readonly readAgain: () => ConfigResult<C>;
  /** Replaces what a restart is needed for in `after`, and names it. */
  readonly keepFixed: (before: C, after: C) => { readonly config: C; readonly fixed: readonly string[] };
  readonly log: Pick<OpenLog, "debug" | "info" | "warn" | "error" | "hide">;
}

/** Logs the warnings and notes of a reading. */
export function tellConfiguration(
  log: Pick<OpenLog, "info" | "warn">,
  file: string,
  { remarks }: Pick<ConfigResult<unknown>, "remarks">,
): void {
  for (const remark of remarks) {
    const explanation = renderDiagnostic(file, remark);
    if (remark.kind === "warning") log.warn("configuration_warning", { explanation });
    else log.info("configuration_note", { explanation });
  }
}

/**
 * A function that reads the file again. It gives the configuration to continue with, or `undefined` where that is the
 * one in use: the file is wrong, or says the same.
 */
export function rereader<C>(options: RereadOptions<C>, first: C): () => C | undefined {
  const { file, readAgain, keepFixed, log } = options;
  let used = first;
  let values = options.reading.values;
  return () => {
    const reading = readAgain();
    if (reading.config === undefined) {
      for (const problem of reading.problems) {
        log.error("configuration_reload.refused", { explanation: renderDiagnostic(file, problem) });
      }
      return undefined;
    }
    log.hide([...listSecrets(reading.config), ...reading.secrets]);
    tellConfiguration(log, file, reading);
    const { config, fixed } = keepFixed(used, reading.config);
    if (fixed.length > 0) log.warn("configuration_reload.restart_needed", { changed: fixed.join(", ") });
    const changed = findChangedKeys(values, reading.values).filter((name) => !fixed.includes(name));
    values = reading.values;
    if (changed.length === 0) {
      log.info("configuration_reload.unchanged");
      return undefined;
    }
    used = config;
    log.info("configuration_reload.applied", { changed: changed.join(", ") });
    return config;
  };
}
