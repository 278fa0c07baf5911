/**
 * Decides which messages of a batch are delivered when consensus proofs in the same transaction must be paid for too.
 * Pure. Rules: docs/protocol/messaging.md section 9.2: each message is charged the gas that it adds, and the fees
 * together must cover the consensus proofs. Start reading at {@link decideBatch}.
 */
import { costUsd18, requiredUsd18, unitPrice27, type Usage } from "./money.ts";
import {
  decideProfit,
  isAlwaysDelivered,
  type Offer,
  type ProfitDecision,
  type ProfitRule,
} from "./profit.ts";

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

/** No consensus proofs: messages alone. */
export const NO_PROOFS: ProofUsage = { gas: 0n, dataCostWei: 0n, isSentAnyway: true };

/**
 * Rule for sharing the cost. `own_share`: each message pays for what it adds, together they pay for the consensus
 * proofs. `pooled`: only the sums count, so a message with a high fee may carry one with a low fee. `alone`: each
 * message pays for all of the consensus proofs.
 */
export type Accounting = "own_share" | "pooled" | "alone";

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
 * never spoils a batch, and without consensus proofs `own_share` equals the rule for single messages. Consensus proofs
 * that are sent anyway cost the messages nothing.
 */
export function decideBatch(
  offers: readonly BatchOffer[],
  consensusProofs: ProofUsage,
  rule: ProfitRule,
  accounting: Accounting = "own_share",
): BatchDecision {
  const isSunk = consensusProofs.isSentAnyway ||
    offers.some((offer) => isAlwaysDelivered(offer.paymentClass));
  const charged = accounting === "alone" ? offers.map((offer) => withProofs(offer, consensusProofs)) : offers;
  const verdicts = new Map<string, BatchVerdict>(
    charged.map((offer) => [offer.id, { ...decideProfit(offer, rule), id: offer.id }]),
  );
  if (verdicts.size !== offers.length) throw new Error("Two messages of a batch have the same id");
  const owed18 = isSunk || accounting === "alone" ? 0n : requirement(consensusProofs, rule);
  if (rule.profitPercent !== 0) {
    const paying = charged.filter((offer) => isPriced(verdicts.get(offer.id)));
    const dropped = dropWorst(paying.map(({ id }) => surplusOf(verdicts.get(id))), owed18, accounting);
    for (const { id } of paying) verdicts.set(id, judge(verdicts.get(id), dropped.has(id)));
  }
  return collect(offers, verdicts, rule.profitPercent === 0 ? requirement(consensusProofs, rule) : owed18);
}

function withProofs(offer: BatchOffer, consensusProofs: ProofUsage): BatchOffer {
  if (consensusProofs.isSentAnyway) return offer;
  return {
    ...offer,
    gas: offer.gas + consensusProofs.gas,
    dataCostWei: offer.dataCostWei + consensusProofs.dataCostWei,
  };
}

function requirement(consensusProofs: ProofUsage, rule: ProfitRule): bigint | undefined {
  const cost18 = costUsd18(consensusProofs, rule);
  return cost18 === undefined ? undefined : requiredUsd18(cost18, rule.profitPercent);
}

/** True for messages whose fee was compared: neither always delivered nor of unknown fee or price. */
function isPriced(verdict: BatchVerdict | undefined): boolean {
  if (verdict === undefined) return false;
  return verdict.kind === "deliver" ? verdict.why === "profitable" : verdict.reason === "unprofitable";
}

interface Surplus {
  readonly id: string;
  /** Fee minus its requirement; negative when the fee is too low. */
  readonly surplus18: bigint;
}

function surplusOf(verdict: BatchVerdict | undefined): Surplus {
  const { fee18, required18 } = verdict?.numbers ?? {};
  if (verdict === undefined || fee18 === undefined || required18 === undefined) {
    throw new Error("A message without a price was compared");
  }
  return { id: verdict.id, surplus18: fee18 - required18 };
}

/**
 * Finds the ids to drop, worst first, until the rest is profitable; all of them when nothing is or no price is known.
 */
function dropWorst(
  surpluses: readonly Surplus[],
  owed18: bigint | undefined,
  accounting: Accounting,
): ReadonlySet<string> {
  if (owed18 === undefined) return new Set(surpluses.map(({ id }) => id));
  const worstFirst = surpluses.toSorted((a, b) =>
    a.surplus18 < b.surplus18 || (a.surplus18 === b.surplus18 && a.id < b.id) ? -1 : 1
  );
  let sum18 = worstFirst.reduce((sum, { surplus18 }) => sum + surplus18, 0n);
  const dropped = new Set<string>();
  for (const { id, surplus18 } of worstFirst) {
    if (sum18 >= owed18 && (accounting === "pooled" || surplus18 >= 0n)) break;
    dropped.add(id);
    sum18 -= surplus18;
  }
  return dropped;
}

function judge(verdict: BatchVerdict | undefined, isDropped: boolean): BatchVerdict {
  if (verdict === undefined) throw new Error("A message without a verdict was compared");
  const { id, numbers } = verdict;
  if (isDropped) {
    return verdict.kind === "hold"
      ? verdict
      : { id, kind: "hold", reason: "consensus_proofs_unprofitable", numbers };
  }
  return verdict.kind === "deliver" ? verdict : { id, kind: "deliver", why: "carried", numbers };
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

/** Input for the maximum price of a transaction. */
export interface PriceBoundInput extends Usage {
  /** Sum over the paying messages, dollars x 10^18. */
  readonly offered18: bigint;
  readonly price27: bigint | undefined;
  readonly profitPercent: number;
}

/**
 * Computes the maximum gas price at which fees still pay for a transaction: the limit of its replacements. `undefined`:
 * no limit, since no profit is required; 0: nothing may be spent, since the price is unknown or the fees are too low.
 */
export function breakEvenGasPriceWei(facts: PriceBoundInput): bigint | undefined {
  return facts.profitPercent === 0 ? undefined : highestPayingPriceWei(facts);
}

/**
 * Computes the maximum gas price at which a batch just found profitable may be signed: there the fees just cover the
 * cost. The required profit is the margin for price changes meanwhile. `undefined`: no limit.
 */
export function signingBoundWei(facts: PriceBoundInput): bigint | undefined {
  return facts.profitPercent === 0 ? undefined : coveringPriceWei(facts);
}

/**
 * Computes the maximum gas price at which the offered revenue covers the cost; 0: none, or the price of the token is
 * unknown.
 */
export function coveringPriceWei(facts: Omit<PriceBoundInput, "profitPercent">): bigint | undefined {
  return highestPayingPriceWei({ ...facts, profitPercent: 0 });
}

function highestPayingPriceWei(facts: PriceBoundInput): bigint | undefined {
  const pays = (gasPriceWei: bigint): boolean => {
    const cost18 = costUsd18(facts, { gasPriceWei, price27: facts.price27 });
    return cost18 !== undefined && requiredUsd18(cost18, facts.profitPercent) <= facts.offered18;
  };
  if (facts.gas === 0n) return pays(0n) ? undefined : 0n;
  // Without a price per wei no gas price would ever be too high.
  if (facts.price27 === undefined || unitPrice27(facts.price27) === 0n || !pays(1n)) return 0n;
  let paid = 1n;
  while (pays(paid * 2n)) paid *= 2n;
  let unpaid = paid * 2n;
  while (unpaid - paid > 1n) {
    const middle = (paid + unpaid) / 2n;
    if (pays(middle)) paid = middle;
    else unpaid = middle;
  }
  return paid;
}
