/**
 * Work of `accumulate-fees`, with the connections of the running relayer or of the command. Fees are claimed until
 * nothing claimable is left, or with `--wait` until nothing is left to wait for, in the same rounds as those of the running
 * relayer; what an earlier run left in the journal is settled first.
 * Source: docs/specification.md, "Messaging relayer command line"; docs/protocol/messaging.md section 15.
 */
import { onFault } from "../../core/rpc/call.ts";
import { exitCodes } from "../../core/runtime/exit_codes.ts";
import { endpointBackoff, nextDelayMs } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { HubConfig } from "../config/schema.ts";
import { routeName } from "../fees/claims/claim_pair.ts";
import { ClaimsRounds, type PairReport } from "../fees/claims/claims_worker.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import { judgePayment } from "../fees/withdrawals/withdrawal_orders.ts";
import { type OrderReport, WithdrawalRounds } from "../fees/withdrawals/withdrawal_worker.ts";
import { claimStates } from "../ledger/deliveries.ts";
import { type DeliveryRow, isTerminal, type WithdrawalRow } from "../ledger/ledger.ts";
import { confirmForeignReceipts } from "../relay/settle/receipt_checks.ts";
import { settleAll } from "../relay/settle/settle_worker.ts";

/** Options of the command. */
export interface AccumulateOptions {
  /** Waits for heights that the hub does not know yet, instead of skipping the claims that need them. */
  readonly wait?: boolean;
  /** Withdraws fees; without `wait` nothing is claimed first. */
  readonly withdraw?: boolean;
}

/** A run of claims, withdrawals or both. */
interface FeeRun extends FeeContext {
  /** True to wait for heights that the hub does not know yet, and for payments that another account has to deliver. */
  readonly waits: boolean;
  /** Pause between rounds, ms. */
  readonly everyMs: number;
  /** Unix milliseconds. */
  readonly startedMs: number;
  readonly notices: WaitNotices;
  readonly signal: AbortSignal;
}

/** What a run has done. */
interface RunResult {
  /** Lines of a table; amounts in whole units of the fee token. */
  readonly rows: readonly Readonly<Record<string, string>>[];
  /** True when something that should have been done is left. */
  readonly hasFailed: boolean;
}

/** Maximum poll interval, seconds: an operator is waiting. */
const MAX_PAUSE_SEC = 6;

/** Claims, withdraws, or both; what was not to be done has no rows. */
export const claimAndWithdraw = async (
  context: FeeContext,
  { wait = false, withdraw = false, pollIntervalSec }: AccumulateOptions & Pick<HubConfig, "pollIntervalSec">,
  signal: AbortSignal,
) => {
  const run: FeeRun = {
    ...context,
    waits: wait,
    everyMs: Math.min(pollIntervalSec, MAX_PAUSE_SEC) * 1_000,
    startedMs: context.clock.now(),
    notices: new WaitNotices(context),
    signal,
  };
  const claims = withdraw && !wait ? undefined : await new ClaimRun(run).run();
  const withdrawals = withdraw && !signal.aborted ? await new WithdrawalRun(run).run() : undefined;
  if (signal.aborted) context.log.info("program_stopped");
  const hasFailed = !signal.aborted && [claims, withdrawals].some((each) => each?.hasFailed);
  return {
    claims: claims?.rows,
    withdrawals: withdrawals?.rows,
    exitCode: hasFailed ? exitCodes.failed : exitCodes.ok,
  };
};

/** Maximum number of times that the hub or a chain may fail to answer in a row before it counts as failed. */
const MAX_FAILURES = 5;

/** Maximum number of times that the hub may refuse a row before it counts as failed. */
const MAX_REFUSALS = 3;

/**
 * Repeats rounds until one has nothing left to do, or the signal is aborted; false: too many in a row had no answer. Faults
 * of the hub count as none. @param round true: nothing is left
 */
