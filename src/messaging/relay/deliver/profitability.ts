/**
 * Finds the messages of a deliverable batch that pay for their delivery, and holds the others with the numbers of the
 * decision. The rule itself is in `decisions/profit.ts`.
 */
import { type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import {
  type BatchDecision,
  type BatchOffer,
  type BatchVerdict,
  decideBatch,
  decideProfit,
  type ProofUsage,
} from "../decisions/profit.ts";
import { countCallBytes } from "../decisions/batch.ts";
import { coveringPriceWei, type PriceBoundInput, signingBoundWei } from "../decisions/gas_price.ts";
import { findGoneRequests, readRevenues, type Revenue } from "./revenue.ts";
import type { NativePrice } from "../../../core/evm/native_price.ts";
import type { DecisionRow } from "../../ledger/ledger.ts";
import type { LegProfit, LegRun, RelaySettings, TargetContext } from "../leg.ts";
import { type Candidate, decideForGood, findOwnPayment, hold, stillOpen } from "../messages.ts";
import type { ProvenBatch } from "./bisect_batch.ts";
import { noteOffers } from "../limits/spending.ts";
import { readBatchLimit } from "../limits/competitors.ts";

/** Profitable candidates of a part. */
export interface ProfitableBatch {
  /** The candidates that are worth delivering. */
  readonly candidates: readonly Candidate[];
  /** Most that one gas may cost when all of them are signed, wei; `undefined`: no limit. */
  readonly maxGasPriceWei: bigint | undefined;
}

/**
 * Finds the candidates of a part that are worth delivering. Unless that is all of them, they must be proved and
 * simulated again before they are sent, since the proof covers exactly the messages of the part.
 */
export async function filterProfitable(
  leg: LegRun,
  work: {
    readonly part: ProvenBatch;
    readonly candidates: readonly Candidate[];
  },
): Promise<ProfitableBatch> {
  const { profit } = leg;
  const unbounded = { candidates: work.candidates, maxGasPriceWei: undefined };
  if (profit === undefined) return unbounded;
  const isFree = profit.minimumPercent === 0 &&
    !work.candidates.some(({ row }) => findOwnPayment(leg, row) !== undefined);
  if (isFree) return unbounded;
  const { revenues, offers, decided, price, bound } = await judgeProfit(leg, profit, work);
  // Our own payments are limited even when everything else is delivered at any price.
  const isOwnMoney = bound.price27 !== undefined &&
    offers.every(({ paymentClass }) => paymentClass === "own_withdrawal");
  const maxGasPriceWei = isOwnMoney ? coveringPriceWei(bound) : signingBoundWei(bound);
  const revenueOf = new Map(
    work.candidates.map(({ row }, index) => [row.commitment, revenueAt(revenues, index)]),
  );
  const lost = work.candidates.filter(({ row }) => revenueOf.get(row.commitment)?.fee.kind === "gone");
  const gone = await findGoneRequests(leg, profit, lost);
  const candidates = leg.ledger.transaction(() => {
    noteOffers(leg, offers);
    leg.ledger.decisions.note(leg.target.id.stateMachine, toDecisions(decided, price));
    return defer(leg, { ...work, held: decided.hold, revenueOf, gone });
  });
  return { candidates, maxGasPriceWei };
}

/** Size from which a message has to pay for its own bytes before anything is proved or simulated, bytes. */
const LARGE_BYTES = 4_096;

/** Gas of a zero byte of call data and of another (EIP-2028): the least that they cost. */
const [ZERO_BYTE_GAS, BYTE_GAS] = [4, 16];

/** Holds large messages that do not pay for their own bytes; returns the others. May throw an `RpcFault`. */
export async function holdUnpaidBytes(
  leg: LegRun,
  candidates: readonly Candidate[],
): Promise<readonly Candidate[]> {
  const { profit, target: { gas } } = leg;
  const large = candidates.filter((candidate) => countCallBytes(candidate) >= LARGE_BYTES);
  if (profit === undefined || profit.minimumPercent === 0 || gas === undefined || large.length === 0) {
    return candidates;
  }
  const [revenues, price, { gasPriceWei }] = await Promise.all([
    readRevenues({ ...leg, profit }, large),
    profit.price.fetchPrice(leg.signal),
    gas.fetchGasQuote(leg.signal),
  ]);
  const price27 = price.kind === "known" ? price.price27 : undefined;
  const decided = new Map(large.map(({ row }, index) => {
    const { paymentClass, fee } = revenueAt(revenues, index);
    const bytesGas = row.encoded.reduce((sum, byte) => sum + (byte === 0 ? ZERO_BYTE_GAS : BYTE_GAS), 0);
    const fee18 = fee.kind === "fee" ? fee.fee18 : undefined;
    const offer = { paymentClass, fee18, gas: BigInt(bytesGas), dataCostWei: 0n };
    const rule = { gasPriceWei, price27, profitPercent: profit.minimumPercent };
    return [row.commitment, decideProfit(offer, rule)];
  }));
  return leg.ledger.transaction(() =>
    stillOpen(leg, candidates).filter(({ row }) => {
      const found = decided.get(row.commitment);
      if (found?.kind !== "hold" || found.reason !== "unprofitable") return true;
      const { required18: requiredUsd18, fee18: offeredUsd18 } = found.numbers;
      const why = {
        reason: "unprofitable",
        retryClass: "failed",
        detail: "its own bytes cost more",
      } as const;
      hold(leg, row, { ...why, requiredUsd18, offeredUsd18 });
      return false;
    })
  );
}

/** Decision about a batch with everything that it was made from. */
export interface JudgedBatch {
  readonly revenues: readonly Revenue[];
  readonly offers: readonly BatchOffer[];
  readonly decided: BatchDecision;
  readonly price: NativePrice;
  readonly bound: PriceBoundInput;
}

/** Collects what the profit rule needs, and asks it; changes nothing. */
export async function judgeProfit(
  leg: LegRun,
  profit: LegProfit,
  work: { readonly part: ProvenBatch; readonly candidates: readonly Candidate[] },
): Promise<JudgedBatch> {
  const revenues = await readRevenues({ ...leg, profit }, work.candidates);
  const price = await profit.price.fetchPrice(leg.signal);
  const { part } = work;
  const { gasPriceWei, dataCostWei, messageGas, gasUsed } = part.simulation;
  // Each pays for its own bytes, and the consensus proofs for theirs.
  const proofBytes = part.delivery.steps.flatMap((step) =>
    step.kind === "consensus" ? [step.proof.length] : []
  );
  const sizes = [...work.candidates.map(countCallBytes), ...proofBytes];
  const bytes = BigInt(sizes.reduce((sum, size) => sum + size, 0));
  const dataOf = (size: number): bigint => dataCostWei * BigInt(size) / bytes;
  const ofProofs = proofBytes.reduce((sum, size) => sum + dataOf(size), 0n);
  const offers = work.candidates.map((candidate, index) => {
    const { paymentClass, fee } = revenueAt(revenues, index);
    const fee18 = fee.kind === "fee" ? fee.fee18 : undefined;
    return {
      id: candidate.row.commitment,
      paymentClass,
      fee18,
      gas: messageGas[index] ?? 0n,
      dataCostWei: dataOf(countCallBytes(candidate)),
    };
  });
  const messagesGas = messageGas.reduce((sum, gas) => sum + gas, 0n);
  const consensusProofs: ProofUsage = {
    gas: gasUsed > messagesGas ? gasUsed - messagesGas : 0n,
    dataCostWei: ofProofs,
    isSentAnyway: proofBytes.length === 0,
  };
  const price27 = price.kind === "known" ? price.price27 : undefined;
  const profitPercent = profit.minimumPercent;
  const decided = decideBatch(offers, consensusProofs, {
    gasPriceWei,
    price27,
    profitPercent,
  });
  const bound = {
    gas: messagesGas + (consensusProofs.isSentAnyway ? 0n : consensusProofs.gas),
    dataCostWei,
    offered18: offers.reduce((sum, { fee18 }) => sum + (fee18 ?? 0n), 0n),
    price27,
    profitPercent,
  };
  return { revenues, offers, decided, price, bound };
}

/** The decisions with all of their numbers, for the operator. */
export function toDecisions(
  { deliver, hold: held }: BatchDecision,
  price: NativePrice,
): readonly Omit<DecisionRow, "atMs">[] {
  return [...deliver, ...held].map((verdict) => {
    const { id, numbers } = verdict;
    return {
      commitment: toHash256(id),
      verdict: verdict.kind === "hold" ? verdict.reason : verdict.why,
      feeUsd18: numbers.fee18,
      gas: numbers.gas,
      gasPriceWei: numbers.gasPriceWei,
      dataCostWei: numbers.dataCostWei,
      price27: numbers.price27,
      priceOrigin: price.kind === "known" ? price.origin : undefined,
      profitPercent: numbers.profitPercent,
      costUsd18: numbers.cost18,
      requiredUsd18: numbers.required18,
    };
  });
}

function revenueAt(revenues: readonly Revenue[], index: number): Revenue {
  const found = revenues[index];
  if (found === undefined) throw new Error("Missing revenue of a message");
  return found;
}

/** Holds messages that do not pay, with their numbers; returns the rest. */
function defer(
  context: TargetContext,
  work: {
    readonly part: ProvenBatch;
    readonly candidates: readonly Candidate[];
    readonly held: readonly BatchVerdict[];
    readonly revenueOf: ReadonlyMap<Hash256, Revenue>;
    /** Candidates that certainly end, besides those that do not pay. */
    readonly gone: ReadonlySet<Candidate>;
  },
): readonly Candidate[] {
  const heldOf = new Map(work.held.map((verdict) => [verdict.id, verdict]));
  const gone = new Set([...work.gone].map(({ row }) => row.commitment));
  return stillOpen(context, work.candidates).filter(({ row }) => {
    const revenue = work.revenueOf.get(row.commitment);
    if (gone.has(row.commitment)) {
      const detail = "the source no longer knows the request";
      decideForGood(context, row, { to: "gone", reason: "request_gone", detail });
      return false;
    }
    const verdict = heldOf.get(row.commitment);
    if (verdict === undefined || verdict.kind !== "hold") return true;
    const { required18, fee18 } = verdict.numbers;
    const isFailed = verdict.reason === "unprofitable";
    const isBlind = isFailed && work.part.simulation.isBlind === true;
    const isCutShort = work.candidates.length >= readBatchLimit(context); // it may pay in a larger batch
    hold(context, row, {
      // Prices recover on their own, fees do not. Where nothing traces, nobody knows what it costs.
      reason: isBlind ? "untraceable" : verdict.reason,
      retryClass: isBlind ? "slow" : isFailed && !isCutShort ? "failed" : "transient",
      ...(required18 === undefined ? {} : { requiredUsd18: required18 }),
      ...(fee18 === undefined ? {} : { offeredUsd18: fee18 }),
      ...explainReward(context.settings, revenue),
    });
    return false;
  });
}

/** Explains why a reward counts for nothing. */
function explainReward(
  { hubTokenPrice27 }: Pick<RelaySettings, "hubTokenPrice27">,
  revenue: Revenue | undefined,
): { readonly detail?: string } {
  if (revenue?.paymentClass !== "listed_hub_request" || hubTokenPrice27 !== undefined) return {};
  return { detail: "the hub's reward counts for nothing without [hub].token_price" };
}
