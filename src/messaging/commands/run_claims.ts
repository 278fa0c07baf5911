/**
 * Claims fees until nothing claimable is left, or with `--wait` until nothing is left to wait for. Uses the same rounds
 * as the running relayer; what an earlier run left in the journal is settled first.
 */
import { RpcFault } from "../../core/rpc/call.ts";
import { endpointBackoff, nextDelayMs } from "../../core/runtime/retry.ts";
import type { WaitNotices } from "../../core/runtime/waiting.ts";
import { routeName } from "../fees/claims/claim_pair.ts";
import { ClaimsRounds, type PairReport, type RoundReport } from "../fees/claims/claims_worker.ts";
import { type FeeContext } from "../fees/fee_context.ts";
import { claimStates } from "../ledger/deliveries.ts";
import type { ClaimPair, DeliveryRow } from "../ledger/ledger.ts";
import { confirmForeignReceipts } from "../relay/settle/receipt_checks.ts";
import { settleAll } from "../relay/settle/settle_worker.ts";

/** A run of claims, withdrawals or both. */
export interface FeeRun extends FeeContext {
  /** True to wait for heights that the hub does not know yet, and for payments that another account has to deliver. */
  readonly waits: boolean;
  /** Pause between rounds, ms. */
  readonly everyMs: number;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly notices: WaitNotices;
}

/** What a run has done. */
export interface RunResult<Row> {
  readonly rows: readonly Row[];
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
  { clock, random, log, everyMs }: FeeRun,
  maxFailures: number,
  round: () => Promise<boolean | "unanswered">,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    for (let failures = 0; failures < maxFailures;) {
      signal.throwIfAborted();
      const end = await round().catch((error) => {
        if (signal.aborted || !(error instanceof RpcFault)) throw error;
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
export async function runClaims(run: FeeRun, signal: AbortSignal): Promise<RunResult<ClaimLine>> {
  const claims = new ClaimRun(run);
  await repeatRounds(run, run.waits ? Infinity : MAX_FAILURES, () => claims.once(signal), signal);
  return await claims.sumUp(signal);
}

/** State of a delivery: a column of the table. */
type Column = "claimed" | "alreadyClaimed" | "noFee" | "notYetAvailable" | "failed";

/** A pair of chains with its deliveries by state, and their fees in whole units of the fee token: `2 (1.5)`. */
type ClaimLine = Readonly<Record<"pair" | Column, string>>;

class ClaimRun {
  readonly #run: FeeRun;
  readonly #rounds: ClaimsRounds;
  #last: readonly PairReport[] = [];

  constructor(run: FeeRun) {
    this.#run = run;
    this.#rounds = new ClaimsRounds(run);
  }

  /** True when another round would find nothing. */
  async once(signal: AbortSignal): Promise<boolean> {
    const openDeliveries = await settleDeliveries(this.#run, signal);
    const report = await this.#rounds.run(signal);
    this.#last = report.pairs;
    return this.#isDone(report, openDeliveries);
  }

  #isDone({ hasChanges, underWay, pairs }: RoundReport, openDeliveries: number): boolean {
    if (hasChanges || underWay > 0 || pairs.some((each) => this.#mayProgress(each))) return false;
    if (!this.#run.waits) return true;
    const waiting = pairs.filter((each) => !this.#hasFailed(each));
    for (const { pair } of waiting) {
      const fields = { pair: routeName(pair), block: pair.newestBlock };
      this.#run.notices.waiting(routeName(pair), { event: "long_wait.hub_height", fields });
    }
    return waiting.length === 0 && openDeliveries === 0;
  }

  /** True when the next round may claim something of a pair. */
  #mayProgress({ pair, result }: PairReport): boolean {
    switch (result) {
      case "unreachable":
      case "backing_off":
        return !this.#run.waits && this.#rounds.failuresOf(pair) < MAX_FAILURES;
      case "not_ready":
        return this.#run.waits;
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
    return this.#run.ledger.deliveries.listUnclaimed(all).map((row) => this.#rounds.refusalsOf(row));
  }

  /** Sums up what the ledger has of this run: a row for each pair. */
  async sumUp(signal: AbortSignal): Promise<RunResult<ClaimLine>> {
    const pairs = Map.groupBy(this.#listRows(), routeName);
    const rows: ClaimLine[] = [];
    let hasFailed = false;
    for (const [pair, all] of [...pairs].sort(([a], [b]) => a < b ? -1 : 1)) {
      const columns = Map.groupBy(all, (row) => this.#columnOf(row, signal.aborted));
      if (!signal.aborted) {
        await this.#run.units.tryLearn(all[0] && this.#run.chains.get(all[0].source), signal);
        this.#logEarly(pair, columns.get("notYetAvailable") ?? []);
      }
      const textOf = (column: Column): string => this.#textOf(columns.get(column) ?? []);
      rows.push({
        pair,
        claimed: textOf("claimed"),
        alreadyClaimed: textOf("alreadyClaimed"),
        noFee: textOf("noFee"),
        notYetAvailable: textOf("notYetAvailable"),
        failed: textOf("failed"),
      });
      hasFailed ||= columns.has("failed");
    }
    return { rows, hasFailed };
  }

  #textOf(rows: readonly DeliveryRow[]): string {
    const fee = rows.reduce((sum, row) => sum + (row.fee ?? 0n), 0n);
    const [first] = rows;
    return first === undefined || fee === 0n
      ? `${rows.length}`
      : `${rows.length} (${this.#run.units.text(first.source, fee)})`;
  }

  /** Deliveries that are not claimed, and those whose claim has ended since the start. */
  #listRows(): readonly DeliveryRow[] {
    const { ledger, startedMs } = this.#run;
    return claimStates.flatMap((state) =>
      ledger.deliveries.listByClaimState(state, {
        limit: 100_000,
        sinceMs: state === "unclaimed" || state === "claiming" ? 0 : startedMs,
      })
    );
  }

  #columnOf(row: DeliveryRow, isAborted: boolean): Column {
    switch (row.claimState) {
      case "claimed":
        return row.claimHubBlock === undefined ? "alreadyClaimed" : "claimed";
      case "no_fee":
        return "noFee";
      case "lost":
      case "unclaimable":
        return "failed";
      case "claiming":
        return isAborted ? "notYetAvailable" : "failed";
      case "unclaimed":
        return this.#rounds.refusalsOf(row) > 0 || (!isAborted && this.#isUnanswered(row))
          ? "failed"
          : "notYetAvailable";
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
    const { chains, log } = this.#run;
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
    if (!context.isSettledElsewhere) {
      const settling = { ...context, target: chain, signal };
      const settled = isSettled() ? Promise.resolve() : settleAll(settling);
      await settled.then(() => confirmForeignReceipts(settling)).catch((error) => {
        if (signal.aborted || !(error instanceof RpcFault)) throw error;
        context.log.debug("read_failed.past_deliveries", { chain: name, error });
      });
    }
    open += count();
  }
  return open;
}
