/**
 * Revenue of messages (the fee on their source, the hub's reward, or, for our own payments, the most that may be spent on
 * their delivery), and the decision about a deliverable batch by it: those that do not pay for their delivery are held
 * with the numbers of the decision. The rule itself is in `decisions/profit.ts`. A request that certainly no longer
 * exists on its own chain has none, and ends.
 */
import { type Hash256, toHash256, toHex } from "../../../core/encoding/bytes.ts";
import type { NativePrice } from "../../../core/evm/native_price.ts";
import type { Message } from "../../../core/ismp/message.ts";
import { keepFault, RpcFault } from "../../../core/rpc/call.ts";
import type { DecisionRow } from "../../ledger/ledger.ts";
import {
  type BatchDecision,
  type BatchOffer,
  coveringPriceWei,
  decideBatch,
  decideProfit,
  type HeldVerdict,
  paymentBudget18,
  type PriceBoundInput,
  toFee18,
  toReward18,
} from "../decisions/profit.ts";
import { toReceiptKey, toRequest } from "../decisions/route.ts";
import type { FeeReader, LegProfit, LegRun, TargetContext } from "../leg.ts";
import { countCallBytes } from "../limits/capacity.ts";
import { readBatchLimit } from "../limits/competitors.ts";
import { type Candidate, findOwnPayment, type Judge, screen } from "../messages.ts";
import type { Finding, Refused } from "../decisions/retry_schedule.ts";
import type { ProvenBatch } from "./bisect_batch.ts";

/** A message with its revenue. */
export interface Revenue extends Candidate {
  readonly isOwnPayment: boolean;
  /** True for a request of a module of the hub whose reward replaces the fee. */
  readonly isRewarded: boolean;
  /** Dollars x 10^18; `undefined`: it could not be read, or there is none. */
  readonly fee18: bigint | undefined;
  /** True: its chain does not know the request, as far as one node tells. */
  readonly isGone: boolean;
}

/** Target with the context of profit decisions. */
export interface PricedTarget extends TargetContext {
  readonly profit: LegProfit;
  readonly signal: AbortSignal;
}

/** Reads the revenue of the candidates, in order; a chain that does not answer leaves only its own fees unread. */
export async function readRevenues(
  context: PricedTarget,
  candidates: readonly Candidate[],
): Promise<readonly Revenue[]> {
  const { settings } = context;
  const fees = await readFees(context, candidates);
  return candidates.map(({ row, message }): Revenue => {
    const { from, source } = toRequest(message);
    const isOwnPayment = findOwnPayment(context, row) !== undefined;
    const isOfHub = message.kind !== "getResponse" && source === settings.hub && !isOwnPayment;
    const reward = isOfHub ? settings.listedModules()?.get(toHex(from)) : undefined;
    const fee18 = isOfHub ? toReward18(reward ?? 0n, settings.hubTokenPrice27) : fees.get(row.commitment);
    const isGone = fee18 === undefined && fees.has(row.commitment);
    return { row, message, isOwnPayment, isRewarded: reward !== undefined, fee18, isGone };
  });
}

/** Fees of the candidates that have one, dollars x 10^18; `undefined`: the chain does not know the request. */
async function readFees(
  context: PricedTarget,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<Hash256, bigint | undefined>> {
  const { profit: { feeChains }, target, signal, log } = context;
  const fees = new Map<Hash256, bigint | undefined>();
  // Of our own payments, which are in the fee token of the target, a part may be spent.
  const chainOf = (candidate: Candidate): FeeReader | undefined =>
    feeChains.get(
      findOwnPayment(context, candidate.row) ? target.id.stateMachine : toRequest(candidate.message).source,
    );
  await Promise.all([...Map.groupBy(candidates, chainOf)].map(async ([chain, members]) => {
    if (chain === undefined) return; // other requests of the hub have no fee
    const keys = members.map(({ message }) => toReceiptKey(message));
    const found = await chain.fees.fetchFees(keys, signal).catch(keepFault);
    if (found instanceof RpcFault) {
      return log.debug("read_failed.fees", { chain: target.id.stateMachine, error: found });
    }
    for (const [index, { row }] of members.entries()) {
      const payment = findOwnPayment(context, row);
      const paid = payment?.amount ?? found.units[index];
      const fee18 = paid === undefined ? undefined : toFee18(paid, found.decimals);
      fees.set(row.commitment, payment && fee18 !== undefined ? paymentBudget18(fee18) : fee18);
    }
  }));
  return fees;
}

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
    offers.every(({ isOwnPayment }) => isOwnPayment);
  // The required profit is the margin for price changes until it is signed.
  const maxGasPriceWei = isOwnMoney || profit.minimumPercent !== 0 ? coveringPriceWei(bound) : undefined;
  const gone = new Set(await findGoneRequests(leg, profit, revenues.filter(({ isGone }) => isGone)));
  leg.ledger.transaction(() => {
    noteOffers(leg, offers);
    leg.ledger.decisions.note(leg.target.id.stateMachine, toDecisions(decided, price));
  });
  const unpaid = new Map(
    decided.hold.map((verdict) => [verdict.id, judgeUnpaid(leg, work.part, verdict, revenues)]),
  );
  const candidates = screen(
    leg,
    work.candidates,
    ({ row, message }) =>
      gone.has(message)
        ? { reason: "request_gone", detail: "the source no longer knows the request", end: "gone" }
        : unpaid.get(row.commitment),
  );
  return { candidates, maxGasPriceWei };
}

