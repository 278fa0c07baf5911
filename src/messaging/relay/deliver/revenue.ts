/**
 * Determines with certainty which requests no longer exist on their own chain, which ends their messages, and reads the
 * revenue of messages: the fee on their source, the hub's reward, or, for our own payments, the maximum to be
 * spent on delivery. Profitability is decided in `decisions/profit.ts`.
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { CertainReads, ChainReads } from "../../../core/chains/reads.ts";
import { type Hash256, toHex } from "../../../core/encoding/bytes.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { paymentBudget18, toFee18, toReward18, type TransactionRevenue } from "../decisions/gas_price.ts";
import { classifyPayment, isAlwaysDelivered, type PaymentClass } from "../decisions/profit.ts";
import { toReceiptKey, toRequest } from "../decisions/route.ts";
import type { FeeReader, LegProfit, LegRun, RelayDeps, Settling, TargetContext } from "../leg.ts";
import { type Candidate, findOwnPayment, parseRow, readMessageRow, type Refused } from "../messages.ts";
import type { SubmissionRow } from "../../ledger/ledger.ts";

/** Fee as read: an amount, gone with its request, or unread. Dollars x 10^18. */
export type Fee = { readonly kind: "fee"; readonly fee18: bigint } | { readonly kind: "gone" } | {
  readonly kind: "unread";
};

/** Revenue of one message. */
export interface Revenue {
  readonly paymentClass: PaymentClass;
  readonly fee: Fee;
}

/** Target with the context of profit decisions. */
export interface PricedTarget extends TargetContext {
  readonly profit: LegProfit;
  readonly signal: AbortSignal;
}

const UNREAD: Fee = { kind: "unread" };

/** Reads the revenue of the candidates, in order; a chain that does not answer leaves only its own fees unread. */
export async function readRevenues(
  context: PricedTarget,
  candidates: readonly Candidate[],
): Promise<readonly Revenue[]> {
  const [fees, budgets] = await Promise.all([
    readFees(context, candidates),
    readBudgets(context, candidates),
  ]);
  const { settings } = context;
  return candidates.map(({ row, message }): Revenue => {
    const reward = settings.listedModules()?.get(toHex(toRequest(message).from));
    const paymentClass = classifyPayment(message, {
      hub: settings.hub,
      target: context.target.id.stateMachine,
      isOwnWithdrawal: findOwnPayment(context, row) !== undefined,
      isListedModule: reward !== undefined,
    });
    switch (paymentClass) {
      case "to_hub":
      case "filtered_hub_request":
        return { paymentClass, fee: { kind: "fee", fee18: 0n } };
      case "listed_hub_request": {
        const fee18 = toReward18(reward ?? 0n, settings.hubTokenPrice27);
        return { paymentClass, fee: { kind: "fee", fee18 } };
      }
      case "own_withdrawal":
        return { paymentClass, fee: budgets.get(row.commitment) ?? UNREAD };
      case "request":
      case "get_response":
        return { paymentClass, fee: fees.get(row.commitment) ?? UNREAD };
    }
  });
}

