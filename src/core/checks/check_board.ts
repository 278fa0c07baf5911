/** Results of a program's checks: the latest of each, and since when it is as it is; and what it met and does not know. */
import { formatDuration } from "../runtime/text_table.ts";
import { coloured, type Html, markup, renderSection } from "../telemetry/http/page.ts";
import type { FoundReason } from "../telemetry/readiness.ts";
import type { UnknownThing } from "../telemetry/recent_warnings.ts";
import { type CheckRow, MACHINE } from "./check_row.ts";

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
export function renderChecks(rows: readonly BoardRow[], nowMs: number): Html {
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
