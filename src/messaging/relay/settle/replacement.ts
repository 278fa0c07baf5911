/**
 * Transactions that are not mined in time: replaced by a higher price at the same nonce, up to three times and while it
 * is profitable, then by a cancelling transfer. Each is in the journal before it is sent (docs/architecture/messaging.md,
 * I3). When and at which price is decided in `core/chains/replacement.ts`; the most that it may be follows below.
 */
import type { Replacement, ReplacementDecision, ReplacementState } from "../../../core/chains/replacement.ts";
import {
  bumpPrice,
  decideReplacement,
  MAX_TIMES_MARKET,
  STUCK_AFTER_MS,
} from "../../../core/chains/replacement.ts";
import type { SignedSubmission } from "../../../core/chains/submission.ts";
import {
  expectedGas,
  type GasPrice,
  highestPriceWei,
  lowest,
  TRANSFER_GAS,
} from "../../../core/chains/evm/gas.ts";
import { isUnresolved, type SubmissionRow } from "../../ledger/ledger.ts";
import { highestPayingPriceWei } from "../decisions/profit.ts";
import { boundByLosses, noteRefusedFunds, suspendUnfunded } from "../limits/spending.ts";
import { readRevenues } from "../deliver/profitability.ts";
import type { Settling } from "../leg.ts";
import { broadcastJournalled, explainRejected } from "../limits/capacity.ts";
import { type Candidate, readCarried } from "../messages.ts";

/** Nonce whose transactions are pending. */
interface NonceSlot {
  readonly nonce: bigint;
  /** Newest transaction that may still be mined according to the journal. */
  readonly newest: SubmissionRow;
  /** Newest transaction ever signed, with the highest price. */
  readonly highestPriced: SubmissionRow;
  /** Number of deliveries after the first open one. */
  readonly replacements: number;
}

/**
 * Replaces a transaction that has been pending too long. True when it did; false when it is too early or there is
 * nothing to do.
 * @param rows everything of one nonce, oldest first; at least one is unresolved and none is known to be mined
 */
export async function replaceStuck(context: Settling, rows: readonly SubmissionRow[]): Promise<boolean> {
  const { replacement, signal } = context;
  const slot = findNonceSlot(rows);
  if (replacement === undefined || slot === undefined) return false;
  const { nonce, newest, highestPriced } = slot;
  if (context.clock.now() < highestPriced.createdAtMs + STUCK_AFTER_MS) return false;
  const terms = await replacement.fetchReplacementState(highestPriced.submission, signal);
  // It waits for lower nonces, not for a better price.
  if (terms.nonces.latest < nonce) return false;
  const revenue = newest.kind === "cancel"
    ? { kind: "none" } as const
    : await readTransactionRevenue(context, newest);
  if (revenue === undefined) return false;
  const ofNewest = newest.id === highestPriced.id
    ? terms
    : await replacement.fetchReplacementState(newest.submission, signal);
  const { dataCostWei, market, balanceWei, maximumWei } = terms;
  const gasLimit = newest.submission.gasLimit ?? 0n;
  const boundFor = async (gas: bigint): Promise<bigint | undefined> =>
    (await boundByLosses(context, context.profit?.price, { gasLimit: gas, dataCostWei, nonce }))?.wei;
  const facts: PriceCapInput = {
    revenue,
    gasLimit,
    dataCostWei,
    marketWei: highestPriceWei(market),
    balanceWei,
    maximumWei,
    lossBoundWei: await boundFor(gasLimit),
    cancelLossBoundWei: await boundFor(TRANSFER_GAS),
  };
  const caps = priceCaps(facts);
  const decide = (price: GasPrice): ReplacementDecision =>
    decideReplacement({
      nonce,
      price,
      isCancel: newest.kind === "cancel",
      isHandlerReplaced: ofNewest.isHandlerReplaced,
      replacements: slot.replacements,
      sentAtMs: highestPriced.createdAtMs,
      nowMs: context.clock.now(),
      latestNonce: terms.nonces.latest,
      market,
      ...caps,
    });
  const wanted = decide(terms.offered);
  // A price that nodes refused while the market was higher binds nobody after it has fallen.
  const decision = wanted.kind === "rebroadcast" ? decide(ofNewest.offered) : wanted;
  reportShortfall(context, facts, terms);
  const isObsolete = revenue.kind === "none" && newest.kind !== "cancel";
  if (isObsolete && decision.kind === "rebroadcast") return false; // it would revert
  const submission = { ...newest.submission, dataCostWei };
  return await apply(context, { replacement, newest: { ...newest, submission } }, decision);
}

