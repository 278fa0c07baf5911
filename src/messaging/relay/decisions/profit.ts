/**
 * Decides whether the fees of messages pay for their delivery: of one message alone, and of a batch whose consensus
 * proofs in the same transaction must be paid for too; and up to which gas price they do. Pure; every decision comes
 * with its numbers, in exact integers. One unit of a fee token's whole is one dollar.
 * Rules: docs/protocol/messaging.md sections 9.1 to 9.4, docs/protocol/evm-host.md section 10;
 * `minimum_profit_percentage` of the specification is percent. Start reading at {@link decideProfit}, then
 * {@link decideBatch}.
 */
import { rescale } from "../../../core/encoding/bytes.ts";
import { unitPrice27 } from "../../../core/evm/native_price.ts";

/** Input of the decision on one message. */
export interface Offer extends Usage {
  /** True: it pays out our own fees, and the revenue is what may be spent on its delivery. */
  readonly isOwnPayment: boolean;
  /** Revenue, dollars x 10^18: a fee, or a reward of the hub; `undefined`: it could not be read. */
  readonly fee18: bigint | undefined;
}

/** Market prices and the operator's minimum profit. */
export interface ProfitRule extends MarketPrices {
  /** `minimum_profit_percentage`: percent, a whole number; 0 delivers everything. */
  readonly profitPercent: number;
}

/** The numbers of a decision, as they are in the database. Dollars x 10^18 unless named otherwise. */
export interface ProfitNumbers extends Usage, ProfitRule {
  readonly feeUsd18: bigint | undefined;
  /** `undefined`: the price is unknown. */
  readonly costUsd18: bigint | undefined;
  /** Minimum fee. `undefined`: the price is unknown. */
  readonly requiredUsd18: bigint | undefined;
}

/** Reason why a message is not delivered now. `fee_unknown`: only reading the fee again may help. */
export type ProfitHold = "unprofitable" | "price_unknown" | "fee_unknown";

/** Decision on one message. */
export type ProfitDecision =
  | {
    readonly kind: "deliver";
    /** `profitable`: the fee covers it; `no_minimum`: the operator wants everything delivered. */
    readonly why: "profitable" | "no_minimum";
    readonly numbers: ProfitNumbers;
  }
  | { readonly kind: "hold"; readonly reason: ProfitHold; readonly numbers: ProfitNumbers };

/** Decides on one message that is sent alone, or whose share of the transaction is `offer`. */
export function decideProfit(offer: Offer, rule: ProfitRule): ProfitDecision {
  const { gas, dataCostWei, fee18 } = offer;
  const { gasPriceWei, price27, profitPercent } = rule;
  const costUsd = costUsd18(offer, rule);
  const percent = offer.isOwnPayment ? 0 : profitPercent;
  const required18 = costUsd === undefined ? undefined : requiredUsd18(costUsd, percent);
  const usage = { gas, dataCostWei, gasPriceWei, price27, profitPercent };
  const numbers = { ...usage, feeUsd18: fee18, costUsd18: costUsd, requiredUsd18: required18 };
  // Even when everything is delivered, a payment to us must not be spent on its own delivery.
  const isBounded = offer.isOwnPayment && required18 !== undefined;
  if (rule.profitPercent === 0 && !isBounded) return { kind: "deliver", why: "no_minimum", numbers };
  if (fee18 === undefined) return { kind: "hold", reason: "fee_unknown", numbers };
  if (required18 === undefined) return { kind: "hold", reason: "price_unknown", numbers };
  return fee18 >= required18
    ? { kind: "deliver", why: "profitable", numbers }
    : { kind: "hold", reason: "unprofitable", numbers };
}

/** Message of the batch; `gas` and `dataCostWei` are what it adds to the transaction. */
export interface BatchOffer extends Offer {
  /** Identifies the message; breaks ties, so that the order of the offers does not matter. */
  readonly id: string;
}

/** A message of a batch that is not delivered now. */
export interface HeldVerdict {
  readonly id: string;
  readonly kind: "hold";
  /**
   * `consensus_proofs_unprofitable`: it pays for itself, but the batch does not pay for the consensus proofs, which is
   * decided again when more messages arrive.
   */
  readonly reason: ProfitHold | "consensus_proofs_unprofitable";
  readonly numbers: ProfitNumbers;
}

