/** One step of one withdrawal: observe, decide, record, act. What follows is decided in `withdrawal_orders.ts`. */
import { formatDecimal } from "../../../core/encoding/bytes.ts";
import { dropOldest } from "../../../core/runtime/slices.ts";
import { type FeeContext, type PayingChain } from "../fee_context.ts";
import { decideOrder, judgePayment, type OrderObservation } from "./withdrawal_orders.ts";
import type { MessageRow, WithdrawalRow } from "../../ledger/ledger.ts";
import { parseRow, readMessageRow, stillOpen, toMessageRow } from "../../relay/messages.ts";
import { recordRow } from "../../relay/scan.ts";
import { endDelivered } from "../../relay/receipts.ts";

/** An open withdrawal and the chain that pays it out. */
export interface StepInput {
  readonly paying: PayingChain;
  readonly row: WithdrawalRow;
  /** Last final block of the hub that was scanned for payments. */
  readonly scannedTo: bigint;
}

/** Maximum number of withdrawals whose observations are remembered. */
const MAX_REMEMBERED = 1_000;

/** Runs the steps of withdrawals and keeps state between them; all of it can be observed again. */
export class WithdrawalSteps {
  readonly #context: FeeContext;
  /** Best blocks of the hub at which a nonce was seen used. */
  readonly #nonceUsedAt = new Map<number, bigint>();
  /** Reason for which a payment waits, as logged last. */
  readonly #reported = new Map<number, string>();

  constructor(context: FeeContext) {
    this.#context = context;
  }

  /** Runs one step of a row. */
  async run(input: StepInput, signal: AbortSignal): Promise<void> {
    if (input.row.state === "requested") await this.#followOrder(input, signal);
    else await this.#followPayment(input, signal);
    for (const each of [this.#nonceUsedAt, this.#reported]) dropOldest(each, MAX_REMEMBERED);
  }

  async #followOrder(input: StepInput, signal: AbortSignal): Promise<void> {
    const { ledger, calls } = this.#context;
    const seen = await this.#observeOrder(input, signal);
    // The scan may have found its payment meanwhile.
    const row = ledger.withdrawals.find(input.row.id);
    if (row?.state !== "requested") return;
    const action = decideOrder(row, seen);
    if (action.kind === "void") this.#end(row, { state: "void", detail: action.detail });
    if (action.kind === "send" && row.submissionId !== undefined) {
      await calls.broadcast(row.submissionId, signal);
    }
  }

  async #observeOrder({ row, scannedTo }: StepInput, signal: AbortSignal): Promise<OrderObservation> {
    const context = this.#context;
    const submission = row.submissionId === undefined
      ? undefined
      : context.ledger.submissions.find(row.submissionId);
    const status = submission && await context.calls.poll(submission, signal);
    // One that left the pool is sent again.
    const isOver = status?.state === "final" || status?.state === "failed";
    if (submission !== undefined && isOver && status.state !== submission.state) {
      context.calls.end(submission, status);
    }
    const order = status?.state ?? "dropped";
    // While the request is pending its block is better evidence than its nonce.
    const isOut = order === "dropped" || order === "failed";
    const hubNonce = isOut
      ? await context.hub.accounts.fetchRelayerNonce(row.address, row.chain, signal)
      : row.nonce ?? 0n;
    const isUsed = row.nonce !== undefined && hubNonce > row.nonce;
    if (isUsed && !this.#nonceUsedAt.has(row.id)) {
      this.#nonceUsedAt.set(row.id, await context.hub.reads.fetchHeight(signal));
    }
    const decidedAt = status?.state === "final" ? status.block.height : this.#nonceUsedAt.get(row.id);
    const isScanned = decidedAt !== undefined && scannedTo >= decidedAt;
    return { nowMs: context.clock.now(), order, hubNonce, isScanned };
  }

  /** Ends a withdrawal whose payment has a final receipt; otherwise logs once for what the payment waits. */
  async #followPayment({ paying: { chain, name }, row }: StepInput, signal: AbortSignal): Promise<void> {
    await this.#context.units.tryLearn(chain, signal);
    const paid = this.#readMessage(row);
    // It may wait for long where another account delivers it.
    const open = stillOpen(this.#context, [{ row: paid, message: parseRow(paid) }]);
    if (open.length > 0) await endDelivered({ ...this.#context.legTo(name), signal }, open);
    const message = readMessageRow(this.#context, paid);
    if (this.#isPaid(message)) this.#end(row, { state: "done" });
    else this.#report(row, message);
  }

  /** Reads the message that carries a payment; one that ended long ago may have been removed. */
  #readMessage({ id, chain, dispatch }: WithdrawalRow): MessageRow {
    const { ledger, hub } = this.#context;
    if (dispatch === undefined) throw new Error(`Withdrawal ${id} has no payment`);
    const ends = { source: hub.id.stateMachine, target: chain };
    const found = { seenAtHeight: dispatch.hubBlock, state: "seen" } as const;
    const { commitment } = dispatch;
    if (ledger.messages.find(commitment, chain) === undefined) {
      ledger.transaction(() => recordRow(this.#context, toMessageRow(parseRow(dispatch), ends, found)));
    }
    return readMessageRow(this.#context, { commitment, target: chain });
  }

  /** True when a receipt ended the message, from any relayer, and is final. */
  #isPaid({ state, commitment, target }: MessageRow): boolean {
    const { deliveries, foreignReceipts } = this.#context.ledger;
    if (state === "delivered") return deliveries.find(commitment, target)?.isFinal !== false;
    return state === "delivered_by_other" && foreignReceipts.find(commitment, target) === undefined;
  }

  #end(
    { id }: WithdrawalRow,
    change: { readonly state: "done" | "void"; readonly detail?: string },
  ): void {
    const { ledger, log } = this.#context;
    const row = ledger.transaction(() => ledger.withdrawals.update(id, change));
    const fields = fieldsOf(this.#context, row);
    if (row.state === "done") log.info("withdrawal_made.received", fields);
    else log.warn("withdrawal_failed.abandoned", { ...fields, detail: row.detail });
  }

  /** Logs, and writes down for the status, why a payment waits. */
  #report(row: WithdrawalRow, message: MessageRow): void {
    const { ledger, log } = this.#context;
    const prospect = judgePayment(message);
    const { reason, detail, offeredUsd18, requiredUsd18 } = message;
    const text = prospect === "soon" ? "" : detail === undefined ? `${reason}` : `${reason}: ${detail}`;
    if (text === (this.#reported.get(row.id) ?? "")) return;
    this.#reported.set(row.id, text);
    ledger.transaction(() =>
      ledger.withdrawals.update(row.id, { state: row.state, ...text !== "" && { detail: text } })
    );
    const fields = fieldsOf(this.#context, row);
    if (prospect === "gated") log.info("payment_delayed.gated", { ...fields, detail });
    else if (prospect === "refused") log.warn("payment_delayed.rejected", { ...fields, reason, detail });
    else if (prospect === "later") {
      log.info("payment_delayed.cost", {
        ...fields,
        reason,
        costUsd: requiredUsd18 === undefined ? undefined : formatDecimal(requiredUsd18, 18),
        mostUsd: offeredUsd18 === undefined ? undefined : formatDecimal(offeredUsd18, 18),
      });
    }
  }
}

/** Log fields of a withdrawal. */
function fieldsOf(context: FeeContext, row: WithdrawalRow): Readonly<Record<string, unknown>> {
  return {
    chain: row.chain,
    withdrawal: row.id,
    amount: context.units.text(row.chain, row.amount),
    ...(row.dispatch === undefined ? {} : { commitment: row.dispatch.commitment }),
  };
}