function findNonceSlot(rows: readonly SubmissionRow[]): NonceSlot | undefined {
  const open = rows.filter(isUnresolved);
  const [first] = open;
  const newest = open.at(-1);
  const highestPriced = rows.at(-1);
  const nonce = newest?.submission.nonce;
  if (first === undefined || newest === undefined || highestPriced === undefined || nonce === undefined) {
    return undefined;
  }
  const replacements = rows.filter(({ id, kind }) => id > first.id && kind === "delivery").length;
  return { nonce, newest, highestPriced, replacements };
}

/** Reports the shortfall when the account cannot pay for the next higher price. */
function reportShortfall(context: Settling, facts: PriceCapInput, terms: ReplacementState): void {
  if (facts.revenue.kind === "none") return;
  const wanted = bumpPrice(terms.offered, terms.market, { capWei: undefined });
  if (wanted === undefined) return;
  const missingWei = shortfallWei(facts, highestPriceWei(wanted));
  if (missingWei === 0n) return;
  suspendUnfunded(
    context,
    `a pending transaction needs a higher price: ${missingWei} wei are missing in addition to ${facts.balanceWei} wei`,
  );
}

async function apply(
  context: Settling,
  { replacement, newest }: { readonly replacement: Replacement; readonly newest: SubmissionRow },
  decision: ReplacementDecision,
): Promise<boolean> {
  const { signal } = context;
  const { submission: old } = newest;
  if (decision.kind === "replace") {
    const submission = await replacement.resign(old, decision.price, signal);
    const why = `attempt ${decision.number}`;
    await sendReplacement(context, { old: newest, submission, kind: "delivery", why });
    return true;
  }
  if (decision.kind === "cancel") {
    const submission = await replacement.cancel(old, decision.price, signal);
    await sendReplacement(context, { old: newest, submission, kind: "cancel", why: decision.why });
    return true;
  }
  if (decision.kind === "rebroadcast") await context.target.sender.broadcast(old, signal);
  return false; // the next round sees what was mined
}

/** Transaction that replaces another one. */
interface Successor {
  readonly old: SubmissionRow;
  readonly submission: SignedSubmission;
  readonly kind: "delivery" | "cancel";
  readonly why: string;
}

/** Journals a replacement transaction, then broadcasts it. */
async function sendReplacement(context: Settling, successor: Successor): Promise<void> {
  const { target, signal } = context;
  const { old, submission, kind } = successor;
  signal.throwIfAborted();
  const { submissions } = context.ledger;
  // A reorganised transaction may hold messages that another one carries by now: they stay there.
  const items = kind === "cancel" ? [] : submissions.itemsOf(old.id)
    .filter(({ outcome }) => outcome === undefined)
    .map(({ commitment, requestCommitment, target: to }) => ({ commitment, requestCommitment, target: to }));
  const { legSource } = old;
  const id = context.ledger.transaction(() =>
    submissions.record({ submission, kind, items, replaces: old.id, legSource })
  );
  context.log.info(
    kind === "cancel" ? "transaction_replaced.cancelled" : "transaction_replaced.repriced",
    {
      chain: target.id.stateMachine,
      nonce: submission.nonce,
      replaced: old.submission.hash,
      transaction: submission.hash,
      why: successor.why,
      ...(submission.gasPriceWei === undefined ? {} : { gasPriceWei: submission.gasPriceWei }),
    },
  );
  const result = await broadcastJournalled(context, id);
  if (result === undefined) return;
  if (result.kind === "refused") noteRefusedFunds(context, result.refusal);
  // The previous one is still pending; the next increase starts from this price.
  context.ledger.transaction(() => {
    submissions.settleItems(id, submissions.itemsOf(id).map(({ commitment }) => commitment), "not_handled");
    submissions.update(id, { state: "dropped", detail: explainRejected(result) });
  });
}

/** Age of a transaction after which an unreadable fee counts as zero, ms. */
const FEE_PATIENCE_MS = 600_000;