/** Decision about one message of a batch. */
export type BatchVerdict =
  | (Extract<ProfitDecision, { kind: "deliver" }> & { readonly id: string })
  | HeldVerdict;

/** Decision about a batch. Verdicts are in the order of the offers. */
export interface BatchDecision {
  readonly deliver: readonly Exclude<BatchVerdict, HeldVerdict>[];
  readonly hold: readonly HeldVerdict[];
}

/**
 * Accepts the batch, or what is left of it after dropping its worst messages one by one: the sum of the fees must reach
 * the sum of the requirements. Each requirement is rounded as for a message alone, so a message that pays for itself
 * never spoils a batch, and without consensus proofs the rule is that for single messages. Our own payments cover
 * consensus proofs without a profit, and alone also when everything is delivered.
 */
export function decideBatch(
  offers: readonly BatchOffer[],
  consensusProofs: Usage | undefined,
  rule: ProfitRule,
): BatchDecision {
  const verdicts = new Map<string, BatchVerdict>(
    offers.map((offer) => [offer.id, { ...decideProfit(offer, rule), id: offer.id }]),
  );
  if (verdicts.size !== offers.length) throw new Error("Two messages of a batch have the same id");
  const isOwn = ({ isOwnPayment }: BatchOffer): boolean => isOwnPayment;
  // A payment to us that covers the proofs alone does so in any company.
  const proofRule = offers.some(isOwn) ? { ...rule, profitPercent: 0 } : rule;
  const owed18 = consensusProofs === undefined ? 0n : requirement(consensusProofs, proofRule);
  if (rule.profitPercent !== 0 || (offers.every(isOwn) && owed18 !== undefined)) {
    // Where the fee or the price is unknown, nothing was compared.
    const surpluses = [...verdicts.values()].flatMap((
      { id, numbers: { feeUsd18, requiredUsd18: required18 } },
    ) =>
      feeUsd18 === undefined || required18 === undefined ? [] : [{ id, surplus18: feeUsd18 - required18 }]
    );
    for (const id of dropWorst(surpluses, owed18)) {
      const verdict = verdicts.get(id);
      if (verdict?.kind !== "deliver") continue;
      const { numbers } = verdict;
      verdicts.set(id, { id, kind: "hold", reason: "consensus_proofs_unprofitable", numbers });
    }
  }
  const all = [...verdicts.values()];
  return {
    deliver: all.flatMap((verdict) => verdict.kind === "deliver" ? [verdict] : []),
    hold: all.flatMap((verdict) => verdict.kind === "hold" ? [verdict] : []),
  };
}

function requirement(consensusProofs: Usage, rule: ProfitRule): bigint | undefined {
  const cost18 = costUsd18(consensusProofs, rule);
  return cost18 === undefined ? undefined : requiredUsd18(cost18, rule.profitPercent);
}

interface Surplus {
  readonly id: string;
  /** Fee minus its requirement; negative when the fee is too low. */
  readonly surplus18: bigint;
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

/** Input for the maximum price of a transaction. */
export interface PriceBoundInput extends Usage {
  /** Sum over the paying messages, dollars x 10^18. */
  readonly offered18: bigint;
  readonly price27: bigint | undefined;
  readonly profitPercent: number;
}

/**
 * Computes the maximum gas price at which the offered revenue covers the cost; 0: none, or the price of the token is
 * unknown.
 */
export function coveringPriceWei(facts: Omit<PriceBoundInput, "profitPercent">): bigint | undefined {
  return highestPayingPriceWei({ ...facts, profitPercent: 0 });
}

/** Computes the maximum gas price at which the offered revenue pays for the cost and the profit, as above. */
export function highestPayingPriceWei(facts: PriceBoundInput): bigint | undefined {
  const { gas, offered18, price27, profitPercent } = facts;
  const data18 = costUsd18({ ...facts, gas: 0n }, { gasPriceWei: 0n, price27 });
  if (data18 === undefined) return 0n;
  // The highest cost of which `requiredUsd18` is offered, without that of the data.
  const most18 = (100n * (offered18 + 1n) - 1n) / (100n + BigInt(profitPercent)) - data18;
  if (most18 < 0n) return 0n;
  if (gas === 0n) return undefined;
  // Without a price per wei no gas price would ever be too high.
  const unit27 = unitPrice27(price27 ?? 0n);
  return unit27 === 0n ? 0n : ((most18 / gas + 1n) * 10n ** 9n - 1n) / unit27;
}

/**
 * Converts a fee in units of a token with the given decimals to dollars x 10^18. Up to 18 decimals it is exact; tokens
 * with more round down.
 * @throws {RangeError} for decimals that no token can have (a `uint8`).
 */
export function toFee18(feeUnits: bigint, decimals: number): bigint {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
    throw new RangeError(`Expected decimals from 0 to 255, found ${decimals}`);
  }
  return rescale(feeUnits, decimals, 18);
}

