/**
 * Claims fees until nothing claimable is left, or with `--wait` until nothing is left to wait for. Uses the same rounds
 * as the running relayer; what an earlier run left in the journal is settled first.
 */
import { endpointBackoff, nextDelayMs } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import { routeName } from "../fees/claims/claim_pair.ts";
import { ClaimsRounds, type PairReport, type RoundReport } from "../fees/claims/claims_worker.ts";
import { type FeeContext, isPassing } from "../fees/fee_context.ts";
import { claimStates } from "../ledger/deliveries.ts";
import type { ClaimPair, DeliveryRow } from "../ledger/ledger.ts";
import { settleAll } from "../relay/settle/settle_worker.ts";

/** Options of a run of claims or withdrawals. */
export interface FeeRunOptions {
  /** True to wait for heights that the hub does not know yet, and for payments that another account has to deliver. */
  readonly waits: boolean;
  /** Pause between rounds, ms. */
  readonly everyMs: number;
}

/** Rows of a table for people, the first with the names of the columns; or a sentence in one cell. */
export type ResultTable = readonly (readonly string[])[];

/** What a run has done. */
export interface RunResult {
  readonly rows: ResultTable;
  /** True when something that should have been done is left. */
  readonly hasFailed: boolean;
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
  try {
    for (let failures = 0; failures < maxFailures;) {
      signal.throwIfAborted();
      const end = await round().catch((error) => {
        if (signal.aborted || !isPassing(error)) throw error;
        log.warn("read_failed.claims", { failures: failures + 1, error });
        return "unanswered" as const;
      });
      if (end === true) return true;
      failures = end === "unanswered" ? failures + 1 : 0;
      const backoffMs = failures === 0 ? 0 : nextDelayMs(endpointBackoff, failures, random.fraction());
      await clock.sleep(Math.max(everyMs, backoffMs), signal);
    }
    return false;
  } catch (error) {
    if (signal.aborted) return true;
    throw error;
  }
}

/** Runs to completion; the result says what happened, also after an abort (the rest is in the journal). */
export async function runClaims(
  context: FeeContext,
  options: FeeRunOptions,
  signal: AbortSignal,
): Promise<RunResult> {
  const run = new ClaimRun(context, options);
  const limits = { ...options, maxFailures: options.waits ? Infinity : MAX_FAILURES };
  await repeatRounds(context, limits, () => run.once(signal), signal);
  return await run.sumUp(signal);
}

/** Columns of the table. */
const COLUMNS = ["claimed", "already claimed", "no fee", "not yet available", "failed"] as const;

class ClaimRun {
  readonly #context: FeeContext;
  readonly #options: FeeRunOptions;
  readonly #rounds: ClaimsRounds;
  readonly #notices: WaitNotices;
  readonly #startedMs: number;
  #last: readonly PairReport[] = [];

  constructor(context: FeeContext, options: FeeRunOptions) {
    this.#context = context;
    this.#options = options;
    this.#rounds = new ClaimsRounds(context);
    this.#notices = new WaitNotices(context);
    this.#startedMs = context.clock.now();
  }

