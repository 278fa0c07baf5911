/**
 * What the statuses of both programs have in common, and their frame: as the page, as text for a terminal, and as
 * gauges. Pure, but for the gauges.
 */
import { formatDuration, shownTime } from "../runtime/text_table.ts";
import { renderPage } from "../telemetry/http/page.ts";
import { describeReason, type FoundReason, isReady, type NotReadyReason } from "../telemetry/readiness.ts";
import type { RecentWarning, UnknownThing } from "../telemetry/open_log.ts";
import {
  type Cell,
  coloured,
  formatSection,
  type StatusSection,
  tableSection,
} from "../telemetry/status_sections.ts";
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

/** What is shown of a program that can tell no more than why it does not work. */
export type Silent = Pick<ProgramStatus, "program" | "reasons" | "nowMs">;

/** Makes the page: the program's own sections between what is in the way and what went wrong. */
export function renderProgramPage(
  status: ProgramStatus | Silent,
  role: string,
  sections: readonly StatusSection[],
): string {
  const { program: title, nowMs, reasons } = status;
  const state = {
    ...reasonsOf(status, reasons),
    title: "State",
    head: isReady(reasons) ? coloured("good", "Ready") : coloured("bad", "Not ready"),
  };
  if (!("checks" in status)) {
    return renderPage({ title, subtitle: role, nowMs, startedAtMs: undefined, sections: [state] });
  }
  const { version, hub, startedAtMs } = status;
  return renderPage({
    title,
    subtitle: `${role} ${version} of ${hub}`,
    nowMs,
    startedAtMs,
    sections: [state, ...sections, checksOf(status), warningsOf(status)],
  });
}

/**
 * Formats the status for a terminal, with the program's own sections in the same place. `waiting`: messages that have not
 * ended.
 */
export function formatProgramStatus(
  status: ProgramStatus & { readonly waiting?: number },
  sections: readonly StatusSection[],
): string {
  const { program, version, hub, nowMs, startedAtMs, reasons } = status;
  const runs = startedAtMs === undefined ? "" : `, running for ${formatDuration(nowMs - startedAtMs)}`;
  const [stops, warns] = [false, true].map((isWarning) =>
    reasons.filter((reason) => (reason.isWarning ?? false) === isWarning)
  );
  const shown = [
    { ...reasonsOf(status, stops), title: "In the way" },
    { ...reasonsOf(status, warns), title: "Needs attention" },
    ...sections,
    checksOf(status),
    warningsOf(status),
  ];
  return [
    `${program} ${version}, hub ${hub}${runs}`,
    stateText(status),
    ...shown.map(formatSection),
  ].filter((part) => part !== undefined).join("\n");
}

function stateText(
  { startedAtMs, reasons, waiting = 0 }: ProgramStatus & { readonly waiting?: number },
): string | undefined {
  if (startedAtMs === undefined) {
    return "\nNo relayer runs on this database: nothing is delivered until one is started. This is what the database knows.";
  }
  if (reasons.length > 0) return undefined;
  return waiting === 0
    ? "\nNothing is in the way."
    : "\nNo trouble is known. What messages wait for stands beside their legs.";
}

function reasonsOf(
  { nowMs }: Pick<ProgramStatus, "nowMs">,
  reasons: readonly NotReadyReason[] = [],
): StatusSection {
  return tableSection({ title: "", rows: reasons }, [
    {
      name: "where",
      cell: ({ leg, chain, isWarning }) =>
        coloured(isWarning === true ? "warn" : "bad", leg ?? chain ?? "program"),
    },
    // The database alone does not know since when.
    { name: "for", cell: ({ sinceMs }) => sinceMs < nowMs ? formatDuration(nowMs - sinceMs) : undefined },
    { name: "what", cell: (reason) => ({ text: describeReason(reason, nowMs), note: reason.code }) },
  ]);
}

function checksOf({ checks, nowMs }: ProgramStatus): StatusSection {
  const rows = checks.filter(({ result }) => result !== "ok");
  const otherwise = checks.length === 0 ? "Not made yet." : `All ${checks.length} are in order.`;
  return tableSection({ title: "Checks", rows, otherwise }, [
    {
      name: "chain",
      cell: ({ chain, endpoint }) => endpoint === undefined ? chain : `${chain} (${endpoint})`,
    },
    { name: "result", cell: ({ result }) => coloured(result === "failed" ? "bad" : "warn", result) },
    { name: "found", cell: ({ found, check }): Cell => ({ text: `${found}.`, note: check }) },
    { name: "advice", cell: ({ advice }) => advice },
    { name: "for", cell: ({ sinceMs }) => formatDuration(nowMs - sinceMs) },
  ]);
}

function warningsOf({ warnings }: ProgramStatus): StatusSection {
  return tableSection({ title: "Last warnings", rows: warnings, otherwise: "None." }, [
    { name: "when", cell: ({ atMs }) => shownTime(new Date(atMs).toISOString()) },
    { name: "level", cell: ({ level }) => coloured(level === "error" ? "bad" : "warn", level) },
    { name: "what", cell: ({ text, event }) => ({ text, note: event }) },
  ]);
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
  readonly #gates = new Map<object, BoardRow>();

  /** Chains that are left out, latest rows in the order of the checks, then {@link unknown}. */
  get rows(): readonly BoardRow[] {
    return [...this.#gates.values(), ...this.#rows.values(), ...this.unknown];
  }

  /** Keeps why the chain behind a gate is left out; `undefined`: it is not. @param nowMs when that was found */
  noteGate(gate: object, row: CheckRow | undefined, nowMs: number): void {
    if (row === undefined) this.#gates.delete(gate);
    else this.#gates.set(gate, { ...row, sinceMs: this.#gates.get(gate)?.sinceMs ?? nowMs });
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

  /**
   * Replaces the rows; returns those whose result changed, and those that are gone as `ok`.
   * @param replaced rows in whose place the new ones stand; absent: all
   */
  update(rows: readonly CheckRow[], nowMs: number, replaced?: readonly CheckRow[]): readonly CheckChange[] {
    const next = new Map(replaced === undefined ? [] : this.#rows);
    for (const row of replaced ?? []) next.delete(keyOf(row));
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
    return changes;
  }
}

function keyOf({ chain, endpoint, check }: CheckRow): string {
  return JSON.stringify([chain, endpoint ?? "", check]);
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

/** Time for which a chain's heights may stay where they are; the hub makes a block every few seconds. */
const STOPPED_MS = { head: 10 * 60_000, hubHead: 90_000, final: 60 * 60_000 } as const;

/**
 * A chain whose endpoints answer, and name no new block. Of a hub that stops everything; elsewhere it is a warning: chains
 * that make a block when there is something for it stand still, too, and what waits for a block is told by itself.
 */
export function findStoppedChain(
  chain: string,
  heights: ChainHeights,
  { nowMs, hub }: { readonly nowMs: number; readonly hub: string },
): readonly FoundReason[] {
  return (["head", "final"] as const).flatMap((kind) => {
    const reading = heights[kind];
    if (reading === undefined || nowMs - reading.readAtMs > FRESH_MS) return [];
    const { height } = reading;
    const isHubHead = kind === "head" && chain === hub;
    return [{
      code: kind === "head" ? "chain_stopped" : "finality_stopped",
      chain,
      leg: undefined,
      explanation: `Its endpoints name no ${kind === "head" ? "" : "final "}block above ${height}.`,
      help: "Check that the chain makes blocks, and that its endpoints follow it.",
      isWarning: !isHubHead,
      mark: String(height),
      graceMs: STOPPED_MS[isHubHead ? "hubHead" : kind],
    }];
  });
}
