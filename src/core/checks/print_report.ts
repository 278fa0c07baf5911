/** Prints the report of `check`, without any secret of the configuration. */
import type { ChainNames } from "../config/chain_names.ts";
import { listSecrets } from "../config/redact.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { formatTable } from "../runtime/text_table.ts";
import { createRedactor } from "../telemetry/redactor.ts";
import { type CheckOutcome, type CheckRow, countResults, MACHINE, worstResult } from "./check_row.ts";

/** Standard output of a command, and what is known of its reader. */
export interface ReportOutput {
  readonly print: (text: string) => void;
  /** True: one JSON object, with state machines in the place of names. */
  readonly isJson: boolean;
  /** True: results are coloured. */
  readonly hasColour: boolean;
  readonly names: Pick<ChainNames, "short" | "full">;
}

/** Prints rows; returns the exit status: 1 when a check failed, 3 when there are warnings only. @param config holds the secrets */
export function printReport(rows: readonly CheckRow[], config: unknown, output: ReportOutput): ExitCode {
  const redact = createRedactor(listSecrets(config));
  const text = output.isJson ? formatJson(rows) : formatReport(rows, output);
  output.print(text.split("\n").map(redact).join("\n"));
  return { ok: exitCodes.ok, warning: exitCodes.warnings, failed: exitCodes.failed }[worstResult(rows)];
}

const colours: Readonly<Record<CheckOutcome, string>> = {
  ok: "\x1b[32m",
  warning: "\x1b[33m",
  failed: "\x1b[31m",
};
const colourEnd = "\x1b[0m";

/** Formats the rows as a table, what to do on a line of its own, and the counts at the end. */
function formatReport(rows: readonly CheckRow[], { hasColour, names }: ReportOutput): string {
  const table = formatTable([
    ["CHAIN", "CHECK", "RESULT", "FOUND"],
    ...rows.flatMap(({ chain, endpoint, check, result, found, advice }) => [
      [
        names.full(chain),
        check,
        result,
        names.short(endpoint === undefined ? found : `${endpoint}: ${found}`),
      ],
      ...advice === undefined ? [] : [["", "", "", `-> ${names.short(advice)}`]],
    ]),
  ]);
  const coloured = hasColour
    ? table.replace(
      /^(\S+(?: \(\S+\))? +\S+ +)(ok|warning|failed)\b/gm,
      (_line, before: string, result: CheckOutcome) => `${before}${colours[result]}${result}${colourEnd}`,
    )
    : table;
  return [coloured, "", summarise(rows)].join("\n");
}

function summarise(rows: readonly CheckRow[]): string {
  const { ok, warning, failed } = countResults(rows);
  const chains = new Set(rows.map(({ chain }) => chain).filter((chain) => chain !== MACHINE)).size;
  const subjects = `${chains} chain${chains === 1 ? "" : "s"}`;
  const counts = `${failed} failed, ${warning} warning${warning === 1 ? "" : "s"}, ${ok} ok`;
  return `${rows.length} checks of ${subjects}: ${counts}`;
}

/** Formats the rows as one JSON object, with every member in each row. */
function formatJson(rows: readonly CheckRow[]): string {
  return JSON.stringify({
    result: worstResult(rows),
    counts: countResults(rows),
    checks: rows.map((row) => ({ ...row, endpoint: row.endpoint ?? null, advice: row.advice ?? null })),
  });
}