/** Records the revenue that messages offer, as far as it could be read; their delivery is compared with it later. */
export function noteOffers(
  context: TargetContext,
  offers: readonly { readonly id: string; readonly fee18: bigint | undefined }[],
): void {
  const known = offers.flatMap(({ id, fee18 }) =>
    fee18 === undefined ? [] : [{ commitment: toHash256(id), offeredUsd18: fee18 }]
  );
  if (known.length > 0) context.ledger.messages.noteOffers(context.target.id.stateMachine, known);
}

/** Size from which a message has to pay for its own bytes before anything is proved or simulated, bytes. */
const LARGE_BYTES = 4_096;

/** Gas of a zero byte of call data and of another (EIP-2028): the least that they cost. */
const [ZERO_BYTE_GAS, BYTE_GAS] = [4, 16];

/** Judges large messages by whether they pay for their own bytes. May throw an `RpcFault`. */
export async function judgeBytes(
  leg: LegRun,
  candidates: readonly Candidate[],
): Promise<Judge | undefined> {
  const { profit, target: { gas } } = leg;
  const large = candidates.filter((candidate) => countCallBytes(candidate) >= LARGE_BYTES);
  if (profit === undefined || profit.minimumPercent === 0 || gas === undefined || large.length === 0) {
    return undefined;
  }
  const [revenues, { price27 }, { gasPriceWei }] = await Promise.all([
    readRevenues({ ...leg, profit }, large),
    profit.price.fetchPrice(leg.signal),
    gas.fetchGasQuote(leg.signal),
  ]);
  const rule = { gasPriceWei, price27, profitPercent: profit.minimumPercent };
  const revenueOf = new Map(revenues.map((revenue) => [revenue.message, revenue]));
  return ({ row, message }) => {
    const revenue = revenueOf.get(message);
    if (revenue === undefined) return undefined;
    const bytesGas = row.encoded.reduce((sum, byte) => sum + (byte === 0 ? ZERO_BYTE_GAS : BYTE_GAS), 0);
    const decided = decideProfit({ ...revenue, gas: BigInt(bytesGas), dataCostWei: 0n }, rule);
    if (decided.kind !== "hold" || decided.reason !== "unprofitable") return undefined;
    const { requiredUsd18, feeUsd18: offeredUsd18 } = decided.numbers;
    const detail = "its own bytes cost more";
    return { reason: "unprofitable", retryClass: "failed", detail, requiredUsd18, offeredUsd18 };
  };
}

/** Decision about a batch with everything that it was made from. */
export interface JudgedBatch {
  readonly revenues: readonly Revenue[];
  readonly offers: readonly BatchOffer[];
  readonly decided: BatchDecision;
  readonly price: NativePrice;
  readonly bound: Omit<PriceBoundInput, "profitPercent">;
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
  const offers = revenues.map(({ row, isOwnPayment, fee18 }, index) => ({
    id: row.commitment,
    isOwnPayment,
    fee18,
    gas: messageGas[index] ?? 0n,
    dataCostWei: dataOf(countCallBytes({ row })),
  }));
  const messagesGas = messageGas.reduce((sum, gas) => sum + gas, 0n);
  const consensusProofs = proofBytes.length === 0
    ? undefined
    : { gas: gasUsed > messagesGas ? gasUsed - messagesGas : 0n, dataCostWei: ofProofs };
  const { price27 } = price;
  const rule = { gasPriceWei, price27, profitPercent: profit.minimumPercent };
  const decided = decideBatch(offers, consensusProofs, rule);
  const bound = {
    gas: messagesGas + (consensusProofs?.gas ?? 0n),
    dataCostWei,
    offered18: offers.reduce((sum, { fee18 }) => sum + (fee18 ?? 0n), 0n),
    price27,
  };
  return { revenues, offers, decided, price, bound };
}