  /** True when another round would find nothing. */
  async once(signal: AbortSignal): Promise<boolean> {
    const openDeliveries = await settleDeliveries(this.#context, signal);
    const report = await this.#rounds.run(signal);
    this.#last = report.pairs;
    return this.#isDone(report, openDeliveries);
  }

  #isDone({ hasChanges, underWay, pairs }: RoundReport, openDeliveries: number): boolean {
    if (hasChanges || underWay > 0 || pairs.some((each) => this.#mayProgress(each))) return false;
    if (!this.#options.waits) return true;
    const waiting = pairs.filter((each) => !this.#hasFailed(each));
    for (const { pair } of waiting) {
      const fields = { pair: routeName(pair), block: pair.newestBlock };
      this.#notices.waiting(routeName(pair), { event: "long_wait.hub_height", fields });
    }
    return waiting.length === 0 && openDeliveries === 0;
  }

  /** True when the next round may claim something of a pair. */
  #mayProgress({ pair, result }: PairReport): boolean {
    switch (result) {
      case "unreachable":
      case "backing_off":
        return !this.#options.waits && this.#rounds.failuresOf(pair) < MAX_FAILURES;
      case "not_ready":
        return this.#options.waits;
      case "idle":
        return this.#refusals(pair).some((count) => count > 0 && count < MAX_REFUSALS);
      default:
        return result !== "down" && result !== "not_configured";
    }
  }

  /** True when nothing more is expected of a pair: its chain is missing, or the hub has refused all its rows. */
  #hasFailed({ pair, result }: PairReport): boolean {
    const refusals = result === "idle" ? this.#refusals(pair) : [];
    return result === "not_configured" ||
      (refusals.length > 0 && refusals.every((count) => count >= MAX_REFUSALS));
  }

  #refusals(pair: ClaimPair): readonly number[] {
    const all = { ...pair, maxBlock: pair.newestBlock, limit: pair.count };
    return this.#context.ledger.deliveries.listUnclaimed(all).map((row) => this.#rounds.refusalsOf(row));
  }

  /** Sums up what the ledger has of this run: a row for each pair, with amounts in whole units of the fee token. */
  async sumUp(signal: AbortSignal): Promise<RunResult> {
    const { units, chains } = this.#context;
    const pairs = Map.groupBy(this.#listRows(), routeName);
    const lines: string[][] = [];
    let hasFailed = false;
    for (const [pair, all] of [...pairs].sort(([a], [b]) => a < b ? -1 : 1)) {
      const source = all[0]?.source;
      if (source === undefined) continue;
      if (!signal.aborted) await units.tryLearn(chains.get(source), signal);
      const columns = Map.groupBy(all, (row) => this.#columnOf(row, signal.aborted));
      const cells = COLUMNS.map((column) => {
        const rows = columns.get(column) ?? [];
        const fee = rows.reduce((sum, row) => sum + (row.fee ?? 0n), 0n);
        return fee > 0n ? `${rows.length} (${units.text(source, fee)})` : `${rows.length}`;
      });
      hasFailed ||= columns.has("failed");
      lines.push([pair, ...cells]);
      if (!signal.aborted) this.#logEarly(pair, columns.get("not yet available") ?? []);
    }
    const rows = lines.length === 0 ? [["No delivery waits for a claim."]] : [["pair", ...COLUMNS], ...lines];
    return { rows, hasFailed };
  }

  /** Deliveries that are not claimed, and those whose claim has ended since the start. */
  #listRows(): readonly DeliveryRow[] {
    return claimStates.flatMap((state) =>
      this.#context.ledger.deliveries.listByClaimState(state, {
        limit: 100_000,
        sinceMs: state === "unclaimed" || state === "claiming" ? 0 : this.#startedMs,
      })
    );
  }

  #columnOf(row: DeliveryRow, isAborted: boolean): typeof COLUMNS[number] {
    switch (row.claimState) {
      case "claimed":
        return row.claimHubBlock === undefined ? "already claimed" : "claimed";
      case "no_fee":
        return "no fee";
      case "lost":
      case "unclaimable":
        return "failed";
      case "claiming":
        return isAborted ? "not yet available" : "failed";
      case "unclaimed":
        return this.#rounds.refusalsOf(row) > 0 || (!isAborted && this.#isUnanswered(row))
          ? "failed"
          : "not yet available";
    }
  }

  /** True for a row of a pair whose chains, or the hub, did not answer. */
  #isUnanswered({ source, dest, isFinal }: DeliveryRow): boolean {
    const report = this.#last.find(({ pair }) => pair.source === source && pair.dest === dest);
    return isFinal &&
      (report === undefined || ["down", "unreachable", "backing_off"].includes(report.result));
  }

  /** Logs deliveries that the hub cannot verify yet; those that are not final on their own chain are left out. */
  #logEarly(pair: string, rows: readonly DeliveryRow[]): void {
    const { chains, log } = this.#context;
    const early = rows.filter(({ isFinal, source, dest }) =>
      isFinal && chains.has(source) && chains.has(dest)
    );
    if (early.length === 0) return;
    const deliveredUpTo = early.reduce(
      (newest, { block: { height } }) => height > newest ? height : newest,
      0n,
    );
    log.info("claim_failed.hub_behind", { pair, requests: early.length, deliveredUpTo });
  }
}

/** Settles deliveries that an earlier run left pending; returns the number still open. */
export async function settleDeliveries(context: FeeContext, signal: AbortSignal): Promise<number> {
  let open = 0;
  for (const [name, chain] of context.chains) {
    if (!context.isUp(name)) continue;
    const { deliveries, submissions } = context.ledger;
    const count = (): number =>
      submissions.listUnresolved(name).filter(({ kind }) => kind === "delivery").length;
    const isSettled = (): boolean =>
      count() + deliveries.listNotFinal(name, 1).length + deliveries.listFoundNotFinal(name).length === 0;
    if (!context.isSettledElsewhere && !isSettled()) {
      await settleAll({ ...context, target: chain, signal }).catch((error) => {
        if (signal.aborted || !isPassing(error)) throw error;
        context.log.debug("read_failed.past_deliveries", { chain: name, error });
      });
    }
    open += count();
  }
  return open;
}
