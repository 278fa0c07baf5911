/**
 * Decides whether a message's fee pays for its delivery. Pure; every decision comes with its numbers.
 * Rules: docs/protocol/messaging.md sections 9.1 and 9.4; `minimum_profit_percentage` of the
 * specification is percent. Several messages in one transaction: `batch_profit.ts`.
 */
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { costUsd18, type Market, requiredUsd18, type Usage } from "./money.ts";
import { findDestination, toRequest } from "./route.ts";

/** What a message is, as far as its payment goes. */
export type PaymentClass =
  /** Goes to the hub, which charges nothing and where nobody pays. */
  | "to_hub"
  /** Carries our own fees home: the amount bounds what that may cost. */
  | "own_withdrawal"
  /** From a module of the hub: the hub's reward takes the place of a fee. */
  | "listed_hub_request"
  /** From another module of the hub, let in by `module_filter`: it has no fee. */
  | "filtered_hub_request"
  /** A user's request; the fee stands on its source chain. */
  | "request"
  /** Answer to a user's request; the fee is paid while it is delivered. */
  | "get_response";

/** True for messages that are delivered whatever they pay (docs/protocol/messaging.md section 9.4). */
export function isAlwaysDelivered(paymentClass: PaymentClass): boolean {
  return paymentClass === "to_hub";
}

/** The class of a message on the leg to `target`. */
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

/** What a decision about one message depends on. */
export interface Offer extends Usage {
  readonly paymentClass: PaymentClass;
  /**
   * What it brings in, dollars x 10^18; `undefined`: it could not be read. A fee, the hub's reward
   * (`listed_hub_request`), what may be spent on it (`own_withdrawal`), or 0 (`filtered_hub_request`).
   */
  readonly fee18: bigint | undefined;
}

/** Market and the operator's wish. */
export interface ProfitRule extends Market {
  /** `minimum_profit_percentage`: percent, a whole number; 0 delivers everything. */
  readonly profitPercent: number;
}

/** The numbers of a decision, for the database and the log. Dollars x 10^18 unless named otherwise. */
export interface ProfitNumbers extends Usage, ProfitRule {
  readonly fee18: bigint | undefined;
  /** `undefined`: the price is unknown. */
  readonly cost18: bigint | undefined;
  /** Least fee that is taken. `undefined`: the price is unknown. */
  readonly required18: bigint | undefined;
}

/** Why a message is not delivered now. `fee_unknown`: reading it again may help, so does nothing else. */
export type ProfitHold = "unprofitable" | "price_unknown" | "fee_unknown";

/** Decision about one message. */
export type ProfitDecision =
  | {
    readonly kind: "deliver";
    /**
     * `profitable`: it pays; `no_minimum`: the operator wants everything; `always`: its class does not pay;
     * `carried`: others of a pooled batch pay for it.
     */
    readonly why: "profitable" | "no_minimum" | "always" | "carried";
    readonly numbers: ProfitNumbers;
  }
  | { readonly kind: "hold"; readonly reason: ProfitHold; readonly numbers: ProfitNumbers };

/** Decides about one message that travels alone, or whose share of the transaction is `offer`. */
export function decideProfit(offer: Offer, rule: ProfitRule): ProfitDecision {
  const numbers = profitNumbers(offer, rule);
  if (isAlwaysDelivered(offer.paymentClass)) return { kind: "deliver", why: "always", numbers };
  const { fee18, required18 } = numbers;
  // Who wants everything delivered still wants his money: what is paid out is not spent on its way.
  const isBounded = offer.paymentClass === "own_withdrawal" && required18 !== undefined;
  if (rule.profitPercent === 0 && !isBounded) return { kind: "deliver", why: "no_minimum", numbers };
  if (fee18 === undefined) return { kind: "hold", reason: "fee_unknown", numbers };
  if (required18 === undefined) return { kind: "hold", reason: "price_unknown", numbers };
  return fee18 >= required18
    ? { kind: "deliver", why: "profitable", numbers }
    : { kind: "hold", reason: "unprofitable", numbers };
}

/** The numbers alone. */
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
