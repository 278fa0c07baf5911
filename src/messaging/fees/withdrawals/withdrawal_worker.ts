/**
 * Withdraws fees every `withdrawal_frequency` seconds and follows each payment to its delivery. A round takes in the
 * payments dispatched by the hub, advances every open withdrawal and requests those that are due: the worker repeats it
 * indefinitely, `accumulate-fees --withdraw` until everything is paid.
 */
import { WaitNotices } from "../../../core/runtime/waiting.ts";
import type { Worker } from "../../../core/runtime/worker.ts";
import { Deferred, type FeeContext, feeWorker, type PayingChain, payingChains } from "../fee_context.ts";
import { scanPayments } from "./payment_scan.ts";
import {
  nextWithdrawalMs,
  type OrderInput,
  type OrderResult,
  orderWithdrawals,
} from "./withdrawal_orders.ts";
import { WithdrawalSteps } from "./withdrawal_steps.ts";
import type { WithdrawalRow } from "../../ledger/ledger.ts";
import { createPaymentRounds } from "../../relay/leg_worker.ts";
import * as z from "zod";

/** Maximum poll interval for open withdrawals, ms. */
const POLL_INTERVAL_MS = 10_000;

/** Creates the worker that withdraws fees. @param everyMs pause between rounds; at most ten seconds count */
export function withdrawalWorker(context: FeeContext, everyMs: number): Worker {
  const notices = new WaitNotices(context);
  return feeWorker(context, "withdrawals", () => {
    const rounds = new WithdrawalRounds(context);
    return async (signal) => {
      await rounds.advance(signal);
      await rounds.orderDue(signal);
      const open = context.ledger.withdrawals.listOpen().length;
      if (open === 0) notices.done("payments");
      else notices.waiting("payments", { event: "long_wait.withdrawals", fields: { withdrawals: open } });
      return Math.min(everyMs, POLL_INTERVAL_MS);
    };
  });
}

/** Result of a round of requests on one chain; `unreachable`: retried soon. */
export interface OrderReport {
  readonly chain: PayingChain["name"];
  readonly results: readonly OrderResult[] | "unreachable";
}

/** Withdrawal rounds and the state kept between them. */
export class WithdrawalRounds {
  readonly #context: FeeContext;
  readonly #steps: WithdrawalSteps;
  /** Rounds that deliver payments, by chain. */
  readonly #rounds = new Map<PayingChain["name"], (signal: AbortSignal) => Promise<void>>();
  /** Rows and chains that have not answered. */
  readonly #unanswered: Deferred;
  readonly #chains: Deferred;
  readonly #startedMs: number;
  #hasScanned = false;

  constructor(context: FeeContext) {
    this.#context = context;
    this.#steps = new WithdrawalSteps(context);
    this.#unanswered = new Deferred(context, "transient");
    this.#chains = new Deferred(context, "transient");
    this.#startedMs = context.clock.now();
  }

  /** Advances every open withdrawal by one step. Faults of the hub while it is scanned for payments are thrown. */
  advance(signal: AbortSignal): Promise<void> {
    return this.#context.withdrawalTurn.run(() => this.#advanceInTurn(signal), signal);
  }