/** Decimals of the hub's own token (docs/protocol/hub.md section 10.4). */
const HUB_TOKEN_DECIMALS = 12n;

/**
 * Converts a reward of the hub in units of its own token to dollars x 10^18. Rounds down.
 * @param tokenPrice27 dollars per whole token x 10^27; `undefined`: unknown, then the reward counts for nothing
 */
export function toReward18(rewardUnits: bigint, tokenPrice27: bigint | undefined): bigint {
  return rewardUnits * (tokenPrice27 ?? 0n) / 10n ** (HUB_TOKEN_DECIMALS + 9n);
}

/** Minimum ratio of our payment's amount to the cost of its delivery. */
const MIN_PAYMENT_TO_COST = 10n;

/** Computes the maximum cost of delivering our own payment: less than a tenth of it, dollars x 10^18. */
export function paymentBudget18(amount18: bigint): bigint {
  return amount18 === 0n ? 0n : (amount18 - 1n) / MIN_PAYMENT_TO_COST;
}

/** Resources that a delivery uses on its chain. */
export interface Usage {
  readonly gas: bigint;
  /** Charge of an OP-stack chain for data on layer 1, wei; 0 elsewhere. */
  readonly dataCostWei: bigint;
}

/** Prices on the chain. */
export interface MarketPrices {
  /** Gas price of the node, without the buffer added when sending. */
  readonly gasPriceWei: bigint;
  /** Dollars per native token x 10^27; `undefined`: unknown. */
  readonly price27: bigint | undefined;
}

/**
 * Cost in dollars x 10^18: `gas * floor(unit * gasPrice / 10^9) + floor(unit * dataCost / 10^9)`. Zero wei cost
 * nothing, whatever the price; otherwise `undefined` when the price is unknown.
 */
export function costUsd18(usage: Usage, market: MarketPrices): bigint | undefined {
  if (usage.gas * market.gasPriceWei === 0n && usage.dataCostWei === 0n) return 0n;
  if (market.price27 === undefined) return undefined;
  const unit27 = unitPrice27(market.price27);
  return usage.gas * (unit27 * market.gasPriceWei / 10n ** 9n) + unit27 * usage.dataCostWei / 10n ** 9n;
}

/** Minimum fee for a cost: `cost + floor(percent * cost / 100)`, dollars x 10^18. `percent` is a whole number >= 0. */
export function requiredUsd18(cost18: bigint, profitPercent: number): bigint {
  return cost18 + BigInt(profitPercent) * cost18 / 100n;
}

/**
 * True when a raised fee is worth another simulation of an unprofitable message: it is what was required last, or a
 * quarter of that, since prices fall, and a tenth more than before. However often somebody adds a unit, that is at most
 * 16 times.
 * @param last numbers of the last decision, dollars x 10^18; `undefined`: none was made
 */
export function isRaiseWorthATry(
  fee18: bigint,
  last: { readonly requiredUsd18: bigint | undefined; readonly offeredUsd18: bigint | undefined },
): boolean {
  const { requiredUsd18: required18, offeredUsd18: offered18 = 0n } = last;
  if (required18 === undefined || fee18 >= required18) return true;
  return fee18 * 4n >= required18 && fee18 * 10n >= offered18 * 11n;
}
