/** Results of the running program's checks: the latest of each, and since when it is as it is. */
import type { CheckRow } from "./check_row.ts";

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

/** Holder of the latest results; it is filled by the worker that makes the checks, and read by the status page. */
export class CheckBoard {
  #rows: ReadonlyMap<string, BoardRow> = new Map();
  #checkedMs: number | undefined;

  /** Latest rows, in the order of the checks. */
  get rows(): readonly BoardRow[] {
    return [...this.#rows.values()];
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