/** The decisions with all of their numbers, for the operator. */
export function toDecisions(
  { deliver, hold: held }: BatchDecision,
  price: NativePrice,
): readonly Omit<DecisionRow, "atMs">[] {
  return [...deliver, ...held].map((verdict) => ({
    ...verdict.numbers,
    commitment: toHash256(verdict.id),
    verdict: verdict.kind === "hold" ? verdict.reason : verdict.why,
    priceOrigin: price.origin,
  }));
}

/** What becomes of a message that does not pay, with its numbers. */
function judgeUnpaid(
  context: TargetContext,
  { simulation }: ProvenBatch,
  verdict: HeldVerdict,
  revenues: readonly Revenue[],
): Finding {
  const { requiredUsd18, feeUsd18: offeredUsd18 } = verdict.numbers;
  const isFailed = verdict.reason === "unprofitable";
  const isBlind = isFailed && simulation.isBlind === true;
  // It may pay in a larger batch. The limit grows with time: what was packed under a lower one may be smaller.
  const isCutShort = readBatchLimit(context) < context.target.limits.maxMessagesPerStep;
  const isUnpriced = context.settings.hubTokenPrice27 === undefined &&
    revenues.some(({ row, isRewarded }) => isRewarded && row.commitment === verdict.id);
  return {
    // Prices recover on their own, fees do not. Where nothing traces, nobody knows what it costs.
    reason: isBlind ? "untraceable" : verdict.reason,
    retryClass: isBlind ? "slow" : isFailed && !isCutShort ? "failed" : "transient",
    requiredUsd18,
    offeredUsd18,
    ...isUnpriced && { detail: "the hub's reward counts for nothing without [hub].token_price" },
  };
}

/**
 * Finds the candidates whose requests certainly no longer exist on `chain`. Nodes that have not reached the block in
 * which they were seen do not count, nor do answers that another endpoint contradicts. If the chain does not answer,
 * none is gone.
 */
async function findGone(
  { ledger, log, source, signal }: LegRun,
  chain: Pick<FeeReader, "id" | "certain">,
  messages: readonly Message[],
): Promise<ReadonlySet<Message>> {
  if (messages.length === 0) return new Set();
  const keys = messages.map(toReceiptKey);
  try {
    // Messages routed by the hub are in a block that the hub knows, whether or not we read it there.
    let { height } = await source.reads.fetchView(chain.id, signal);
    for (const row of ledger.messages.findAll(keys, source.id.stateMachine)) {
      if (row !== undefined && row.seenAtHeight > height) height = row.seenAtHeight;
    }
    const fees = await chain.certain.fetchCertainFees(keys, { height }, signal);
    return new Set(messages.filter((_, index) => {
      const fee = fees[index];
      return fee?.kind === "certain" && fee.value === undefined;
    }));
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    log.debug("read_failed.request_removal", { chain: chain.id.stateMachine, error });
    return new Set();
  }
}

/** Finds the messages whose requests certainly no longer exist on their sources. */
async function findGoneRequests(
  leg: LegRun,
  { feeChains }: Pick<LegProfit, "feeChains">,
  candidates: readonly Candidate[],
): Promise<readonly Message[]> {
  const messages = candidates.map(({ message }) => message);
  const gone = [...Map.groupBy(messages, (message) => feeChains.get(toRequest(message).source))]
    .map(async ([chain, members]) => chain === undefined ? [] : [...await findGone(leg, chain, members)]);
  return (await Promise.all(gone)).flat();
}

/**
 * Confirms refusals of responses whose request the destination does not know: such a response ends only when that is
 * certain; until then it waits.
 */
export async function confirmUnknown(leg: LegRun, refused: readonly Refused[]): Promise<readonly Refused[]> {
  const answers = refused.filter(({ code, message }) =>
    code === "unknown_message" && message.kind === "getResponse"
  );
  const gone = await findGone(leg, leg.target, answers.map(({ message }) => message));
  return refused.map((item) =>
    item.code === "unknown_message" && !gone.has(item.message) ? { ...item, code: "not_ready" } : item
  );
}
