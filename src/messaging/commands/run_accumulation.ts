/**
 * Work of `accumulate-fees`, with the connections of the running relayer or of the command.
 * Source: docs/specification.md, "Messaging relayer command line"; docs/protocol/messaging.md section 15.
 */
import { exitCodes } from "../../core/runtime/exit_codes.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import type { HubConfig } from "../config/schema.ts";
import type { FeeContext } from "../fees/fee_context.ts";
import { judgePayment } from "../fees/withdrawals/withdrawal_orders.ts";
import { type OrderReport, WithdrawalRounds } from "../fees/withdrawals/withdrawal_worker.ts";
import { isTerminal, type WithdrawalRow } from "../ledger/ledger.ts";
import {
  type FeeRun,
  MAX_FAILURES,
  repeatRounds,
  runClaims,
  type RunResult,
  settleDeliveries,
} from "./run_claims.ts";

/** Options of the command. */
export interface AccumulateOptions {
  /** Waits for heights that the hub does not know yet, instead of skipping the claims that need them. */
  readonly wait?: boolean;
  /** Withdraws fees; without `wait` nothing is claimed first. */
  readonly withdraw?: boolean;
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
  };
  const claims = withdraw && !wait ? undefined : await runClaims(run, signal);
  const withdrawals = withdraw && !signal.aborted ? await runWithdrawals(run, signal) : undefined;
  if (signal.aborted) context.log.info("program_stopped");
  const hasFailed = !signal.aborted && [claims, withdrawals].some((each) => each?.hasFailed);
  return {
    claims: claims?.rows,
    withdrawals: withdrawals?.rows,
    exitCode: hasFailed ? exitCodes.failed : exitCodes.ok,
  };
};

/** Time without progress of a withdrawal after which it is left to the running relayer, ms. */
const PATIENCE_MS = 15 * 60_000;

/** A withdrawal, or a chain on which none could be requested; amounts in whole units of the fee token. */
interface WithdrawalLine {
  readonly chain: string;
  readonly amount?: string;
  readonly withdrawal: string;
}

/** Runs until every payment is on its chain, or cannot be delivered now; an abort ends it with everything recorded. */
async function runWithdrawals(run: FeeRun, signal: AbortSignal): Promise<RunResult<WithdrawalLine>> {
  const pass = new WithdrawalPass(run);
  const isAnswered = await repeatRounds(run, MAX_FAILURES, () => pass.once(signal), signal);
  return pass.sumUp(isAnswered, signal.aborted);
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

  /** True when nothing is left to do. */
  async once(signal: AbortSignal): Promise<boolean | "unanswered"> {
    await settleDeliveries(this.#run, signal);
    await this.#rounds.advance(signal);
    if (this.#orders === undefined || this.#isOrderOpen()) {
      this.#orders = await this.#rounds.orderNow(signal);
    }
    const awaited = this.#touched().filter((row) => this.#isAwaited(row));
    for (const { chain, id, state } of awaited) {
      this.#run.notices.waiting(`${id}`, {
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

  /** Lists the withdrawals that were open at the start, or are newer, oldest first. */
  #touched(): readonly WithdrawalRow[] {
    const { chains, ledger } = this.#run;
    const isTouched = ({ state, updatedAtMs, chain }: WithdrawalRow): boolean =>
      chains.has(chain) && (updatedAtMs >= this.#run.startedMs || (state !== "done" && state !== "void"));
    return ledger.withdrawals.listRecent(10_000).filter(isTouched).toReversed();
  }

  #isAwaited(row: WithdrawalRow): boolean {
    const { kind } = this.#judge(row);
    return kind === "open" || (kind === "gated" && this.#run.waits);
  }

  #judge(row: WithdrawalRow): Standing {
    const { ledger, clock } = this.#run;
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
      const kind = prospect === "refused" ? "failed" : prospect;
      return { kind, text: `dispatched, ${PROSPECTS[prospect]} (${why})` };
    }
    const movedMs = Math.max(this.#run.startedMs, row.updatedAtMs, message?.updatedAtMs ?? 0);
    return this.#run.waits || clock.now() - movedMs < PATIENCE_MS
      ? { kind: "open", text: `${row.state}, under way` }
      : {
        kind: "later",
        text: `${row.state}, without progress for 15 minutes: the running relayer continues`,
      };
  }

  /** Describes each withdrawal, and each chain on which none could be requested. */
  sumUp(isAnswered: boolean, isAborted: boolean): RunResult<WithdrawalLine> {
    const standings = this.#touched().map((row) => ({ row, standing: this.#judge(row) }));
    const problems = (this.#orders ?? []).flatMap(({ chain, results }): readonly WithdrawalLine[] =>
      results === "unreachable"
        ? [{ chain, withdrawal: "not requested: the chain or the hub does not answer" }]
        : results.filter((result) => result === "refused")
          .map(() => ({ chain, withdrawal: "not requested: the hub refuses it" }))
    );
    if (!(isAnswered && this.#orders !== undefined) && problems.length === 0 && !isAborted) {
      problems.push({ chain: "hub", withdrawal: "the hub does not answer" });
    }
    const lines = standings.map(({ row: { chain, amount }, standing }) => ({
      chain,
      amount: this.#run.units.text(chain, amount),
      withdrawal: standing.text,
    }));
    return {
      rows: [...lines, ...problems],
      hasFailed: problems.length > 0 || standings.some(({ standing }) => standing.kind === "failed"),
    };
  }
}
