/**
 * Decides whether a message's fee pays for its delivery. Pure; every decision comes with its numbers.
 * Rules: docs/protocol/messaging.md sections 9.1 and 9.4; `minimum_profit_percentage` of the
 * specification is percent. Several messages in one transaction: `batch_profit.ts`.
 */
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { costUsd18, type Market, requiredUsd18, type Usage } from "./money.ts";
import { findDestination, toRequest } from "./route.ts";

/** Class of a message by how its delivery is paid. */
export type PaymentClass =
  /** To the hub, where delivery is free and unpaid. */
  | "to_hub"
  /** Pays out our own fees: the amount limits the cost of its delivery. */
  | "own_withdrawal"
  /** From a rewarded module of the hub: the hub's reward replaces the fee. */
  | "listed_hub_request"
  /** From another module of the hub, accepted by `module_filter`: it has no fee. */
  | "filtered_hub_request"
  /** A user's request; the fee is recorded on its source chain. */
  | "request"
  /** Answer to a user's request; the fee is paid while it is delivered. */
  | "get_response";

/** True for messages that are delivered regardless of revenue (docs/protocol/messaging.md section 9.4). */
export function isAlwaysDelivered(paymentClass: PaymentClass): boolean {
  return paymentClass === "to_hub";
}

/** Classifies a message on the leg to `target`. */
export function classifyPayment(message: Message, facts: {
  readonly hub: StateMachine;
  readonly target: StateMachine;
  /** It is one of the withdrawals in the database. */
  readonly isOwnWithdrawal: boolean;
  /** The hub offers a reward for requests of this module. */
  readonly isListedModule: boolean;
}): PaymentClass {
  if (facts.target === facts.hub) return "to_hub";
  if (findDestination(message) !== facts.target) {
    throw new Error(`${message.commitment} does not go to ${facts.target}`);
  }
  if (message.kind === "getResponse") return "get_response";
  if (toRequest(message).source !== facts.hub) return "request";
  if (facts.isOwnWithdrawal) return "own_withdrawal";
  return facts.isListedModule ? "listed_hub_request" : "filtered_hub_request";
}

/** Input of the decision on one message. */
export interface Offer extends Usage {
  readonly paymentClass: PaymentClass;
  /**
   * Revenue, dollars x 10^18; `undefined`: it could not be read. A fee, the hub's reward (`listed_hub_request`), the
   * budget (`own_withdrawal`), or 0 (`filtered_hub_request`).
   */
  readonly fee18: bigint | undefined;
}

/** Market prices and the operator's minimum profit. */
export interface ProfitRule extends Market {
  /** `minimum_profit_percentage`: percent, a whole number; 0 delivers everything. */
  readonly profitPercent: number;
}

/** The numbers of a decision, for the database and the log. Dollars x 10^18 unless named otherwise. */
export interface ProfitNumbers extends Usage, ProfitRule {
  readonly fee18: bigint | undefined;
  /** `undefined`: the price is unknown. */
  readonly cost18: bigint | undefined;
  /** Minimum fee. `undefined`: the price is unknown. */
  readonly required18: bigint | undefined;
}

/** Reason why a message is not delivered now. `fee_unknown`: only reading the fee again may help. */
export type ProfitHold = "unprofitable" | "price_unknown" | "fee_unknown";

/** Decision on one message. */
export type ProfitDecision =
  | {
    readonly kind: "deliver";
    /**
     * `profitable`: the fee covers it; `no_minimum`: the operator wants everything delivered; `always`: its class does
     * not pay; `carried`: others of a pooled batch pay for it.
     */
    readonly why: "profitable" | "no_minimum" | "always" | "carried";
    readonly numbers: ProfitNumbers;
  }
  | { readonly kind: "hold"; readonly reason: ProfitHold; readonly numbers: ProfitNumbers };

/** Decides on one message that is sent alone, or whose share of the transaction is `offer`. */
export function decideProfit(offer: Offer, rule: ProfitRule): ProfitDecision {
  const numbers = profitNumbers(offer, rule);
  if (isAlwaysDelivered(offer.paymentClass)) return { kind: "deliver", why: "always", numbers };
  const { fee18, required18 } = numbers;
  // Even when everything is delivered, a payment to us must not be spent on its own delivery.
  const isBounded = offer.paymentClass === "own_withdrawal" && required18 !== undefined;
  if (rule.profitPercent === 0 && !isBounded) return { kind: "deliver", why: "no_minimum", numbers };
  if (fee18 === undefined) return { kind: "hold", reason: "fee_unknown", numbers };
  if (required18 === undefined) return { kind: "hold", reason: "price_unknown", numbers };
  return fee18 >= required18
    ? { kind: "deliver", why: "profitable", numbers }
    : { kind: "hold", reason: "unprofitable", numbers };
}

/** Computes only the numbers. */
export function profitNumbers(offer: Offer, rule: ProfitRule): ProfitNumbers {
  const cost18 = costUsd18(offer, rule);
  const percent = offer.paymentClass === "own_withdrawal" ? 0 : rule.profitPercent;
  return {
    gas: offer.gas,
    dataCostWei: offer.dataCostWei,
    gasPriceWei: rule.gasPriceWei,
    price27: rule.price27,
    profitPercent: rule.profitPercent,
    fee18: offer.fee18,
    cost18,
    required18: cost18 === undefined ? undefined : requiredUsd18(cost18, percent),
  };
}