async function readFees(
  context: PricedTarget,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<Hash256, Fee>> {
  const byChain = new Map<FeeReader, Candidate[]>();
  for (const candidate of candidates) {
    const chain = context.profit.feeChains.get(toRequest(candidate.message).source);
    if (chain === undefined) continue; // requests of the hub have no fee
    byChain.set(chain, [...byChain.get(chain) ?? [], candidate]);
  }
  const fees = new Map<Hash256, Fee>();
  await Promise.all([...byChain].map(async ([chain, members]) => {
    try {
      const keys = members.map(({ message }) => toReceiptKey(message));
      const { units, decimals } = await chain.fees.fetchFees(keys, context.signal);
      for (const [index, { row }] of members.entries()) {
        const fee = units[index];
        fees.set(
          row.commitment,
          fee === undefined ? { kind: "gone" } : { kind: "fee", fee18: toFee18(fee, decimals) },
        );
      }
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error;
      context.log.debug("read_failed.fees", { chain: context.target.id.stateMachine, error });
    }
  }));
  return fees;
}

/** Reads the maximum to be spent on our own payments among the candidates: they are in the fee token of the target. */
async function readBudgets(
  context: PricedTarget,
  candidates: readonly Candidate[],
): Promise<ReadonlyMap<Hash256, Fee>> {
  const budgets = new Map<Hash256, Fee>();
  const chain = context.profit.feeChains.get(context.target.id.stateMachine);
  const payments = candidates.flatMap(({ row: { commitment, ...row } }) => {
    const payment = findOwnPayment(context, row);
    return payment === undefined ? [] : [{ commitment, amount: payment.amount }];
  });
  if (chain === undefined || payments.length === 0) return budgets;
  try {
    const decimals = await chain.fees.fetchFeeTokenDecimals(context.signal);
    for (const { commitment, amount } of payments) {
      budgets.set(commitment, { kind: "fee", fee18: paymentBudget18(toFee18(amount, decimals)) });
    }
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.log.debug("read_failed.fee_decimals", {
      chain: context.target.id.stateMachine,
      error,
    });
  }
  return budgets;
}

/** Age of a transaction after which an unreadable fee counts as zero, ms. */
const FEE_PATIENCE_MS = 600_000;

/** Reads the revenue of a transaction; `undefined`: a fee could not be read now. */
export async function readTransactionRevenue(
  context: Settling,
  row: SubmissionRow,
): Promise<TransactionRevenue | undefined> {
  const { target, signal } = context;
  const profit = context.replacing?.profit;
  const candidates = context.ledger.submissions.itemsOf(row.id).map((item): Candidate => {
    const message = readMessageRow(context, item);
    return { row: message, message: parseRow(message) };
  });
  if (candidates.length === 0) return await readProofRevenue(context, row);
  if (candidates.some((candidate) => candidate.row.state !== "submitted")) return { kind: "none" };
  if (await hasTimedOut(context, candidates)) return { kind: "none" };
  const receipts = await target.reads.fetchReceipts(candidates.map(({ message }) => message), signal);
  if (receipts.some((receipt) => receipt !== undefined)) return { kind: "none" };
  const isWanted = context.ledger.spending.find(row.id)?.rule === "operator";
  if (isWanted || profit === undefined || profit.minimumPercent === 0) return { kind: "any" };
  const revenues = await readRevenues({ ...context, profit }, candidates);
  let offered18 = 0n;
  for (const { paymentClass, fee } of revenues) {
    if (isAlwaysDelivered(paymentClass)) return { kind: "any" };
    if (fee.kind === "fee") offered18 += fee.fee18;
    const isUnread = fee.kind === "unread";
    if (isUnread && context.clock.now() < row.createdAtMs + FEE_PATIENCE_MS) return undefined;
  }
  const price = await profit.price.fetchPrice(signal);
  const price27 = price.kind === "known" ? price.price27 : undefined;
  return { kind: "fees", offered18, price27, profitPercent: profit.minimumPercent };
}

/** True when a message has timed out by the target's clock: the whole transaction would be reverted. */
export async function hasTimedOut(
  { target, clock, signal }: Settling,
  candidates: readonly Candidate[],
): Promise<boolean> {
  const timeouts = candidates.flatMap(({ row: { timeoutSec } }) => timeoutSec === 0n ? [] : [timeoutSec]);
  if (timeouts.every((timeoutSec) => Number(timeoutSec) * 1000 > clock.now())) return false;
  const nowSec = await target.reads.fetchBlockTime(await target.reads.fetchHeight(signal), signal);
  return timeouts.some((timeoutSec) => timeoutSec <= nowSec);
}

/** Reads what pays for proofs sent alone: the hub's reward, or the part of the fees behind them that is left for them. */
async function readProofRevenue(
  context: Settling,
  { id }: SubmissionRow,
): Promise<TransactionRevenue> {
  const offered18 = context.ledger.spending.find(id)?.offeredUsd18;
  if (offered18 === undefined) return { kind: "any" };
  const price = await context.replacing?.profit?.price.fetchPrice(context.signal);
  return { kind: "reward", offered18, price27: price?.kind === "known" ? price.price27 : undefined };
}

/** Chain on which a request was made. */
export type RequestChain = Pick<Chain, "id"> & { readonly certain: Pick<CertainReads, "fetchCertainFees"> };

/**
 * Finds the requests that no longer exist on `chain`. Nodes that have not reached the block in which they were seen do
 * not count, nor do answers that another endpoint contradicts. If the chain does not answer, none is gone.
 */
async function findGone(
  context: RelayDeps,
  requests: {
    readonly chain: RequestChain;
    /** Other end of the leg, which knows a block of the chain. */
    readonly other: Pick<Chain, "id"> & { readonly reads: Pick<ChainReads, "fetchView"> };
    readonly commitments: readonly Hash256[];
  },
  signal: AbortSignal,
): Promise<ReadonlySet<Hash256>> {
  const { chain, other, commitments } = requests;
  if (commitments.length === 0) return new Set();
  try {
    // Messages routed by the hub are in a block that the hub knows, whether or not we read it there.
    let { height } = await other.reads.fetchView(chain.id, signal);
    for (const row of context.ledger.messages.findAll(commitments, other.id.stateMachine)) {
      if (row !== undefined && row.seenAtHeight > height) height = row.seenAtHeight;
    }
    const fees = await chain.certain.fetchCertainFees(commitments, { height }, signal);
    return new Set(commitments.filter((_, index) => {
      const fee = fees[index];
      return fee?.kind === "certain" && fee.value === undefined;
    }));
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.log.debug("read_failed.request_removal", {
      chain: chain.id.stateMachine,
      error,
    });
    return new Set();
  }
}

/** Finds the candidates whose requests certainly no longer exist on their sources. */
export async function findGoneRequests(
  leg: LegRun,
  { feeChains }: Pick<LegProfit, "feeChains">,
  candidates: readonly Candidate[],
): Promise<ReadonlySet<Candidate>> {
  const gone = new Set<Candidate>();
  for (const name of new Set(candidates.map(({ message }) => toRequest(message).source))) {
    const chain = feeChains.get(name);
    if (chain === undefined) continue;
    const members = candidates.filter(({ message }) => toRequest(message).source === name);
    const commitments = members.map(({ message }) => toReceiptKey(message));
    const lost = await findGone(leg, { chain, other: leg.source, commitments }, leg.signal);
    for (const member of members) if (lost.has(toReceiptKey(member.message))) gone.add(member);
  }
  return gone;
}

/**
 * Confirms refusals of responses whose request the destination does not know: such a response ends only when that is
 * certain; until then it waits.
 */
export async function confirmUnknown(
  leg: LegRun,
  refused: readonly Refused[],
): Promise<readonly Refused[]> {
  const unknown = refused.filter(({ code }) => code === "unknown_message");
  if (unknown.length === 0) return refused;
  const answers = unknown.filter(({ message }) => message.kind === "getResponse");
  const commitments = answers.map(({ message }) => toReceiptKey(message));
  const gone = await findGone(leg, { chain: leg.target, other: leg.source, commitments }, leg.signal);
  return refused.map((item) => {
    const isOpen = unknown.includes(item) &&
      !(answers.includes(item) && gone.has(toReceiptKey(item.message)));
    return isOpen ? { ...item, code: "not_ready" } : item;
  });
}