async function repeatRounds(
  { clock, random, log, everyMs, signal }: FeeRun,
  maxFailures: number,
  round: () => Promise<boolean | "unanswered">,
): Promise<boolean> {
  try {
    for (let failures = 0; failures < maxFailures;) {
      signal.throwIfAborted();
      const end = await round().catch(onFault((error) => {
        if (signal.aborted) throw error;
        log.warn("read_failed.claims", { failures: failures + 1, error });
        return "unanswered" as const;
      }));
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

/** State of a delivery: a column of the table. */
const columns = ["claimed", "alreadyClaimed", "noFee", "notYetAvailable", "failed"] as const;

class ClaimRun {
  readonly #run: FeeRun;
  readonly #rounds: ClaimsRounds;
  #last: readonly PairReport[] = [];

  constructor(run: FeeRun) {
    this.#run = run;
    this.#rounds = new ClaimsRounds(run);
  }

  /** Runs to completion; the result says what happened, also after an abort (the rest is in the journal). */
  async run(): Promise<RunResult> {
    const maxFailures = this.#run.waits ? Infinity : MAX_FAILURES;
    await repeatRounds(this.#run, maxFailures, () => this.#once());
    return await this.#sumUp();
  }

  /** True when another round would find nothing. */
  async #once(): Promise<boolean> {
    const openDeliveries = await settleDeliveries(this.#run);
    const { hasChanges, underWay, pairs } = await this.#rounds.run(this.#run.signal);
    this.#last = pairs;
    const outlooks = Map.groupBy(pairs, (report) => this.#outlookOf(report));
    if (hasChanges || underWay > 0 || outlooks.has("now")) return false;
    const { waits, notices } = this.#run;
    const later = outlooks.get("later") ?? [];
    if (!waits) return true;
    for (const { pair } of later) {
      const fields = { pair: routeName(pair), block: pair.newestBlock };
      notices.waiting(routeName(pair), { event: "long_wait.hub_height", fields });
    }
    return later.length === 0 && openDeliveries === 0;
  }

  /** When something of a pair may be claimed. */
  #outlookOf({ pair, result }: PairReport): "now" | "later" | "never" {
    switch (result) {
      case "not_configured":
        return "never";
      case "unreachable":
      case "backing_off":
        return this.#rounds.failuresOf(pair) < MAX_FAILURES ? "now" : "later";
      case "idle": {
        const all = { ...pair, maxBlock: pair.newestBlock, limit: pair.count };
        const refusals = this.#run.ledger.deliveries.listUnclaimed(all)
          .map((row) => this.#rounds.refusalsOf(row));
        if (refusals.some((count) => count > 0 && count < MAX_REFUSALS)) return "now";
        return refusals.includes(0) || refusals.length === 0 ? "later" : "never";
      }
      case "down":
      case "not_ready":
        return "later";
      default:
        return "now";
    }
  }

  /** Sums up what the ledger has of this run: a row for each pair. */
  async #sumUp(): Promise<RunResult> {
    const pairs = Map.groupBy(this.#listRows(), routeName);
    const rows = [];
    let hasFailed = false;
    for (const [pair, all] of [...pairs].sort(([a], [b]) => a < b ? -1 : 1)) {
      const found = Map.groupBy(all, (row) => this.#columnOf(row));
      if (!this.#run.signal.aborted) {
        await this.#run.units.tryLearn(all[0] && this.#run.chains.get(all[0].source), this.#run.signal);
        this.#logEarly(pair, found.get("notYetAvailable") ?? []);
      }
      const cells = columns.map((column) => [column, this.#textOf(found.get(column) ?? [])]);
      rows.push({ pair, ...Object.fromEntries(cells) });
      hasFailed ||= found.has("failed");
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

  #columnOf(row: DeliveryRow): typeof columns[number] {
    switch (row.claimState) {
      case "claimed":
        return row.claimHubBlock === undefined ? "alreadyClaimed" : "claimed";
      case "no_fee":
        return "noFee";
      case "lost":
      case "unclaimable":
        return "failed";
      case "claiming":
        return this.#run.signal.aborted ? "notYetAvailable" : "failed";
      case "unclaimed":
        return this.#rounds.refusalsOf(row) > 0 || (!this.#run.signal.aborted && this.#isUnanswered(row))
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
async function settleDeliveries(context: FeeRun): Promise<number> {
  const { signal } = context;
  const chains = [...context.chains].filter(([name]) => context.isUp(name));
  for (const [chain, target] of context.isSettledElsewhere ? [] : chains) {
    const settling = { ...context, target };
    await settleAll(settling).then(() => confirmForeignReceipts(settling)).catch(onFault((error) => {
      if (signal.aborted) throw error;
      context.log.debug("read_failed.past_deliveries", { chain, error });
    }));
  }
  return chains.flatMap(([name]) => context.ledger.submissions.listUnresolved(name))
    .filter(({ kind }) => kind === "delivery").length;
}

/** Time without progress of a withdrawal after which it is left to the running relayer, ms. */
const PATIENCE_MS = 15 * 60_000;

/** Progress of a withdrawal. `open`: it is awaited; `left`: others continue it. */
interface Standing {
  readonly kind: "paid" | "left" | "open" | "failed";
  readonly text: string;
}

/** Texts for dispatched payments that this command leaves to others. */
const PROSPECTS = {
  gated: "waits for the network's relayer",
  later: "waits for the running relayer",
  refused: "refused, and tried again by the running relayer",
} as const;

class WithdrawalRun {
  readonly #run: FeeRun;
  readonly #rounds: WithdrawalRounds;
  #orders: readonly OrderReport[] | undefined;

  constructor(run: FeeRun) {
    this.#run = run;
    this.#rounds = new WithdrawalRounds(run);
    this.#wakePayments();
  }

  /** Makes payments due that wait for another attempt: the operator asks for it now. */
  #wakePayments(): void {
    const { ledger, legTo, chains } = this.#run;
    ledger.transaction(() => {
      for (const { chain, dispatch } of ledger.withdrawals.listOpen()) {
        const message = dispatch && ledger.messages.find(dispatch.commitment, chain);
        if (message?.state !== "held" || !chains.has(chain)) continue;
        ledger.messages.makeDue(message);
        legTo(chain).wake.wake();
      }
    });
  }

  /** Runs until every payment is on its chain, or cannot be delivered now; an abort ends it with everything recorded. */
  async run(): Promise<RunResult> {
    const isAnswered = await repeatRounds(this.#run, MAX_FAILURES, () => this.#once());
    return this.#sumUp(isAnswered);
  }

  /** True when nothing is left to do. */
  async #once(): Promise<boolean | "unanswered"> {
    await settleDeliveries(this.#run);
    await this.#rounds.advance(this.#run.signal);
    if (this.#isOrderOpen()) this.#orders = await this.#rounds.orderNow(this.#run.signal);
    const awaited = this.#touched().filter((row) => this.#judge(row).kind === "open");
    for (const { chain, id, state } of awaited) {
      this.#run.notices.waiting(`${id}`, {
        event: "long_wait.withdrawals",
        fields: { chain, withdrawal: id, state },
      });
    }
    if (this.#orders?.some(({ results }) => results === "unreachable")) return "unanswered";
    return !this.#isOrderOpen() && awaited.length === 0;
  }

  /** True when an account could not be read, or its nonce was in use. */
  #isOrderOpen(): boolean {
    return this.#orders?.some(({ results }) => results === "unreachable" || results.includes("busy")) ?? true;
  }

  /** Lists the withdrawals that were open at the start, or are newer, oldest first. */
  #touched(): readonly WithdrawalRow[] {
    const { chains, ledger } = this.#run;
    const isTouched = ({ state, updatedAtMs, chain }: WithdrawalRow): boolean =>
      chains.has(chain) && (updatedAtMs >= this.#run.startedMs || (state !== "done" && state !== "void"));
    return ledger.withdrawals.listRecent(10_000).filter(isTouched).toReversed();
  }

  #judge(row: WithdrawalRow): Standing {
    const { ledger, clock, waits } = this.#run;
    const message = row.dispatch && ledger.messages.find(row.dispatch.commitment, row.chain);
    // The block may not be final: the running relayer monitors that.
    const isDelivered = message?.state === "delivered" || message?.state === "delivered_by_other";
    if (row.state === "done" || isDelivered) return { kind: "paid", text: "paid out" };
    if (row.state === "void") {
      return { kind: "failed", text: `not paid: ${row.detail ?? "the hub refused it"}` };
    }
    const why = [message?.reason, message?.detail].filter((part) => part !== undefined).join(": ");
    if (message !== undefined && isTerminal(message.state)) {
      return { kind: "failed", text: `dispatched, but its message is ${message.state} (${why})` };
    }
    if (this.#rounds.failuresOf(row) >= MAX_FAILURES) {
      return { kind: "failed", text: `${row.state}, but the chain or the hub does not answer` };
    }
    const isDue = message === undefined || message.nextAttemptAtMs <= clock.now();
    const prospect = isDue ? "soon" : judgePayment(message);
    if (prospect !== "soon") {
      const kind = prospect === "refused" ? "failed" : prospect === "gated" && waits ? "open" : "left";
      return { kind, text: `dispatched, ${PROSPECTS[prospect]} (${why})` };
    }
    const movedMs = Math.max(this.#run.startedMs, row.updatedAtMs, message?.updatedAtMs ?? 0);
    return waits || clock.now() - movedMs < PATIENCE_MS
      ? { kind: "open", text: `${row.state}, under way` }
      : {
        kind: "left",
        text: `${row.state}, without progress for 15 minutes: the running relayer continues`,
      };
  }

  /** Describes each withdrawal, and each chain on which none could be requested. */
  #sumUp(isAnswered: boolean): RunResult {
    const standings = this.#touched().map((row) => ({ ...row, ...this.#judge(row) }));
    const lines = standings.map(({ chain, amount, text }) => ({
      chain,
      amount: this.#run.units.text(chain, amount),
      withdrawal: text,
    }));
    const unpaid = (this.#orders ?? []).flatMap(({ chain, results }) =>
      results === "unreachable"
        ? [{ chain, withdrawal: "not requested: the chain or the hub does not answer" }]
        : results.filter((result) => result === "refused")
          .map(() => ({ chain, withdrawal: "not requested: the hub refuses it" }))
    );
    const isSilent = !isAnswered && unpaid.length === 0;
    return {
      rows: [
        ...lines,
        ...unpaid,
        ...isSilent ? [{ chain: "hub", withdrawal: "the hub does not answer" }] : [],
      ],
      hasFailed: isSilent || unpaid.length > 0 || standings.some(({ kind }) => kind === "failed"),
    };
  }
}
