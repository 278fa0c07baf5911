/** One pass of withdrawals: requests everything above the minimum, then follows every open payment to its delivery. */
import { nextDelayMs, transientBackoff } from "../../core/runtime/retry.ts";
import { WaitNotices } from "../../core/runtime/waiting.ts";
import { settleDeliveries } from "./run_claims.ts";
import { type FeeContext, isPassing } from "../fees/fee_context.ts";
import { ATTEMPTS_PER_ROUND } from "../fees/withdrawals/withdrawal_step.ts";
import { type OrderReport, WithdrawalRounds } from "../fees/withdrawals/withdrawal_worker.ts";

/** Result of the pass. */
export interface WithdrawalRun {
  /** Number of payments that reached their chain. */
  readonly paid: number;
  /** Payments still open when the run was aborted; the running relayer continues with them. */
  readonly open: number;
  /** Requests that the hub refused, payments that could not be delivered, chains that did not answer. */
  readonly failed: number;
}

/** Maximum number of times the hub or a chain may fail to answer before the run gives up. */
const MAX_FAILURES = 5;

/** Runs until every payment is on its chain or has failed three times; an abort ends it with everything recorded. */
export async function runWithdrawals(
  context: FeeContext,
  everyMs: number,
  signal: AbortSignal,
): Promise<WithdrawalRun> {
  const run = new WithdrawalPass(context, everyMs);
  try {
    await run.repeat(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return run.result();
}

class WithdrawalPass {
  readonly #context: FeeContext;
  readonly #everyMs: number;
  readonly #rounds: WithdrawalRounds;
  readonly #notices: WaitNotices;
  readonly #before: ReadonlySet<number>;
  readonly #attemptsBefore: ReadonlyMap<number, number>;
  /** Payments that wait for a lower gas price: the running relayer delivers them later. */
  readonly #tooDear = new Set<number>();
  #orders: readonly OrderReport[] | undefined;
  #failures = 0;

  constructor(context: FeeContext, everyMs: number) {
    this.#context = context;
    this.#everyMs = everyMs;
    this.#rounds = new WithdrawalRounds(context);
    this.#notices = new WaitNotices(context);
    const { withdrawals } = context.ledger;
    const isOver = new Set(["done", "void"]);
    this.#before = new Set(
      withdrawals.listRecent(10_000).filter(({ state }) => isOver.has(state)).map(({ id }) => id),
    );
    this.#attemptsBefore = new Map(withdrawals.listOpen().map(({ id, attempts }) => [id, attempts]));
  }

  async repeat(signal: AbortSignal): Promise<void> {
    while (!await this.#once(signal)) {
      const backoffMs = this.#failures === 0
        ? 0
        : nextDelayMs(transientBackoff, this.#failures, this.#context.random.fraction());
      await this.#context.clock.sleep(Math.max(this.#everyMs, backoffMs), signal);
    }
  }

  /** True when nothing is left to do. */
  async #once(signal: AbortSignal): Promise<boolean> {
    const context = this.#context;
    try {
      await settleDeliveries(context, signal);
      for (const { row, action } of await this.#rounds.advance(signal)) {
        if (action.kind === "report_too_dear") this.#tooDear.add(row.id);
      }
      if (this.#orders === undefined || this.#isOrderOpen()) {
        this.#orders = await this.#rounds.orderNow(signal);
      }
      const isUnanswered = this.#orders.some(({ results }) => results === "unreachable");
      this.#failures = isUnanswered ? this.#failures + 1 : 0;
    } catch (error) {
      if (signal.aborted || !isPassing(error)) throw error;
      this.#failures++;
      context.log.warn("hub_unavailable", { failures: this.#failures, error });
    }
    if (this.#failures >= MAX_FAILURES) return true;
    if (this.#failures > 0 || this.#orders === undefined || this.#isOrderOpen()) return false;
    const open = this.#open();
    for (const { chain, id, state } of open) {
      this.#notices.waiting(`${id}`, {
        event: "withdrawals_awaited",
        fields: { chain, withdrawal: id, state },
      });
    }
    return open.length === 0;
  }

  /** True when an account could not be read, or its nonce was in use. */
  #isOrderOpen(): boolean {
    return this.#orders?.some(({ results }) => results === "unreachable" || results.includes("busy")) ?? true;
  }

  /** Lists the rows that this pass still waits for. */
  #open(): ReturnType<FeeContext["ledger"]["withdrawals"]["listOpen"]> {
    return this.#context.ledger.withdrawals.listOpen().filter((row) =>
      this.#context.chains.has(row.chain) && !this.#hasFailed(row) && !this.#isThere(row) &&
      !this.#tooDear.has(row.id)
    );
  }

  #hasFailed({ id, attempts }: { readonly id: number; readonly attempts: number }): boolean {
    return attempts - (this.#attemptsBefore.get(id) ?? 0) >= ATTEMPTS_PER_ROUND;
  }

  /**
   * True when the payment is on its chain, possibly in a block that is not final: the running relayer monitors that.
   */
  #isThere(row: ReturnType<FeeContext["ledger"]["withdrawals"]["listOpen"]>[number]): boolean {
    if (row.dispatch === undefined) return false;
    const message = this.#context.ledger.messages.find(row.dispatch.commitment, row.chain);
    return message?.state === "delivered" || message?.state === "delivered_by_other";
  }

  /** Counts the outcomes of the rows. */
  result(): WithdrawalRun {
    const { withdrawals } = this.#context.ledger;
    const touched = withdrawals.listRecent(10_000).filter(({ id }) => !this.#before.has(id));
    const paid = touched.filter((row) => row.state === "done" || this.#isThere(row)).length;
    const lost =
      touched.filter((row) =>
        row.state === "void" || (row.state !== "done" && !this.#isThere(row) && this.#hasFailed(row))
      ).length;
    const refused = (this.#orders ?? []).flatMap(({ results }) => results === "unreachable" ? [] : results)
      .filter((result) => result === "refused").length;
    const silent = this.#orders === undefined
      ? 1
      : this.#orders.filter(({ results }) => results === "unreachable").length;
    return { paid, open: touched.length - paid - lost, failed: lost + refused + silent };
  }
}
