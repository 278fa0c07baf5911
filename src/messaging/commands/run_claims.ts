/**
 * Claims fees until nothing claimable is left, or with `--wait` until nothing is left to wait for. Uses the same rounds
 * as the running relayer; what an earlier run left in the journal is settled first.
 */
import { endpointBackoff, nextDelayMs } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import {
  type ClaimEvent,
  type ClaimResult,
  type ClaimRoute,
  routeName,
} from "../fees/claims/claim_context.ts";
import { ClaimsRounds, type PairReport, type RoundReport } from "../fees/claims/claims_worker.ts";
import { type FeeContext, isPassing } from "../fees/fee_context.ts";
import type { ClaimPair } from "../ledger/ledger.ts";
import { settleAll } from "../relay/settle/settle_worker.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { formatTable } from "../../core/runtime/text_table.ts";

/** Options of a run of claims or withdrawals. */
export interface ClaimRunOptions {
  /** True to wait for heights that the hub does not know yet, and for payments that another account has to deliver. */
  readonly waits: boolean;
  /** Pause between rounds, ms. */
  readonly everyMs: number;
}

/** Maximum number of times that the hub or a chain may fail to answer in a row before it counts as failed. */
export const MAX_FAILURES = 5;

/** Maximum number of times that the hub may refuse a row before it counts as failed. */
const MAX_REFUSALS = 3;

/**
 * Repeats rounds until one has nothing left to do, or the signal is aborted; false: too many in a row had no answer. Faults
 * of the hub count as none. @param round true: nothing is left
 */
export async function repeatRounds(
  { clock, random, log }: FeeContext,
  { everyMs, maxFailures }: { readonly everyMs: number; readonly maxFailures: number },
  round: () => Promise<boolean | "unanswered">,
  signal: AbortSignal,
): Promise<boolean> {
  let failures = 0;
  const attempt = async (): Promise<boolean | "unanswered"> => {
    try {
      return await round();
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      log.warn("hub_unavailable", { failures: failures + 1, error });
      return "unanswered";
    }
  };
  try {
    for (;;) {
      signal.throwIfAborted();
      const end = await attempt();
      failures = end === "unanswered" ? failures + 1 : 0;
      if (end === true) return true;
      if (failures >= maxFailures) return false;
      const backoffMs = failures === 0 ? 0 : nextDelayMs(endpointBackoff, failures, random.fraction());
      await clock.sleep(Math.max(everyMs, backoffMs), signal);
    }
  } catch (error) {
    if (signal.aborted) return true;
    throw error;
  }
}

/** Runs to completion; the summary reports what happened, also after an abort (the rest is in the journal). */
export async function runClaims(
  context: FeeContext,
  options: ClaimRunOptions,
  signal: AbortSignal,
): Promise<ClaimSummary> {
  const run = new ClaimRun(context, options);
  const limits = { ...options, maxFailures: options.waits ? Infinity : MAX_FAILURES };
  await repeatRounds(context, limits, () => run.once(signal), signal);
  run.countLeftOver(signal.aborted);
  for (const { source } of run.summary.routes) {
    if (!signal.aborted) await context.units.tryLearn(context.chains.get(source), signal);
  }
  return run.summary;
}

/** Expected progress of a pair. */
type Expectation = "progress" | "later" | "failed";

class ClaimRun {
  readonly summary = new ClaimSummary();
  readonly #context: FeeContext;
  readonly #options: ClaimRunOptions;
  readonly #rounds: ClaimsRounds;
  readonly #notices: WaitNotices;
  #last: readonly PairReport[] = [];
  /** Largest number of deliveries that a round still had to claim. */
  #most = 0;

  constructor(context: FeeContext, options: ClaimRunOptions) {
    this.#context = context;
    this.#options = options;
    this.#rounds = new ClaimsRounds(context, (event) => this.summary.count(event));
    this.#notices = new WaitNotices(context);
  }

