/** Prints the report of `check`, without any secret of the configuration. */
import { listSecrets } from "../config/redact.ts";
import type { ExitCode } from "../runtime/exit_codes.ts";
import { createRedactor } from "../telemetry/redactor.ts";
import { checkExitCode, formatCheckJson, formatCheckTable } from "./check_report.ts";
import type { CheckRow } from "./check_row.ts";

/** Standard output of a command. */
export interface ReportOutput {
  readonly print: (text: string) => void;
  /** True: results are coloured. */
  readonly hasColour: boolean;
}

/** Prints rows; returns the exit status. @param options.config holds the secrets that must not be printed. */
export function printReport(
  rows: readonly CheckRow[],
  { isJson, config, output }: {
    readonly isJson: boolean;
    readonly config: unknown;
    readonly output: ReportOutput;
  },
): ExitCode {
  const redact = createRedactor(listSecrets(config));
  const text = isJson ? formatCheckJson(rows) : formatCheckTable(rows, output);
  output.print(text.split("\n").map(redact).join("\n"));
  return checkExitCode(rows);
}
