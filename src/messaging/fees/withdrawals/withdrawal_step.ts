/**
 * Decides what follows for one withdrawal: while it is requested by what the hub shows of the request, once it is
 * dispatched by the state of the message that carries the payment, which is delivered as every message is.
 * Pure. Rules: docs/protocol/messaging.md section 16.4. Rows are independent; a failing one never blocks another.
 */
import type { HoldReason, MessageRow, WithdrawalRow } from "../../ledger/ledger.ts";

/** Status of the request's extrinsic. `unsent`: it was never broadcast; `refused`: the hub rejects it. */
export type OrderStatus = "unsent" | "pending" | "included" | "finalized" | "refused" | "gone";

/** What is known of a request for which no payment was found yet. */
export interface OrderObservation {
  readonly nowMs: number;
  readonly order: OrderStatus;
  /** `Relayer.Nonce` at the hub's final head. */
  readonly hubNonce: bigint;
  /** True when the hub's final blocks were scanned up to the one in which the request took effect, or lost its nonce. */
  readonly isScanned: boolean;
}

/** What follows for a request. */
export type OrderAction =
  /** Broadcast the journalled bytes (again): the nonce makes a duplicate harmless. */
  | { readonly kind: "send" }
  | { readonly kind: "wait" }
  /** The hub never takes it, and pays nothing. */
  | { readonly kind: "void"; readonly detail: string };

/** Time after which a request that the hub does not know is dropped, ms. */
export const ORDER_PATIENCE_MS = 600_000;

/** Decides what follows for a request. */
export function decideOrder(
  row: Pick<WithdrawalRow, "nonce" | "createdAtMs">,
  { nowMs, order, hubNonce, isScanned }: OrderObservation,
): OrderAction {
  const isNonceUsed = row.nonce !== undefined && hubNonce > row.nonce;
  if (order === "finalized" || isNonceUsed) {
    if (!isScanned) return { kind: "wait" };
    // The nonce is also used by claims with a beneficiary; a request that lost it can never be included.
    const detail = order === "finalized" ? "the hub refused the order" : "its nonce was used otherwise";
    return { kind: "void", detail };
  }
  if (order === "refused") return { kind: "void", detail: "the hub refused the order" };
  if (order === "included" || order === "pending") return { kind: "wait" };
  if (nowMs - row.createdAtMs >= ORDER_PATIENCE_MS) {
    return { kind: "void", detail: "the hub has not taken the order for ten minutes" };
  }
  return { kind: "send" };
}

/**
 * Prospect of a payment that has no receipt yet. `soon`: it is on its way, or waits for what comes by itself within
 * minutes. `gated`: only another account delivers it. `later`: it waits for a better price, or for the operator.
 * `refused`: its delivery has failed and is tried again now and then.
 */
export type PaymentProspect = "soon" | "gated" | "later" | "refused";

/** Reasons for which a payment waits; the others are `refused`. */
const prospects: Partial<Record<HoldReason, Exclude<PaymentProspect, "refused">>> = {
  gated: "gated",
  unprofitable: "later",
  price_unknown: "later",
  fee_unknown: "later",
  consensus_proofs_unprofitable: "later",
  held_by_operator: "later",
  loss_limit: "later",
  race: "soon",
  reverted: "soon",
  stuck: "soon",
  waiting_for_update: "soon",
  challenge_period: "soon",
  proof_unavailable: "soon",
  not_final: "soon",
  handler_replaced: "soon",
};

/** Judges the prospect of a payment by the row of its message. */
export function judgePayment({ state, reason }: Pick<MessageRow, "state" | "reason">): PaymentProspect {
  if (state !== "held" && state !== "not_executed") return "soon";
  return reason === undefined ? "soon" : prospects[reason as HoldReason] ?? "refused";
}