  /** True when another round would find nothing. */
  async once(signal: AbortSignal): Promise<boolean> {
    const openDeliveries = await settleDeliveries(this.#context, signal);
    const report = await this.#rounds.run(signal);
    this.#last = report.pairs;
    this.#showProgress(report);
    return this.#isDone(report, openDeliveries);
  }

  /** Deliveries are counted from the first round on: those that are left against those that were there then. */
  #showProgress({ pairs }: RoundReport): void {
    const left = pairs.reduce((sum, { pair }) => sum + pair.count, 0);
    this.#most = Math.max(this.#most, left);
    const total = this.#most;
    this.#context.log.progress?.({ task: "claims", done: total - left, total, unit: "deliveries" });
  }

  #isDone(report: RoundReport, openDeliveries: number): boolean {
    if (report.hasChanges || report.underWay > 0) return false;
    if (report.pairs.some((pair) => this.#expect(pair) === "progress")) return false;
    if (!this.#options.waits) return true;
    const waiting = report.pairs.filter((pair) => this.#expect(pair) === "later");
    if (waiting.length === 0 && openDeliveries === 0) return true;
    for (const { pair } of waiting) {
      const fields = { pair: routeName(pair), block: pair.newestBlock };
      this.#notices.waiting(routeName(pair), { event: "long_wait.hub_height", fields });
    }
    return false;
  }

  #expect({ pair, result }: PairReport): Expectation {
    switch (result) {
      case "sent":
      case "settled":
      case "busy":
      case "maturing":
        return "progress";
      case "not_configured":
        return "failed";
      case "not_ready":
        return this.#options.waits ? "progress" : "later";
      case "down":
        return this.#options.waits ? "later" : "failed";
      case "unreachable":
      case "backing_off":
        if (this.#options.waits) return "later";
        return this.#rounds.failuresOf(pair) < MAX_FAILURES ? "progress" : "failed";
      case "idle":
        return this.#expectIdle(pair);
    }
  }

  /** Decides what to expect of a pair without progress: rows that the hub refused, or whose height it does not know. */
  #expectIdle(pair: ClaimPair): Expectation {
    const refusals = this.#refusals(pair);
    if (refusals.some((attempts) => attempts > 0 && attempts < MAX_REFUSALS)) return "progress";
    return refusals.length > 0 && refusals.every((attempts) => attempts >= MAX_REFUSALS) ? "failed" : "later";
  }

  #refusals(pair: ClaimPair): readonly number[] {
    const all = { ...pair, maxBlock: pair.newestBlock, limit: pair.count };
    return this.#context.ledger.deliveries.listUnclaimed(all).map((row) => this.#rounds.refusalsOf(row));
  }

  /** Adds everything still unclaimed to the table. */
  countLeftOver(isAborted: boolean): void {
    const { deliveries } = this.#context.ledger;
    for (const pair of deliveries.listClaimPairs()) {
      const report = this.#last.find((each) =>
        each.pair.source === pair.source && each.pair.dest === pair.dest
      );
      const expected = report === undefined ? "failed" : this.#expect(report);
      const rows = deliveries.listUnclaimed({ ...pair, maxBlock: pair.newestBlock, limit: pair.count });
      let early = 0;
      for (const row of rows) {
        const isRefused = this.#rounds.refusalsOf(row) > 0;
        const isSkipped = report?.result === "not_configured";
        const hasFailed = isRefused || (expected === "failed" && !isSkipped && !isAborted);
        const column = hasFailed ? "failed" : "not yet available";
        this.summary.add(pair, column, { count: 1, fee: row.fee ?? 0n });
        if (column === "not yet available" && !isSkipped) early++;
      }
      if (early > 0 && !isAborted) this.#logSkipped(pair, early);
    }
    const open = [...deliveries.listByClaimState("claiming", { limit: 100_000 }), ...this.#notFinal()];
    for (const row of open) {
      const column = isAborted || row.claimState !== "claiming" ? "not yet available" : "failed";
      this.summary.add(row, column, { count: 1, fee: row.fee ?? 0n });
    }
  }

  #logSkipped(pair: ClaimPair, requests: number): void {
    this.#context.log.info("claim_failed.hub_behind", {
      pair: routeName(pair),
      requests,
      deliveredUpTo: pair.newestBlock,
    });
  }

  #notFinal(): ReturnType<FeeContext["ledger"]["deliveries"]["listNotFinal"]> {
    const { chains, ledger } = this.#context;
    return [...chains.keys()].flatMap((dest) => ledger.deliveries.listNotFinal(dest, 100_000))
      .filter(({ claimState }) => claimState === "unclaimed");
  }
}

