/**
 * One step of one withdrawal: observe, decide, record, act. The next action is decided in
 * `withdrawal_step.ts`; rows are independent, so a failing one never blocks another.
 */
import { formatDecimal } from "../../../core/encoding/decimal.ts";
import type { FeeContext, PayingChain } from "../fee_context.ts";
import { MaturedHeights } from "../matured_heights.ts";
import type { ProvableHeight } from "./payment_bundles.ts";
import {
  openRow,
  paymentMessage,
  paymentRow,
  type PaymentSimulation,
  sendPayment,
  simulatePayment,
} from "./payment_delivery.ts";
import { toOrderStatus, writeOrderStatus } from "./withdrawal_orders.ts";
import {
  type DeliveryWorth,
  type ReceiptSeen,
  stepWithdrawal,
  type WithdrawalAction,
  type WithdrawalObservation,
} from "./withdrawal_step.ts";
import type { WithdrawalRow } from "../../ledger/ledger.ts";
import { coveringPriceWei } from "../../relay/decisions/gas_price.ts";
import { paymentBudget18, toFee18 } from "../../relay/decisions/money.ts";
import { isSpendingStopped } from "../../relay/limits/spending.ts";
import { endDelivered } from "../../relay/receipts.ts";

/** An open withdrawal and the chain that pays it out. */
interface Payout {
  readonly paying: PayingChain;
  readonly row: WithdrawalRow;
}

/** Input for one step. */
export interface StepInput extends Payout {
  /** Last final block of the hub that was scanned for payments. */
  readonly scannedTo: bigint;
}

/** Result of a step. */
export interface StepReport {
  readonly row: WithdrawalRow;
  readonly action: WithdrawalAction;
}

