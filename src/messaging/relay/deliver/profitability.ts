/**
 * Revenue of messages (the fee on their source, the hub's reward, or, for our own payments, the most that may be spent on
 * their delivery), and the decision about a deliverable batch by it: those that do not pay for their delivery are held
 * with the numbers of the decision. The rule itself is in `decisions/profit.ts`. A request that certainly no longer
 * exists on its own chain has none, and ends.
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { CertainReads } from "../../../core/chains/reads.ts";
import { type Hash256, toHash256, toHex } from "../../../core/encoding/bytes.ts";
import type { NativePrice } from "../../../core/evm/native_price.ts";
import type { Message } from "../../../core/ismp/message.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { DecisionRow } from "../../ledger/ledger.ts";
import {
  type BatchDecision,
  type BatchOffer,
  type BatchVerdict,
  classifyPayment,
  decideBatch,
  decideProfit,
  type PaymentClass,
  type ProofUsage,
} from "../decisions/profit.ts";
import {
  coveringPriceWei,
  paymentBudget18,
  type PriceBoundInput,
  signingBoundWei,
  toFee18,
  toReward18,
} from "../decisions/profit.ts";
import { toReceiptKey, toRequest } from "../decisions/route.ts";
import type { FeeReader, LegProfit, LegRun, RelaySettings, TargetContext } from "../leg.ts";
import { countCallBytes } from "../limits/capacity.ts";
import { readBatchLimit } from "../limits/competitors.ts";
import { noteOffers } from "../limits/spending.ts";
import { type Candidate, decideForGood, findOwnPayment, hold, type Refused, stillOpen } from "../messages.ts";
import type { ProvenBatch } from "./bisect_batch.ts";

/** Revenue of one message. */
export interface Revenue {
  readonly paymentClass: PaymentClass;
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
    const reward = settings.listedModules()?.get(toHex(toRequest(message).from));
    const paymentClass = classifyPayment(message, {
      hub: settings.hub,
      target: context.target.id.stateMachine,
      isOwnWithdrawal: findOwnPayment(context, row) !== undefined,
      isListedModule: reward !== undefined,
    });
    const rewards: Partial<Record<PaymentClass, bigint>> = {
      to_hub: 0n,
      filtered_hub_request: 0n,
      listed_hub_request: toReward18(reward ?? 0n, settings.hubTokenPrice27),
    };
    const fee18 = rewards[paymentClass] ?? fees.get(row.commitment);
    return { paymentClass, fee18, isGone: fee18 === undefined && fees.has(row.commitment) };
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
    try {
      const keys = members.map(({ message }) => toReceiptKey(message));
      const { units, decimals } = await chain.fees.fetchFees(keys, signal);
      for (const [index, { row }] of members.entries()) {
        const payment = findOwnPayment(context, row);
        const paid = payment?.amount ?? units[index];
        const fee18 = paid === undefined ? undefined : toFee18(paid, decimals);
        fees.set(
          row.commitment,
          payment === undefined || fee18 === undefined ? fee18 : paymentBudget18(fee18),
        );
      }
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      log.debug("read_failed.fees", { chain: target.id.stateMachine, error });
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
    offers.every(({ paymentClass }) => paymentClass === "own_withdrawal");
  const maxGasPriceWei = isOwnMoney ? coveringPriceWei(bound) : signingBoundWei(bound);
  const revenueOf = new Map(work.candidates.map((each, index) => [each, revenueAt(revenues, index)]));
  const lost = work.candidates.filter((each) => revenueOf.get(each)?.isGone === true);
  const gone = await findGoneRequests(leg, profit, lost);
  const candidates = leg.ledger.transaction(() => {
    noteOffers(leg, offers);
    leg.ledger.decisions.note(leg.target.id.stateMachine, toDecisions(decided, price));
    for (const { row } of stillOpen(leg, gone)) {
      const detail = "the source no longer knows the request";
      decideForGood(leg, row, { to: "gone", reason: "request_gone", detail });
    }
    const rest = work.candidates.filter((each) => !gone.includes(each));
    return defer(leg, { ...work, candidates: rest, held: decided.hold, revenues: revenueOf });
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
    const { paymentClass, fee18 } = revenueAt(revenues, index);
    const bytesGas = row.encoded.reduce((sum, byte) => sum + (byte === 0 ? ZERO_BYTE_GAS : BYTE_GAS), 0);
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
    const { paymentClass, fee18 } = revenueAt(revenues, index);
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
  { part, candidates, held, revenues }: {
    readonly part: ProvenBatch;
    readonly candidates: readonly Candidate[];
    readonly held: readonly BatchVerdict[];
    readonly revenues: ReadonlyMap<Candidate, Revenue>;
  },
): readonly Candidate[] {
  const heldOf = new Map(held.map((verdict) => [verdict.id, verdict]));
  const classOf = new Map([...revenues].map(([{ row }, { paymentClass }]) => [row.commitment, paymentClass]));
  return stillOpen(context, candidates).filter(({ row }) => {
    const verdict = heldOf.get(row.commitment);
    if (verdict === undefined || verdict.kind !== "hold") return true;
    const { required18: requiredUsd18, fee18: offeredUsd18 } = verdict.numbers;
    const isFailed = verdict.reason === "unprofitable";
    const isBlind = isFailed && part.simulation.isBlind === true;
    // It may pay in a larger batch. The limit grows with time: what was packed under a lower one may be smaller.
    const isCutShort = readBatchLimit(context) < context.target.limits.maxMessagesPerStep;
    hold(context, row, {
      // Prices recover on their own, fees do not. Where nothing traces, nobody knows what it costs.
      reason: isBlind ? "untraceable" : verdict.reason,
      retryClass: isBlind ? "slow" : isFailed && !isCutShort ? "failed" : "transient",
      requiredUsd18,
      offeredUsd18,
      ...explainReward(context.settings, classOf.get(row.commitment)),
    });
    return false;
  });
}

/** Explains why a reward counts for nothing. */
function explainReward(
  { hubTokenPrice27 }: Pick<RelaySettings, "hubTokenPrice27">,
  paymentClass: PaymentClass | undefined,
): { readonly detail?: string } {
  if (paymentClass !== "listed_hub_request" || hubTokenPrice27 !== undefined) return {};
  return { detail: "the hub's reward counts for nothing without [hub].token_price" };
}

/** Chain on which requests were made. */
export type RequestChain = Pick<Chain, "id"> & { readonly certain: Pick<CertainReads, "fetchCertainFees"> };

/**
 * Finds the candidates whose requests certainly no longer exist on `chain`. Nodes that have not reached the block in
 * which they were seen do not count, nor do answers that another endpoint contradicts. If the chain does not answer,
 * none is gone.
 */
async function findGone(
  { ledger, log, source, signal }: LegRun,
  chain: RequestChain,
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

/** Finds the candidates whose requests certainly no longer exist on their sources. */
async function findGoneRequests(
  leg: LegRun,
  { feeChains }: Pick<LegProfit, "feeChains">,
  candidates: readonly Candidate[],
): Promise<readonly Candidate[]> {
  const gone: Candidate[] = [];
  for (const [source, members] of Map.groupBy(candidates, ({ message }) => toRequest(message).source)) {
    const chain = feeChains.get(source);
    if (chain === undefined) continue;
    const lost = await findGone(leg, chain, members.map(({ message }) => message));
    gone.push(...members.filter(({ message }) => lost.has(message)));
  }
  return gone;
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