/** Settles deliveries that an earlier run left pending; returns the number still open. */
export async function settleDeliveries(context: FeeContext, signal: AbortSignal): Promise<number> {
  let open = 0;
  for (const [name, chain] of context.chains) {
    if (!context.isUp(name)) continue;
    const count = (): number =>
      context.ledger.submissions.listUnresolved(name).filter(({ kind }) => kind === "delivery").length;
    if (context.isSettledElsewhere) {
      open += count();
      continue;
    }
    const { deliveries } = context.ledger;
    const isDone = deliveries.listNotFinal(name, 1).length + deliveries.listFoundNotFinal(name).length === 0;
    if (count() === 0 && isDone) continue;
    try {
      await settleAll({ ...context, target: chain, signal });
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      context.log.debug("read_failed.past_deliveries", { chain: name, error });
    }
    open += count();
  }
  return open;
}

/** Columns of the table. */
export const summaryColumns = [
  "claimed",
  "already claimed",
  "no fee",
  "not yet available",
  "failed",
] as const;

/** One of {@link summaryColumns}. */
type SummaryColumn = typeof summaryColumns[number];

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
interface SummaryCell {
  readonly count: number;
  /** Units of the source's fee token. */
  readonly fee: bigint;
}

/** Collects the results of a run. */
export class ClaimSummary {
  /** By the names of the pairs. */
  readonly #lines = new Map<
    string,
    { readonly route: ClaimRoute; readonly cells: Map<SummaryColumn, SummaryCell> }
  >();

  /** Counts rows with a final result. */
  count(event: ClaimEvent): void {
    const column = columnOf[event.result];
    if (column !== undefined) this.add(event, column, event);
  }

  /** Adds rows to a column. */
  add({ source, dest }: ClaimRoute, column: SummaryColumn, { count, fee }: SummaryCell): void {
    const name = routeName({ source, dest });
    const line = this.#lines.get(name) ?? { route: { source, dest }, cells: new Map() };
    const old = line.cells.get(column) ?? { count: 0, fee: 0n };
    line.cells.set(column, { count: old.count + count, fee: old.fee + fee });
    this.#lines.set(name, line);
  }

  /** Number of rows of all pairs in a column. */
  total(column: SummaryColumn): number {
    return [...this.#lines.values()].reduce((sum, { cells }) => sum + (cells.get(column)?.count ?? 0), 0);
  }

  /** True when something that should have been claimed is left. */
  get hasFailures(): boolean {
    return this.total("failed") > 0;
  }

  /** Pairs with rows. */
  get routes(): readonly ClaimRoute[] {
    return [...this.#lines.values()].map(({ route }) => route);
  }

  /**
   * Formats the table as text, one line per pair; amounts in whole units of the fee token.
   * @param amountText formats an amount of a chain's fee token
   */
  render(amountText: (chain: StateMachine, amount: bigint) => string): string {
    if (this.#lines.size === 0) return "No delivery waits for a claim.";
    const lines = [...this.#lines].sort(([a], [b]) => a < b ? -1 : 1);
    const rows = lines.map(([name, { route, cells }]) => [
      name,
      ...summaryColumns.map((column) => {
        const { count, fee } = cells.get(column) ?? { count: 0, fee: 0n };
        return fee > 0n ? `${count} (${amountText(route.source, fee)})` : `${count}`;
      }),
    ]);
    return formatTable([["pair", ...summaryColumns], ...rows], { toTheRight: (column) => column > 0 });
  }
}
