/** What is said of a configuration that was read, and reading it again while the program runs. */
import { findChangedKeys } from "../config/effective_values.ts";
import { type ConfigResult, renderDiagnostic, renderNote } from "../config/diagnostics.ts";
import type { OpenLog } from "../telemetry/open_log.ts";

/** How the file is read again, and what is done with the result. */
export interface RereadOptions<C> {
  readonly file: string;
  /** The first reading. */
  readonly reading: ConfigResult<C>;
  readonly readAgain: () => ConfigResult<C>;
  readonly secretsOf: (config: C) => readonly string[];
  readonly keepFixed?: (before: C, after: C) => { readonly config: C; readonly fixed: readonly string[] };
  readonly log: Pick<OpenLog, "debug" | "info" | "warn" | "error" | "hide">;
}

/** Logs the warnings and notes of a reading; at debug level where they are no news. */
export function tellConfiguration(
  log: Pick<OpenLog, "debug" | "info" | "warn">,
  { file, reading, isNews }: {
    readonly file: string;
    readonly reading: Pick<ConfigResult<unknown>, "warnings" | "notes">;
    readonly isNews: boolean;
  },
): void {
  for (const warning of reading.warnings) {
    log[isNews ? "warn" : "debug"]("configuration_warning", { explanation: renderDiagnostic(file, warning) });
  }
  for (const note of reading.notes) {
    log[isNews ? "info" : "debug"]("configuration_note", { explanation: renderNote(file, note) });
  }
}

/**
 * A function that reads the file again. It gives the configuration to continue with, or `undefined` where that is the
 * one in use: the file is wrong, or says the same.
 */
export function rereader<C>(options: RereadOptions<C>, first: C): () => C | undefined {
  const { file, readAgain, secretsOf, keepFixed, log } = options;
  let used = first;
  let values = options.reading.values;
  return () => {
    const reading = readAgain();
    if (reading.config === undefined) {
      for (const problem of reading.problems) {
        log.error("configuration_refused", { explanation: renderDiagnostic(file, problem) });
      }
      return undefined;
    }
    log.hide([...secretsOf(reading.config), ...reading.secrets]);
    tellConfiguration(log, { file, reading, isNews: true });
    const { config, fixed } = keepFixed?.(used, reading.config) ?? { config: reading.config, fixed: [] };
    if (fixed.length > 0) log.warn("restart_needed", { changed: fixed.join(", ") });
    const changed = findChangedKeys(values, reading.values).filter((name) => !fixed.includes(name));
    values = reading.values;
    if (changed.length === 0) {
      log.info("configuration_unchanged");
      return undefined;
    }
    used = config;
    log.info("configuration_reloaded", { changed: changed.join(", ") });
    return config;
  };
}
