/**
 * What the statuses of both programs have in common, and their frame: as the page, as text for a terminal, and as
 * gauges. Pure, but for the gauges.
 */
import { formatDuration, formatSection } from "../runtime/text_table.ts";
import {
  coloured,
  type Html,
  markup,
  renderPage,
  renderReasons,
  renderSection,
  renderWarnings,
} from "../telemetry/http/page.ts";
import { describeReason, type FoundReason, type NotReadyReason } from "../telemetry/readiness.ts";
import { formatWarnings, type RecentWarning, type UnknownThing } from "../telemetry/recent_warnings.ts";
import type { ChainHeights } from "../rpc/endpoint_board.ts";
import { type CheckRow, MACHINE } from "./check_row.ts";

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

/**
 * Formats the status for a terminal, with the program's own sections in the same place. `waiting`: messages that have not
 * ended.
 */
export function formatProgramStatus(
  status: ProgramStatus & { readonly waiting?: number },
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

function formatRunning(
  { reasons, nowMs, waiting = 0 }: ProgramStatus & { readonly waiting?: number },
): string {
  const sections = [["In the way", false], ["Needs attention", true]] as const;
  const shown = sections.map(([title, isWarning]) =>
    formatSection(
      title,
      reasons.filter((reason) => (reason.isWarning ?? false) === isWarning).map((reason) => [
        placeOf(reason),
        `for ${formatDuration(nowMs - reason.sinceMs)}`,
        describeReason(reason, nowMs),
      ]),
    )
  ).filter((section) => section !== undefined);
  if (shown.length > 0) return shown.join("\n");
  return waiting === 0
    ? "\nNothing is in the way."
    : "\nNo trouble is known. What messages wait for stands beside their legs.";
}

/** What the database alone knows: not since when a reason holds. */
function formatStopped({ reasons, nowMs }: ProgramStatus): readonly (string | undefined)[] {
  const rows = reasons.map((reason) => [placeOf(reason), describeReason(reason, nowMs)]);
  return [
    "\nNo relayer runs on this database: nothing is delivered until one is started. This is what the database knows.",
    formatSection("In the way besides", rows),
  ];
}

function placeOf({ leg, chain }: NotReadyReason): string {
  return leg ?? chain ?? "program";
}

/** Row on the board. */
export interface BoardRow extends CheckRow {
  /** When the check first had this result, Unix milliseconds. */
  readonly sinceMs: number;
}

/** A change of one check. */
export interface CheckChange {
  readonly row: BoardRow;
  /** Earlier result; `undefined`: the check is new. */
  readonly before: CheckRow["result"] | undefined;
}

/** Maximum number of unknown things that are kept; more are dropped without a word. */
const MAX_UNKNOWN = 100;

/** Holder of the latest results; it is filled by the worker that makes the checks, and read by the status page. */
export class CheckBoard {
  #rows: ReadonlyMap<string, BoardRow> = new Map();
  readonly #unknown = new Map<string, BoardRow>();
  #checkedMs: number | undefined;

  /** Latest rows, in the order of the checks, then {@link unknown}. */
  get rows(): readonly BoardRow[] {
    return [...this.#rows.values(), ...this.unknown];
  }

  /** What the program met and does not know, each once, in the order in which it was met. */
  get unknown(): readonly BoardRow[] {
    return [...this.#unknown.values()];
  }

  /** Keeps an unknown thing until the program ends; false: it is known already. */
  noteUnknown({ chain, what, cost }: UnknownThing, nowMs: number): boolean {
    const key = JSON.stringify([chain, what]);
    if (this.#unknown.has(key) || this.#unknown.size >= MAX_UNKNOWN) return false;
    this.#unknown.set(key, {
      chain: chain || MACHINE,
      check: "unknown_met",
      result: "warning",
      found: `${what} is not known to this program: ${cost}`,
      advice: "update this program",
      sinceMs: nowMs,
    });
    return true;
  }

  /** When the checks were last made, Unix milliseconds; `undefined`: not yet. */
  get checkedMs(): number | undefined {
    return this.#checkedMs;
  }

  /** Replaces the rows; returns those whose result changed, and those that are gone as `ok`. */
  update(rows: readonly CheckRow[], nowMs: number): readonly CheckChange[] {
    const next = new Map<string, BoardRow>();
    const changes: CheckChange[] = [];
    for (const row of rows) {
      const key = keyOf(row);
      const before = this.#rows.get(key);
      const isSame = before?.result === row.result;
      const placed = { ...row, sinceMs: isSame ? before.sinceMs : nowMs };
      next.set(key, placed);
      if (!isSame) changes.push({ row: placed, before: before?.result });
    }
    for (const [key, row] of this.#rows) {
      if (next.has(key) || row.result === "ok") continue;
      changes.push({ row: { ...row, result: "ok", sinceMs: nowMs }, before: row.result });
    }
    this.#rows = next;
    this.#checkedMs = nowMs;
    return changes;
  }
}

function keyOf({ chain, endpoint, check }: CheckRow): string {
  return JSON.stringify([chain, endpoint ?? "", check]);
}

/** Section with the checks that need attention. */
function renderChecks(rows: readonly BoardRow[], nowMs: number): Html {
  const shown = rows.filter(({ result }) => result !== "ok");
  if (shown.length === 0) {
    const text = rows.length === 0 ? "Not made yet." : `All ${rows.length} are in order.`;
    return renderSection("Checks", markup`<p class="none">${text}</p>`);
  }
  const items = shown.map(({ chain, endpoint, check, result, found, advice, sinceMs }) =>
    markup`<li>${coloured(result === "failed" ? "bad" : "warn", result)} ${chain}${
      endpoint && ` (${endpoint})`
    }: ${found}. ${advice && `${advice}.`} <span class="faint">${check}, for ${
      formatDuration(nowMs - sinceMs)
    }</span></li>\n`
  );
  return renderSection("Checks", markup`<ul class="plain">${items}</ul>`);
}

/** Failed checks as reasons; those of a single endpoint are none while others answer. */
export function toCheckReasons(rows: readonly BoardRow[]): readonly FoundReason[] {
  return rows.filter(({ result, endpoint }) => result === "failed" && endpoint === undefined)
    .map(({ chain, check, found, advice, sinceMs }) => ({
      code: `check_${check}`,
      chain,
      leg: undefined,
      explanation: `${found}.`,
      help: advice === undefined ? "Run the command check for the whole set-up." : `${advice}.`,
      sinceMs,
    }));
}

/** Time of a height's last reading up to which it says something about the chain. */
const FRESH_MS = 5 * 60_000;

/** Time for which a chain's heights may stay where they are. */
const STOPPED_MS = { head: 10 * 60_000, final: 60 * 60_000 } as const;

/**
 * A chain whose endpoints answer, and name no new block. It is a warning: chains that make a block when there is something
 * for it stand still, too, and what waits for a block is told by itself.
 */
export function findStoppedChain(
  chain: string,
  heights: ChainHeights,
  nowMs: number,
): readonly FoundReason[] {
  return (["head", "final"] as const).flatMap((kind) => {
    const reading = heights[kind];
    if (reading === undefined || nowMs - reading.readAtMs > FRESH_MS) return [];
    const { height } = reading;
    return [{
      code: kind === "head" ? "chain_stopped" : "finality_stopped",
      chain,
      leg: undefined,
      explanation: `Its endpoints name no ${kind === "head" ? "" : "final "}block above ${height}.`,
      help: "Check that the chain makes blocks, and that its endpoints follow it.",
      isWarning: true,
      mark: String(height),
      graceMs: STOPPED_MS[kind],
    }];
  });
}