/** Runs the steps of withdrawals and keeps state between them; all of it can be observed again. */
export class WithdrawalSteps {
  readonly #context: FeeContext;
  /** Heights at which receipts were seen; below, best blocks of the hub at which a nonce was seen used. */
  readonly #receiptAt = new Map<number, bigint>();
  readonly #nonceUsedAt = new Map<number, bigint>();
  readonly #heights = new Map<string, MaturedHeights>();
  /** Simulations of payments that are not sent yet, for the action that follows the observation. */
  readonly #simulations = new Map<number, {
    readonly simulation: PaymentSimulation;
    /** Maximum price per unit of gas, wei; above it the delivery would cost too large a share of the payment. */
    readonly maxGasPriceWei?: bigint | undefined;
  }>();
  readonly #toldShort = new Set<number>();
  readonly #toldDear = new Set<number>();

  constructor(context: FeeContext) {
    this.#context = context;
  }

  /** Runs one step of a row. */
  async run(input: StepInput, signal: AbortSignal): Promise<StepReport> {
    const { paying, row: old } = input;
    this.#simulations.delete(old.id);
    const seen = await this.#observe(input, signal);
    // The scan or another step may have changed the row meanwhile.
    const row = this.#context.ledger.withdrawals.find(old.id);
    if (row === undefined || row.state !== seen.of) return { row: row ?? old, action: { kind: "none" } };
    const step = stepWithdrawal(row, seen);
    const now = this.#context.ledger.transaction(() =>
      this.#context.ledger.withdrawals.update(row.id, step.change)
    );
    this.#log({ paying, row: now }, row.state, step.action);
    await this.#perform(now, step.action, signal);
    return { row: this.#context.ledger.withdrawals.find(row.id) ?? now, action: step.action };
  }

  #observe(input: StepInput, signal: AbortSignal): Promise<WithdrawalObservation> {
    const { row } = input;
    switch (row.state) {
      case "requested":
        return this.#observeOrder(input, signal);
      case "dispatched":
        return this.#observeDispatched(input, signal);
      case "delivering":
        return this.#observeDelivering(input, signal);
      case "done":
      case "void":
        throw new Error(`Withdrawal ${row.id} has ended`);
    }
  }

  async #observeOrder({ row, scannedTo }: StepInput, signal: AbortSignal): Promise<WithdrawalObservation> {
    const context = this.#context;
    const submission = row.submissionId === undefined
      ? undefined
      : context.ledger.submissions.find(row.submissionId);
    const status = submission && await context.calls.poll(submission, signal);
    if (submission !== undefined && status !== undefined) writeOrderStatus(context, submission, status);
    const order = toOrderStatus(submission, status);
    // While the request is pending its block is better evidence than its nonce.
    const isOut = order === "gone" || order === "unsent" || order === "refused";
    const nonce = isOut
      ? await context.hub.accounts.fetchRelayerNonce(row.address, row.chain, signal)
      : row.nonce ?? 0n;
    const isUsed = row.nonce !== undefined && nonce > row.nonce;
    if (isUsed && !this.#nonceUsedAt.has(row.id)) {
      this.#nonceUsedAt.set(row.id, await context.hub.reads.fetchHeight(signal));
    }
    const decidedAt = status?.kind === "final" ? status.block.height : this.#nonceUsedAt.get(row.id);
    const isRead = decidedAt !== undefined && scannedTo >= decidedAt;
    return {
      of: "requested",
      nowMs: context.clock.now(),
      order,
      hubNonce: nonce,
      payment: isRead ? "none" : undefined,
    };
  }

  async #observeDispatched(payout: Payout, signal: AbortSignal): Promise<WithdrawalObservation> {
    const { paying, row } = payout;
    const context = this.#context;
    const dispatch = dispatchOf(row);
    const message = paymentMessage(dispatch);
    paymentRow(context, paying.name, dispatch);
    await context.units.learn(paying.chain, signal);
    const receipt = await this.#seeReceipt(payout, signal);
    const nowMs = context.clock.now();
    const mayWait = nowMs < row.nextAttemptAtMs || isSpendingStopped({ ...context, target: paying.chain });
    if (receipt !== "none" || mayWait) {
      return { of: "dispatched", nowMs, receipt, provableHubBlock: 0n };
    }
    const at = await this.#provableAt(payout, signal);
    const seen = { of: "dispatched", nowMs, receipt, provableHubBlock: at.height } as const;
    if (at.height < dispatch.hubBlock) return seen;
    const simulation = await simulatePayment(context, { chain: paying.name, message, at }, signal);
    this.#simulations.set(row.id, { simulation });
    if (simulation.kind === "refused") return seen;
    const worth = await this.#worthOf(payout, simulation.cost18, signal);
    const { gasUsed: gas, dataCostWei } = simulation.part.simulation;
    const maxGasPriceWei = worth &&
      coveringPriceWei({ gas, dataCostWei, offered18: worth.budget18, price27: simulation.price27 });
    this.#simulations.set(row.id, { simulation, maxGasPriceWei });
    const balanceWei = await paying.chain.gas?.fetchBalance(signal);
    const funds = balanceWei === undefined ? undefined : { balanceWei, neededWei: simulation.neededWei };
    return { ...seen, funds, worth };
  }

  /**
   * Computes the cost of a delivery and its limit; `undefined` when they are not compared: chains without gas, and,
   * without a price, when the operator wants everything delivered.
   */
  async #worthOf(
    { paying: { name, chain }, row }: Payout,
    cost18: bigint | undefined,
    signal: AbortSignal,
  ): Promise<DeliveryWorth | undefined> {
    const { profit } = this.#context.legTo(name);
    if (profit === undefined || (cost18 === undefined && profit.minimumPercent === 0)) return undefined;
    const decimals = await this.#context.units.learn(chain, signal);
    return { cost18, budget18: paymentBudget18(toFee18(row.amount, decimals)) };
  }

  async #observeDelivering(payout: Payout, signal: AbortSignal): Promise<WithdrawalObservation> {
    const { paying, row } = payout;
    const { clock, ledger, units, withdrawals } = this.#context;
    const receipt = await this.#seeReceipt(payout, signal);
    await units.learn(paying.chain, signal);
    const message = ledger.messages.find(dispatchOf(row).commitment, paying.name);
    const isHandled = message?.state === "delivered" || message?.state === "delivered_by_other";
    return {
      of: "delivering",
      nowMs: clock.now(),
      receipt,
      submission: isHandled ? "handled" : message?.state === "submitted" ? "pending" : "failed",
      frequencySec: withdrawals.frequencySec,
    };
  }

  /**
   * Observes the receipt. It counts as final when it is still there after the height at which it was first seen became
   * final.
   */
  async #seeReceipt(
    { paying: { chain, name }, row }: Payout,
    signal: AbortSignal,
  ): Promise<ReceiptSeen> {
    const message = paymentMessage(dispatchOf(row));
    const [receipt] = await chain.reads.fetchReceipts([message], signal);
    if (receipt === undefined) {
      this.#receiptAt.delete(row.id);
      return "none";
    }
    const seenAt = this.#receiptAt.get(row.id);
    if (seenAt === undefined) {
      this.#receiptAt.set(row.id, await chain.reads.fetchHeight(signal));
      return "seen";
    }
    if (await chain.reads.fetchFinalHeight(signal) < seenAt) return "seen";
    // No leg handles a message that waits for its withdrawal: it ends here, whoever delivered it.
    const { ledger } = this.#context;
    const open = ledger.transaction(() =>
      openRow(this.#context, ledger.messages.find(message.commitment, name))
    );
    if (open !== undefined) {
      const work = { candidates: [{ row: open, message }], receipts: [receipt] };
      await endDelivered({ ...this.#context.legTo(name), signal }, work);
    }
    return "final";
  }

  /** Finds a provable height at or above the block of the payment, if there is one. */
  async #provableAt(
    { paying: { name, chain }, row }: Payout,
    signal: AbortSignal,
  ): Promise<ProvableHeight> {
    const context = this.#context;
    const { hubBlock } = dispatchOf(row);
    const decimals = await context.units.learn(chain, signal);
    const payment = { hubBlock, budget18: paymentBudget18(toFee18(row.amount, decimals)) };
    const heights = this.#heights.get(name) ?? new MaturedHeights(chain);
    this.#heights.set(name, heights);
    const { matured = 0n } = await heights.read(context.hub.id, signal);
    const bundled = matured < hubBlock ? await context.bundleTo?.(chain, payment, signal) : undefined;
    return bundled ?? { height: matured, consensusProofs: [] };
  }

  async #perform(row: WithdrawalRow, action: WithdrawalAction, signal: AbortSignal): Promise<void> {
    const context = this.#context;
    if (action.kind === "send_order" && row.submissionId !== undefined) {
      await context.calls.resend(row.submissionId, () => {}, signal);
      return;
    }
    if (action.kind !== "deliver" || row.state !== "delivering") return;
    const { simulation, maxGasPriceWei } = this.#simulations.get(row.id) ?? {};
    this.#simulations.delete(row.id);
    if (simulation?.kind !== "accepted") {
      const detail = simulation?.detail ?? "not simulated";
      context.log.warn("payment_rejected", { ...fieldsOf(context, row), detail });
      return;
    }
    await sendPayment(context, {
      chain: row.chain,
      dispatch: dispatchOf(row),
      part: simulation.part,
      maxGasPriceWei,
    }, signal);
  }

  #log({ paying, row: now }: Payout, before: WithdrawalRow["state"], action: WithdrawalAction): void {
    const { log } = this.#context;
    const fields = fieldsOf(this.#context, now);
    if (action.kind === "report_shortfall") {
      if (this.#toldShort.has(now.id)) return;
      this.#toldShort.add(now.id);
      log.warn("balance_insufficient", {
        ...fields,
        account: paying.ownAddress,
        shortfallWei: action.shortfallWei,
      });
      return;
    }
    if (action.kind === "report_too_dear") {
      if (this.#toldDear.has(now.id)) return;
      this.#toldDear.add(now.id);
      const { cost18, budget18 } = action.worth;
      log.info("payment_delayed", {
        ...fields,
        costUsd: cost18 === undefined ? "unknown: no price of the native token" : formatDecimal(cost18, 18),
        mostUsd: formatDecimal(budget18, 18),
      });
      return;
    }
    if (before !== now.state) {
      this.#toldShort.delete(now.id);
      this.#toldDear.delete(now.id);
    }
    if (now.state === "done") log.info("withdrawal_received", fields);
    if (now.state === "void") {
      log.warn("withdrawal_abandoned", { ...fields, detail: now.detail });
    }
    if (before === "delivering" && now.state === "dispatched") {
      log.warn("payment_ineffective", { ...fields, attempts: now.attempts });
    }
  }
}

function fieldsOf(context: FeeContext, row: WithdrawalRow): Readonly<Record<string, unknown>> {
  return {
    chain: row.chain,
    withdrawal: row.id,
    amount: context.units.text(row.chain, row.amount),
    ...(row.dispatch === undefined ? {} : { commitment: row.dispatch.commitment }),
  };
}

function dispatchOf(row: WithdrawalRow): NonNullable<WithdrawalRow["dispatch"]> {
  if (row.dispatch === undefined) throw new Error(`Withdrawal ${row.id} has no payment`);
  return row.dispatch;
}
