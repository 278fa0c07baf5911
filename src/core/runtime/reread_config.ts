/** Reading the configuration again while the program runs: what is said of it, and what of it is used. */
import { findChangedKeys } from "../config/changed_keys.ts";
import { type ConfigResult, renderDiagnostic } from "../config/diagnostics.ts";
import type { OpenLog } from "../telemetry/open_log.ts";

/** How the file is read again, and what is done with the result. */
export interface RereadOptions<C> {
  readonly file: string;
  /** The first reading. */
  readonly reading: ConfigResult<C>;
  readonly readAgain: () => ConfigResult<C>;
  readonly secretsOf: (config: C) => readonly string[];
  readonly keepFixed?: (before: C, after: C) => { readonly config: C; readonly fixed: readonly string[] };
  readonly log: Pick<OpenLog, "info" | "warn" | "error" | "hide">;
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
    for (const warning of reading.warnings) {
      log.warn("configuration_warning", { explanation: renderDiagnostic(file, warning) });
    }
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