  /** Number of times in a row that a chain of an open withdrawal has not answered. */
  failuresOf({ id, chain }: Pick<WithdrawalRow, "id" | "chain">): number {
    return Math.max(this.#unanswered.attempts(`${id}`), this.#unanswered.attempts(chain));
  }

  async #advanceInTurn(signal: AbortSignal): Promise<void> {
    await this.#settleOrders(signal);
    const scannedTo = await this.#scan(signal);
    const open = this.#context.ledger.withdrawals.listOpen();
    await Promise.all(
      payingChains(this.#context).map(async (paying) => {
        const rows = open.filter(({ chain }) => chain === paying.name);
        if (rows.length === 0) return;
        if (!this.#context.isUp(paying.name)) return this.#noteDown(rows);
        if (rows.some(({ dispatch }) => dispatch !== undefined)) await this.#deliver(paying, signal);
        const follow = (row: WithdrawalRow): Promise<void> => {
          const fields = { chain: row.chain, withdrawal: row.id, signal };
          return this.#attempt(
            `${row.id}`,
            () => this.#steps.run({ paying, row, scannedTo }, signal),
            fields,
          );
        };
        await Promise.all(rows.map(follow));
      }),
    );
  }

  /** Counts a chain that has not passed its start check as one that does not answer. */
  #noteDown(rows: readonly WithdrawalRow[]): void {
    for (const key of rows.map(({ id }) => `${id}`)) {
      if (!this.#unanswered.has(key)) this.#unanswered.add(key);
    }
  }

  /** Delivers the payments of a chain whose leg has no worker: elsewhere they are delivered among its messages. */
  async #deliver({ name }: PayingChain, signal: AbortSignal): Promise<void> {
    if (this.#context.isServed(name)) return;
    const round = this.#rounds.get(name) ?? createPaymentRounds(this.#context.legTo(name));
    this.#rounds.set(name, round);
    await this.#attempt(name, () => round(signal), { chain: name, signal });
  }

  /** Requests the withdrawals that are due by the clock. */
  orderDue(signal: AbortSignal): Promise<readonly OrderReport[]> {
    return this.#order(payingChains(this.#context).filter((paying) => this.#isDue(paying)), false, signal);
  }

  /** Requests every withdrawal above the minimum now, on the operator's command. */
  orderNow(signal: AbortSignal): Promise<readonly OrderReport[]> {
    return this.#order(payingChains(this.#context), true, signal);
  }

  async #order(
    due: readonly PayingChain[],
    isAskedFor: boolean,
    signal: AbortSignal,
  ): Promise<readonly OrderReport[]> {
    if (due.length === 0) return [];
    return await this.#context.withdrawalTurn.run(async () => {
      this.#hasScanned = false;
      await this.#scan(signal);
      const reports: OrderReport[] = [];
      for (const paying of due) reports.push(await this.#orderOn({ paying, isAskedFor }, signal));
      return reports;
    }, signal);
  }

  async #orderOn({ paying, isAskedFor }: OrderInput, signal: AbortSignal): Promise<OrderReport> {
    const { name: chain } = paying;
    const order = (): Promise<readonly OrderResult[]> =>
      orderWithdrawals(this.#context, { paying, isAskedFor }, signal);
    const event = "read_failed.withdrawals";
    const results = await this.#chains.attempt(chain, order, { event, chain, signal });
    if (results === undefined) return { chain, results: "unreachable" };
    if (!results.includes("busy")) this.#complete(paying);
    return { chain, results };
  }

  #isDue(paying: PayingChain): boolean {
    const { clock, ledger, withdrawals, isUp } = this.#context;
    if (!isUp(paying.name) || this.#chains.has(paying.name)) return false;
    const dueMs = nextWithdrawalMs({
      startedMs: this.#startedMs,
      lastCompletedMs: ledger.notes.find("withdrawals_completed", paying.name, z.number()),
      frequencySec: withdrawals.frequencySec,
      nowMs: clock.now(),
    });
    return clock.now() >= dueMs;
  }

  #complete(paying: PayingChain): void {
    const { clock, ledger } = this.#context;
    ledger.transaction(() => ledger.notes.write("withdrawals_completed", paying.name, clock.now()));
  }

  /** Settles journal entries of requests whose payment was found before their own block. */
  async #settleOrders(signal: AbortSignal): Promise<void> {
    const { calls, ledger } = this.#context;
    const open = new Set(
      ledger.withdrawals.listOpen().filter(({ state }) => state === "requested")
        .map(({ submissionId }) => submissionId),
    );
    for (const submission of calls.listOpen("withdraw")) {
      if (open.has(submission.id)) continue;
      const end = await calls.poll(submission, signal);
      if (end.state !== "open" && end.state !== "included") calls.end(submission, end);
    }
  }

  /** Scans the hub for payments: at the start, before new requests, and while one is awaited. */
  async #scan(signal: AbortSignal): Promise<bigint> {
    const isAwaited = this.#context.ledger.withdrawals.listOpen().some(({ state }) => state === "requested");
    if (this.#hasScanned && !isAwaited) return 0n;
    const scannedTo = await scanPayments(this.#context, signal);
    this.#hasScanned = true;
    return scannedTo;
  }

  /** Works unless it has failed a moment ago; what has not answered is tried again later. */
  async #attempt(
    key: string,
    work: () => Promise<void>,
    fields: {
      readonly chain: PayingChain["name"];
      readonly withdrawal?: number;
      readonly signal: AbortSignal;
    },
  ): Promise<void> {
    if (this.#unanswered.has(key)) return;
    await this.#unanswered.attempt(key, work, { event: "read_failed.withdrawals", ...fields });
  }
}
