/**
 * What the statuses of both programs have in common, and their frame: as the page, as text for a terminal, and as
 * gauges. Pure, but for the gauges.
 */
import { formatDuration, formatSection } from "../runtime/text_table.ts";
import { type Html, renderPage, renderReasons, renderWarnings } from "../telemetry/http/page.ts";
import type { FoundReason, NotReadyReason } from "../telemetry/readiness.ts";
import { formatWarnings, type RecentWarning } from "../telemetry/recent_warnings.ts";
import { type BoardRow, renderChecks } from "./check_board.ts";

/** Status of a program. Times are Unix milliseconds. */
export interface ProgramStatus {
  readonly program: string;
  readonly version: string;
  readonly nowMs: number;
  /** Absent: nothing is running, and the database alone was read. */
  readonly startedAtMs?: number;
  readonly hub: string;
  readonly reasons: readonly NotReadyReason[];
  /** Last results of the checks that the program makes. */
  readonly checks: readonly BoardRow[];
  /** Newest first. */
  readonly warnings: readonly RecentWarning[];
}

/** Reason of a program whose chains are not checked yet. */
export const STARTING: FoundReason = {
  code: "starting",
  chain: undefined,
  leg: undefined,
  explanation: "The chains are still being checked.",
  help: "Wait; the log names chains that do not answer.",
};

/** Makes the page: the program's own sections between what is in the way and what went wrong. */
export function renderProgramPage(
  { program, version, hub, nowMs, startedAtMs, reasons, checks, warnings }: ProgramStatus,
  role: string,
  sections: readonly Html[],
): string {
  return renderPage({
    title: program,
    subtitle: `${role} ${version} of ${hub}`,
    nowMs,
    startedAtMs,
    sections: [
      renderReasons(reasons, nowMs),
      ...sections,
      renderChecks(checks, nowMs),
      renderWarnings(warnings, nowMs),
    ],
  });
}

/** Formats the status for a terminal, with the program's own sections in the same place. */
export function formatProgramStatus(
  status: ProgramStatus,
  sections: readonly (string | undefined)[],
): string {
  const { program, version, hub, nowMs, startedAtMs, checks, warnings } = status;
  const runs = startedAtMs === undefined ? "" : `, running for ${formatDuration(nowMs - startedAtMs)}`;
  return [
    `${program} ${version}, hub ${hub}${runs}`,
    ...startedAtMs === undefined ? formatStopped(status) : [formatRunning(status)],
    ...sections,
    formatSection(
      "Checks that failed or warn",
      checks.filter(({ result }) => result !== "ok").map((row) => [
        row.chain,
        row.check,
        row.result,
        row.endpoint === undefined ? row.found : `${row.endpoint}: ${row.found}`,
        row.advice,
      ]),
    ),
    formatWarnings(warnings),
  ].filter((part) => part !== undefined).join("\n");
}

function formatRunning({ reasons, nowMs }: ProgramStatus): string {
  const rows = reasons.map((reason) => [
    placeOf(reason),
    `for ${formatDuration(nowMs - reason.sinceMs)}`,
    `${reason.explanation} ${reason.help}`,
  ]);
  return formatSection("In the way", rows) ?? "\nNothing is in the way.";
}

/** What the database alone knows: not since when a reason holds. */
function formatStopped({ reasons }: ProgramStatus): readonly (string | undefined)[] {
  const rows = reasons.map((reason) => [placeOf(reason), `${reason.explanation} ${reason.help}`]);
  return [
    "\nNo relayer runs on this database: nothing is delivered until one is started. This is what the database knows.",
    formatSection("In the way besides", rows),
  ];
}

function placeOf({ leg, chain }: NotReadyReason): string {
  return leg ?? chain ?? "program";
}
