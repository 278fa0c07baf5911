/** Prints the report of `check`, without any secret of the configuration. */
import { listSecrets } from "../config/redact.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { formatTable } from "../runtime/text_table.ts";
import { createRedactor } from "../telemetry/redactor.ts";
import { type CheckOutcome, type CheckRow, countResults, MACHINE, worstResult } from "./check_row.ts";

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

const colours: Readonly<Record<CheckOutcome, string>> = {
  ok: "\x1b[32m",
  warning: "\x1b[33m",
  failed: "\x1b[31m",
};
const colourEnd = "\x1b[0m";

/**
 * Formats the rows as a table, what to do on a line of its own, and the counts at the end. @param options.hasColour results
 * are coloured
 */
export function formatCheckTable(
  rows: readonly CheckRow[],
  { hasColour }: Pick<ReportOutput, "hasColour">,
): string {
  const table = formatTable([
    ["CHAIN", "CHECK", "RESULT", "FOUND"],
    ...rows.flatMap((row) => [
      [row.chain, row.check, row.result, describeFound(row)],
      ...row.advice === undefined ? [] : [["", "", "", `-> ${row.advice}`]],
    ]),
  ]);
  const coloured = hasColour
    ? table.replace(
      /^(\S+ +\S+ +)(ok|warning|failed)\b/gm,
      (_line, before: string, result: CheckOutcome) => `${before}${colours[result]}${result}${colourEnd}`,
    )
    : table;
  return [coloured, "", summarise(rows)].join("\n");
}

/** What was found, with the endpoint in front. */
function describeFound({ endpoint, found }: CheckRow): string {
  return endpoint === undefined ? found : `${endpoint}: ${found}`;
}

function summarise(rows: readonly CheckRow[]): string {
  const { ok, warning, failed } = countResults(rows);
  const chains = new Set(rows.map(({ chain }) => chain).filter((chain) => chain !== MACHINE)).size;
  const subjects = `${chains} chain${chains === 1 ? "" : "s"}`;
  const counts = `${failed} failed, ${warning} warning${warning === 1 ? "" : "s"}, ${ok} ok`;
  return `${rows.length} checks of ${subjects}: ${counts}`;
}

/** Formats the rows as one JSON object. */
export function formatCheckJson(rows: readonly CheckRow[]): string {
  return JSON.stringify({
    result: worstResult(rows),
    counts: countResults(rows),
    checks: rows.map(({ chain, endpoint, check, result, found, advice }) => ({
      chain,
      endpoint: endpoint ?? null,
      check,
      result,
      found,
      advice: advice ?? null,
    })),
  });
}

/** Exit status of `check`: 0, 1 when a check failed, 3 when there are warnings only. */
export function checkExitCode(rows: readonly CheckRow[]): ExitCode {
  const { ok, warnings: warning, failed } = exitCodes;
  return { ok, warning, failed }[worstResult(rows)];
}