/** Reads the revenue of a transaction; `undefined`: a fee could not be read now. */
export async function readTransactionRevenue(
  context: Settling,
  row: SubmissionRow,
): Promise<TransactionRevenue | undefined> {
  const { target, signal } = context;
  const profit = context.profit;
  const candidates = readCarried(context, row.id);
  if (candidates.length === 0) return await readProofRevenue(context, row);
  if (candidates.some((candidate) => candidate.row.state !== "submitted")) return { kind: "none" };
  if (await hasTimedOut(context, candidates)) return { kind: "none" };
  const receipts = await target.reads.fetchReceipts(candidates.map(({ message }) => message), signal);
  if (receipts.some((receipt) => receipt !== undefined)) return { kind: "none" };
  const isWanted = context.ledger.spending.find(row.id)?.rule === "operator";
  if (isWanted || profit === undefined || profit.minimumPercent === 0) return { kind: "any" };
  const revenues = await readRevenues({ ...context, profit }, candidates);
  let offered18 = 0n;
  for (const { fee18, isGone } of revenues) {
    offered18 += fee18 ?? 0n;
    const isUnread = fee18 === undefined && !isGone;
    if (isUnread && context.clock.now() < row.createdAtMs + FEE_PATIENCE_MS) return undefined;
  }
  const { price27 } = await profit.price.fetchPrice(signal);
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
  const price27 = (await context.profit?.price.fetchPrice(context.signal))?.price27;
  // It has to cover the cost regardless of the profit required of messages.
  return { kind: "fees", offered18, price27, profitPercent: 0 };
}

/** Revenue of a transaction. */
export type TransactionRevenue =
  /** Sent regardless of revenue: no minimum profit, an always-delivered class, proofs ahead of messages. */
  | { readonly kind: "any" }
  /** Obsolete, since others delivered its messages or they have timed out. */
  | { readonly kind: "none" }
  | {
    readonly kind: "fees";
    /** Sum of the fees, dollars x 10^18. */
    readonly offered18: bigint;
    /** Dollars per native token x 10^27; `undefined`: unknown. */
    readonly price27: bigint | undefined;
    readonly profitPercent: number;
  };

/** Input of the price caps. */
export interface PriceCapInput extends Pick<ReplacementState, "dataCostWei" | "balanceWei" | "maximumWei"> {
  readonly revenue: TransactionRevenue;
  readonly gasLimit: bigint;
  /** Current maximum market price per unit of gas, wei. */
  readonly marketWei: bigint;
  /** What is left of `maximum_daily_loss` for the transaction, and for its cancelling transfer, wei per gas. */
  readonly lossBoundWei?: bigint | undefined;
  readonly cancelLossBoundWei?: bigint | undefined;
}

/** Maximum prices per unit of gas, wei. */
export interface PriceCaps {
  readonly capWei: bigint;
  readonly cancelCapWei: bigint;
}

/**
 * Computes the price caps of a further delivery at the nonce and of its cancelling transfer; neither exceeds the
 * balance or a limit.
 */
export function priceCaps(facts: PriceCapInput): PriceCaps {
  const { gasLimit, dataCostWei, marketWei, maximumWei, lossBoundWei, cancelLossBoundWei } = facts;
  const balanceWei = facts.balanceWei > dataCostWei ? facts.balanceWei - dataCostWei : 0n;
  const multiple = marketWei * MAX_TIMES_MARKET;
  const affordable = gasLimit === 0n ? undefined : balanceWei / gasLimit;
  return {
    capWei: lowest(wantedCap(facts, multiple), affordable, maximumWei, lossBoundWei),
    cancelCapWei: lowest(multiple, balanceWei / TRANSFER_GAS, maximumWei, cancelLossBoundWei),
  };
}

function wantedCap({ revenue, gasLimit, dataCostWei }: PriceCapInput, multiple: bigint): bigint {
  if (revenue.kind === "any") return multiple;
  if (revenue.kind === "none") return 0n;
  return highestPayingPriceWei({ ...revenue, gas: expectedGas(gasLimit), dataCostWei }) ?? multiple;
}

/**
 * Computes the shortfall for a transaction with the same gas limit at a price, wei; 0: none. Reported while waiting for
 * funds.
 */
export function shortfallWei(
  facts: Pick<PriceCapInput, "gasLimit" | "balanceWei">,
  pricePerGasWei: bigint,
): bigint {
  const needed = facts.gasLimit * pricePerGasWei;
  return needed > facts.balanceWei ? needed - facts.balanceWei : 0n;
}
