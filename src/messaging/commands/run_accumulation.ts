/**
 * Work of `accumulate-fees`, with the connections of the running relayer or of the command.
 * Source: docs/specification.md, "Messaging relayer command line"; docs/protocol/messaging.md section 15.
 */
import { type ExitCode, exitCodes } from "../../core/runtime/exit_codes.ts";
import type { Log } from "../../core/telemetry/log.ts";
import {
  type ClaimRunOptions,
  type ClaimSummary,
  MAX_FAILURES,
  repeatRounds,
  runClaims,
  settleDeliveries,
  summaryColumns,
} from "./run_claims.ts";
import type { HubConfig } from "../config/schema.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import { formatTable } from "../../core/runtime/text_table.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import { judgePayment } from "../fees/withdrawals/withdrawal_orders.ts";
import { type OrderReport, WithdrawalRounds } from "../fees/withdrawals/withdrawal_worker.ts";
import { isTerminal, type WithdrawalRow } from "../ledger/ledger.ts";

/** Options of the command. */
export interface AccumulateOptions {
  /** Waits for heights that the hub does not know yet, instead of skipping the claims that need them. */
  readonly waits: boolean;
  /** Withdraws fees; without `waits` nothing is claimed first. */
  readonly withdraws: boolean;
}

/** What was done: tables for people, and the exit status. */
export interface Accumulated {
  readonly text: string;
  readonly exitCode: ExitCode;
}

/** Claims, withdraws, or both. */
export async function claimAndWithdraw(
  context: FeeContext,
  { waits, withdraws, pollIntervalSec }: AccumulateOptions & Pick<HubConfig, "pollIntervalSec">,
  signal: AbortSignal,
): Promise<Accumulated> {
  const options = { waits, everyMs: Math.min(pollIntervalSec, MAX_PAUSE_SEC) * 1000 };
  const claims = withdraws && !waits ? undefined : await runClaims(context, options, signal);
  if (claims !== undefined) logClaims(context.log, claims);
  const withdrawals = withdraws && !signal.aborted
    ? await runWithdrawals(context, options, signal)
    : undefined;
  if (withdrawals !== undefined) logWithdrawals(context.log, withdrawals);
  const text = [claims?.render((chain, amount) => context.units.text(chain, amount)), withdrawals?.text]
    .filter((part) => part !== undefined).join("\n");
  if (signal.aborted) {
    context.log.info("program_stopped");
    return { text, exitCode: exitCodes.ok };
  }
  const hasFailed = (claims?.hasFailures ?? false) || (withdrawals?.failed ?? 0) > 0;
  return { text, exitCode: hasFailed ? exitCodes.failed : exitCodes.ok };
}

/** Maximum poll interval, seconds: an operator is waiting. */
const MAX_PAUSE_SEC = 6;

function logClaims(log: Log, summary: ClaimSummary): void {
  const totals = Object.fromEntries(summaryColumns.map((column) => [column, summary.total(column)]));
  log.info("accumulation_finished.claims", totals);
}

function logWithdrawals(log: Log, { paid, gated, open, failed }: WithdrawalRun): void {
  log.info("accumulation_finished.withdrawals", { paid, gated, underWay: open, failed });
}

/** Result of the pass. */
interface WithdrawalRun {
  /** Number of payments that reached their chain. */
  readonly paid: number;
  /** Payments that the hub has dispatched and another account delivers. */
  readonly gated: number;
  /** Other payments still open; the running relayer continues with them. */
  readonly open: number;
  /** Requests that the hub refused, payments that could not be delivered, chains that did not answer. */
  readonly failed: number;
  /** Table for people: each withdrawal, and each chain on which none could be requested. */
  readonly text: string;
}

/** Time without progress of a withdrawal after which it is left to the running relayer, ms. */
const PATIENCE_MS = 15 * 60_000;

/** Runs until every payment is on its chain, or cannot be delivered now; an abort ends it with everything recorded. */
async function runWithdrawals(
  context: FeeContext,
  options: ClaimRunOptions,
  signal: AbortSignal,
): Promise<WithdrawalRun> {
  const pass = new WithdrawalPass(context, options);
  const limits = { ...options, maxFailures: MAX_FAILURES };
  const isAnswered = await repeatRounds(context, limits, () => pass.once(signal), signal);
  return pass.result(isAnswered, signal.aborted);
}

/** Progress of a withdrawal. `open`: it is awaited. */
interface Standing {
  readonly kind: "paid" | "gated" | "later" | "open" | "failed";
  readonly text: string;
}

/** Texts for dispatched payments that this command leaves to others. */
const PROSPECTS = {
  gated: "waits for the network's relayer",
  later: "waits for the running relayer",
  refused: "refused, and tried again by the running relayer",
} as const;

class WithdrawalPass {
  readonly #context: FeeContext;
  readonly #options: ClaimRunOptions;
  readonly #rounds: WithdrawalRounds;
  readonly #notices: WaitNotices;
  readonly #before: ReadonlySet<number>;
  readonly #startedMs: number;
  #orders: readonly OrderReport[] | undefined;

