/**
 * Decides whether the fees of messages pay for their delivery: of one message alone, and of a batch whose consensus
 * proofs in the same transaction must be paid for too. Pure; every decision comes with its numbers.
 * Rules: docs/protocol/messaging.md sections 9.1, 9.2 and 9.4; `minimum_profit_percentage` of the specification is
 * percent. Start reading at {@link decideProfit}, then {@link decideBatch}.
 */
import type { Message } from "../../../core/ismp/message.ts";
import type { StateMachine } from "../../../core/ismp/state_machine.ts";
import { costUsd18, type MarketPrices, requiredUsd18, toReward18, type Usage } from "./gas_price.ts";
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
export interface ProfitRule extends MarketPrices {
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
     * not pay.
     */
    readonly why: "profitable" | "no_minimum" | "always";
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
function profitNumbers(offer: Offer, rule: ProfitRule): ProfitNumbers {
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

/** Message of the batch; `gas` and `dataCostWei` are what it adds to the transaction. */
export interface BatchOffer extends Offer {
  /** Identifies the message; breaks ties, so that the order of the offers does not matter. */
  readonly id: string;
}

/** Cost of the consensus proofs in front of the messages. */
export interface ProofUsage extends Usage {
  /** True when the proofs are sent in any case (a mandatory rotation), so that the messages do not pay for them. */
  readonly isSentAnyway: boolean;
}

/** Decision about one message of a batch. */
export type BatchVerdict =
  | (ProfitDecision & { readonly id: string })
  /**
   * It pays for itself, but the batch does not pay for the consensus proofs: decided again when more messages arrive.
   */
  | {
    readonly id: string;
    readonly kind: "hold";
    readonly reason: "consensus_proofs_unprofitable";
    readonly numbers: ProfitDecision["numbers"];
  };

/** Decision about a batch. Verdicts are in the order of the offers. */
export interface BatchDecision {
  readonly deliver: readonly BatchVerdict[];
  readonly hold: readonly BatchVerdict[];
  /** Sums over the paying messages that are delivered, dollars x 10^18. */
  readonly numbers: {
    /** Revenue that the consensus proofs require of the messages; 0: none; `undefined`: the price is unknown. */
    readonly proofsRequired18: bigint | undefined;
    readonly required18: bigint;
    readonly offered18: bigint;
  };
}

/**
 * Accepts the batch, or what is left of it after dropping its worst messages one by one: the sum of the fees must reach
 * the sum of the requirements. Each requirement is rounded as for a message alone, so a message that pays for itself
 * never spoils a batch, and without consensus proofs the rule is that for single messages. Consensus proofs that are
 * sent anyway cost the messages nothing. Our own payments cover them without a profit, and alone also when everything is
 * delivered.
 */
export function decideBatch(
  offers: readonly BatchOffer[],
  consensusProofs: ProofUsage,
  rule: ProfitRule,
): BatchDecision {
  const isSunk = consensusProofs.isSentAnyway ||
    offers.some((offer) => isAlwaysDelivered(offer.paymentClass));
  const verdicts = new Map<string, BatchVerdict>(
    offers.map((offer) => [offer.id, { ...decideProfit(offer, rule), id: offer.id }]),
  );
  if (verdicts.size !== offers.length) throw new Error("Two messages of a batch have the same id");
  const isOwn = ({ paymentClass }: BatchOffer): boolean => paymentClass === "own_withdrawal";
  // A payment to us that covers the proofs alone does so in any company.
  const proofRule = offers.some(isOwn) ? { ...rule, profitPercent: 0 } : rule;
  const owed18 = isSunk ? 0n : requirement(consensusProofs, proofRule);
  if (rule.profitPercent !== 0 || (offers.every(isOwn) && owed18 !== undefined)) {
    const priced = [...verdicts.values()].filter(isPriced);
    for (const id of dropWorst(priced.map(toSurplus), owed18)) {
      const verdict = verdicts.get(id);
      if (verdict?.kind !== "deliver") continue;
      const { numbers } = verdict;
      verdicts.set(id, { id, kind: "hold", reason: "consensus_proofs_unprofitable", numbers });
    }
  }
  return collect(offers, verdicts, rule.profitPercent === 0 ? requirement(consensusProofs, rule) : owed18);
}

function requirement(consensusProofs: ProofUsage, rule: ProfitRule): bigint | undefined {
  const cost18 = costUsd18(consensusProofs, rule);
  return cost18 === undefined ? undefined : requiredUsd18(cost18, rule.profitPercent);
}

/** True for messages whose fee was compared: neither always delivered nor of unknown fee or price. */
function isPriced(verdict: BatchVerdict): boolean {
  return verdict.kind === "deliver" ? verdict.why === "profitable" : verdict.reason === "unprofitable";
}

interface Surplus {
  readonly id: string;
  /** Fee minus its requirement; negative when the fee is too low. */
  readonly surplus18: bigint;
}

function toSurplus({ id, numbers: { fee18, required18 } }: BatchVerdict): Surplus {
  if (fee18 === undefined || required18 === undefined) {
    throw new Error("A message without a price was compared");
  }
  return { id, surplus18: fee18 - required18 };
}

/**
 * Finds the ids to drop, worst first, until the rest is profitable; all of them when nothing is or no price is known.
 */
function dropWorst(
  surpluses: readonly Surplus[],
  owed18: bigint | undefined,
): ReadonlySet<string> {
  if (owed18 === undefined) return new Set(surpluses.map(({ id }) => id));
  const worstFirst = surpluses.toSorted((a, b) =>
    a.surplus18 < b.surplus18 || (a.surplus18 === b.surplus18 && a.id < b.id) ? -1 : 1
  );
  let sum18 = worstFirst.reduce((sum, { surplus18 }) => sum + surplus18, 0n);
  const dropped = new Set<string>();
  for (const { id, surplus18 } of worstFirst) {
    if (sum18 >= owed18 && surplus18 >= 0n) break;
    dropped.add(id);
    sum18 -= surplus18;
  }
  return dropped;
}

function collect(
  offers: readonly BatchOffer[],
  verdicts: ReadonlyMap<string, BatchVerdict>,
  proofsRequired18: bigint | undefined,
): BatchDecision {
  const deliver: BatchVerdict[] = [];
  const hold: BatchVerdict[] = [];
  let required18 = 0n;
  let offered18 = 0n;
  for (const { id } of offers) {
    const verdict = verdicts.get(id);
    if (verdict === undefined) throw new Error(`No verdict on ${id}`);
    if (verdict.kind === "hold") {
      hold.push(verdict);
      continue;
    }
    deliver.push(verdict);
    if (verdict.why === "always") continue;
    required18 += verdict.numbers.required18 ?? 0n;
    offered18 += verdict.numbers.fee18 ?? 0n;
  }
  return { deliver, hold, numbers: { proofsRequired18, required18, offered18 } };
}

/** The hub's offer for one rotation, in units of its own token. */
export interface OfferedReward {
  readonly amount: bigint;
  readonly isClaimed: boolean;
}

/** Reason why rotations are not sent on their own. */
export type RewardHold =
  /** The hub offers nothing for this chain, or has paid for these sets already. */
  | "no_reward"
  /** The price of the hub's token is unknown. */
  | "token_price_unknown"
  /** The price of the chain's native token is unknown. */
  | "price_unknown"
  /** The reward is below the cost. */
  | "unprofitable";

/** Decision on rotations sent alone, dollars x 10^18. */
export type RotationDecision =
  | { readonly kind: "send"; readonly reward18: bigint; readonly required18: bigint }
  | {
    readonly kind: "hold";
    readonly reason: RewardHold;
    readonly reward18: bigint;
    readonly required18: bigint | undefined;
  };

/** Computes the hub's reward for rotations, dollars x 10^18; a reason when it is certainly zero. */
export function rewardFor(
  rewards: readonly OfferedReward[],
  tokenPrice27: bigint | undefined,
): { readonly reward18: bigint; readonly hold: RewardHold | undefined } {
  const amount = rewards.reduce((sum, reward) => sum + (reward.isClaimed ? 0n : reward.amount), 0n);
  const reward18 = toReward18(amount, tokenPrice27);
  if (amount === 0n) return { reward18, hold: "no_reward" };
  return { reward18, hold: tokenPrice27 === undefined ? "token_price_unknown" : undefined };
}

/**
 * Decides whether rotations of the hub's authorities are delivered to a chain on their own: only when the hub's reward
 * covers the cost; the same threshold applies as for fees. Rules: docs/protocol/messaging.md sections 9.4 and 17.1;
 * polytope-labs/hyperbridge: modules/pallets/relayer/src/outbound_consensus.rs (one reward per set and chain, in the
 * hub's own token, to the relayer that the host names as first).
 */
export function decideRotations(
  facts: {
    readonly rewards: readonly OfferedReward[];
    readonly tokenPrice27: bigint | undefined;
    readonly profitPercent: number;
  },
  usage: Usage,
  market: MarketPrices,
): RotationDecision {
  const { reward18, hold } = rewardFor(facts.rewards, facts.tokenPrice27);
  const cost18 = costUsd18(usage, market);
  const required18 = cost18 === undefined ? undefined : requiredUsd18(cost18, facts.profitPercent);
  if (hold !== undefined) return { kind: "hold", reason: hold, reward18, required18 };
  if (required18 === undefined) return { kind: "hold", reason: "price_unknown", reward18, required18 };
  if (reward18 < required18) return { kind: "hold", reason: "unprofitable", reward18, required18 };
  return { kind: "send", reward18, required18 };
}
