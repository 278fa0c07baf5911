/** Summary of a run of `accumulate-fees` by pair: the final table and the exit status. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import {
  type ClaimEvent,
  type ClaimResult,
  type ClaimRoute,
  routeName,
} from "../fees/claims/claim_context.ts";

/** Columns of the table. */
export const summaryColumns = [
  "claimed",
  "already claimed",
  "no fee",
  "not yet available",
  "failed",
] as const;

/** One of {@link summaryColumns}. */
export type SummaryColumn = typeof summaryColumns[number];

/** Column of each result; `refused` and `unreachable` count only if they are left at the end. */
const columnOf: Readonly<Record<ClaimResult, SummaryColumn | undefined>> = {
  claimed: "claimed",
  claimed_already: "already claimed",
  no_fee: "no fee",
  unclaimable: "failed",
  lost: "failed",
  refused: undefined,
  unreachable: undefined,
};

/** Requests and fees of one pair in one column. */
export interface SummaryCell {
  readonly count: number;
  /** Units of the source's fee token. */
  readonly fee: bigint;
}

type Line = Map<SummaryColumn, SummaryCell>;

/** Collects the results of a run. */
export class ClaimSummary {
  readonly #lines = new Map<string, { readonly route: ClaimRoute; readonly line: Line }>();

  /** Counts rows with a final result. */
  count(event: ClaimEvent): void {
    const column = columnOf[event.result];
    if (column !== undefined) this.add(event, column, event);
  }

  /** Adds rows to a column. */
  add(route: ClaimRoute, column: SummaryColumn, { count, fee }: SummaryCell): void {
    const { line } = this.#lineOf(route);
    const old = line.get(column) ?? { count: 0, fee: 0n };
    line.set(column, { count: old.count + count, fee: old.fee + fee });
  }

  /** Number of rows of all pairs in a column. */
  total(column: SummaryColumn): number {
    return this.cells().reduce((sum, { line }) => sum + (line.get(column)?.count ?? 0), 0);
  }

  /** True when something that should have been claimed is left. */
  get hasFailures(): boolean {
    return this.total("failed") > 0;
  }

  /** Pairs ordered by name. */
  cells(): readonly { readonly route: ClaimRoute; readonly line: ReadonlyMap<SummaryColumn, SummaryCell> }[] {
    return [...this.#lines].sort(([a], [b]) => a < b ? -1 : 1).map(([, entry]) => entry);
  }

  /**
   * Formats the table as text, one line per pair; amounts in whole units of the fee token.
   * @param amountText formats an amount of a chain's fee token
   */
  render(amountText: (chain: StateMachine, amount: bigint) => string): string {
    const cells = this.cells();
    if (cells.length === 0) return "No delivery waits for a claim.";
    const rows = cells.map(({ route, line }) => [
      routeName(route),
      ...summaryColumns.map((column) => {
        const cell = line.get(column);
        if (cell === undefined || cell.count === 0) return "0";
        const hasAmount = cell.fee > 0n;
        return hasAmount ? `${cell.count} (${amountText(route.source, cell.fee)})` : `${cell.count}`;
      }),
    ]);
    return formatTable([["pair", ...summaryColumns], ...rows], { toTheRight: (column) => column > 0 });
  }

  #lineOf(route: ClaimRoute): { readonly route: ClaimRoute; readonly line: Line } {
    const name = routeName(route);
    const known = this.#lines.get(name) ??
      { route: { source: route.source, dest: route.dest }, line: new Map() };
    this.#lines.set(name, known);
    return known;
  }
}