  constructor(context: FeeContext, options: ClaimRunOptions) {
    this.#context = context;
    this.#options = options;
    this.#rounds = new WithdrawalRounds(context);
    this.#notices = new WaitNotices(context);
    this.#startedMs = context.clock.now();
    this.#before = new Set(
      this.#list().filter(({ state }) => state === "done" || state === "void").map(({ id }) => id),
    );
    this.#wakePayments();
  }

  /** Makes payments due that wait for another attempt: the operator asks for it now. */
  #wakePayments(): void {
    const { ledger, legTo, chains } = this.#context;
    ledger.transaction(() => {
      for (const { chain, dispatch } of ledger.withdrawals.listOpen()) {
        const message = dispatch && ledger.messages.find(dispatch.commitment, chain);
        if (message?.state !== "held" || !chains.has(chain)) continue;
        ledger.messages.makeDue(message);
        legTo(chain).wake.wake();
      }
    });
  }

  /** True when nothing is left to do. */
  async once(signal: AbortSignal): Promise<boolean | "unanswered"> {
    await settleDeliveries(this.#context, signal);
    await this.#rounds.advance(signal);
    if (this.#orders === undefined || this.#isOrderOpen()) {
      this.#orders = await this.#rounds.orderNow(signal);
    }
    const awaited = this.#touched().filter((row) => this.#isAwaited(row));
    for (const { chain, id, state } of awaited) {
      this.#notices.waiting(`${id}`, {
        event: "long_wait.withdrawals",
        fields: { chain, withdrawal: id, state },
      });
    }
    if (this.#orders.some(({ results }) => results === "unreachable")) return "unanswered";
    return !this.#isOrderOpen() && awaited.length === 0;
  }

  /** True when an account could not be read, or its nonce was in use. */
  #isOrderOpen(): boolean {
    return this.#orders?.some(({ results }) => results === "unreachable" || results.includes("busy")) ?? true;
  }

  /** Lists the withdrawals of this pass, oldest first. */
  #touched(): readonly WithdrawalRow[] {
    const { chains } = this.#context;
    return this.#list().filter(({ id, chain }) => !this.#before.has(id) && chains.has(chain)).toReversed();
  }

  #list(): readonly WithdrawalRow[] {
    return this.#context.ledger.withdrawals.listRecent(10_000);
  }

  #isAwaited(row: WithdrawalRow): boolean {
    const { kind } = this.#judge(row);
    return kind === "open" || (kind === "gated" && this.#options.waits);
  }

  #judge(row: WithdrawalRow): Standing {
    const { ledger } = this.#context;
    if (row.state === "done") return { kind: "paid", text: "paid out" };
    if (row.state === "void") {
      return { kind: "failed", text: `not paid: ${row.detail ?? "the hub refused it"}` };
    }
    const message = row.dispatch && ledger.messages.find(row.dispatch.commitment, row.chain);
    // The block may not be final: the running relayer monitors that.
    if (message?.state === "delivered" || message?.state === "delivered_by_other") {
      return { kind: "paid", text: "paid out" };
    }
    const why = [message?.reason, message?.detail].filter((part) => part !== undefined).join(": ");
    if (message !== undefined && isTerminal(message.state)) {
      return { kind: "failed", text: `dispatched, but its message is ${message.state} (${why})` };
    }
    if (this.#rounds.failuresOf(row) >= MAX_FAILURES) {
      return { kind: "failed", text: `${row.state}, but the chain or the hub does not answer` };
    }
    const isDue = message === undefined || message.nextAttemptAtMs <= this.#context.clock.now();
    const prospect = isDue ? "soon" : judgePayment(message);
    if (prospect === "soon") {
      const movedMs = Math.max(this.#startedMs, row.updatedAtMs, message?.updatedAtMs ?? 0);
      const isLate = !this.#options.waits && this.#context.clock.now() - movedMs >= PATIENCE_MS;
      if (!isLate) return { kind: "open", text: `${row.state}, under way` };
      return {
        kind: "later",
        text: `${row.state}, without progress for 15 minutes: the running relayer continues`,
      };
    }
    const kind = prospect === "refused" ? "failed" : prospect;
    return { kind, text: `dispatched, ${PROSPECTS[prospect]} (${why})` };
  }

  /** Counts the outcomes of the rows, and describes them. */
  result(isAnswered: boolean, isAborted: boolean): WithdrawalRun {
    const rows = this.#touched().map((row) => ({ row, standing: this.#judge(row) }));
    const count = (kind: Standing["kind"]): number =>
      rows.filter(({ standing }) => standing.kind === kind).length;
    const problems = (this.#orders ?? []).flatMap(({ chain, results }): string[][] =>
      results === "unreachable"
        ? [[chain, "", "not requested: the chain or the hub does not answer"]]
        : results.filter((result) => result === "refused").map(
          () => [chain, "", "not requested: the hub refuses it"],
        )
    );
    if (!(isAnswered && this.#orders !== undefined) && problems.length === 0 && !isAborted) {
      problems.push(["hub", "", "the hub does not answer"]);
    }
    const lines = rows.map(({ row: { chain, amount }, standing }) => [
      chain,
      this.#context.units.text(chain, amount),
      standing.text,
    ]);
    return {
      paid: count("paid"),
      gated: count("gated"),
      open: count("open") + count("later"),
      failed: count("failed") + problems.length,
      text: lines.length + problems.length === 0
        ? "Nothing to withdraw: no account has the minimum."
        : formatTable([["chain", "amount", "withdrawal"], ...lines, ...problems]),
    };
  }
}
