/**
 * Transactions that are not mined in time: replaced by a higher price at the same nonce, up to three times and while it
 * is profitable, then by a cancelling transfer; broadcast again, or dropped, when no node knows them. Each is in the
 * journal before it is sent (docs/architecture/messaging.md, I3). When and at which price is decided in
 * `core/chains/replacement.ts` and `decisions/gas_price.ts`.
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { ReplacementDecision, ReplacementState } from "../../../core/chains/replacement.ts";
import { bumpPrice, decideReplacement, STUCK_AFTER_MS } from "../../../core/chains/replacement.ts";
import type { BroadcastResult, SignedSubmission } from "../../../core/chains/submission.ts";
import { expectedGas, type GasPrice, highestPriceWei, TRANSFER_GAS } from "../../../core/chains/evm/gas.ts";
import { type SubmissionRow, unresolvedSubmissionStates } from "../../ledger/ledger.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import { type PriceCapInput, priceCaps, type PriceLimits, shortfallWei } from "../decisions/gas_price.ts";
import { boundByLosses, noteRefusedFunds, suspendUnfunded } from "../limits/spending.ts";
import { hasTimedOut, readTransactionRevenue } from "../deliver/revenue.ts";
import type { RelayDeps, ReplacementContext, Settling } from "../leg.ts";
import { noteNoAnswer } from "../limits/capacity.ts";
import { equalBytes } from "../../../core/encoding/bytes.ts";
import { type Candidate, parseRow, readMessageRow } from "../messages.ts";
import { reopen } from "./item_outcomes.ts";
import { settleByReceipts } from "./settlement.ts";

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
  const { replacing, signal } = context;
  const slot = findNonceSlot(rows);
  if (replacing === undefined || slot === undefined) return false;
  const { nonce, newest, highestPriced } = slot;
  if (context.clock.now() < highestPriced.createdAtMs + STUCK_AFTER_MS) return false;
  const terms = await replacing.replacement.fetchReplacementState(highestPriced.submission, signal);
  // It waits for lower nonces, not for a better price.
  if (terms.nonces.latest < nonce) return false;
  const facts = await readPriceCapInput(context, { newest, terms });
  if (facts === undefined) return false;
  const ofNewest = newest.id === highestPriced.id
    ? terms
    : await replacing.replacement.fetchReplacementState(newest.submission, signal);
  const caps = priceCaps(facts, await limitsOf(context, terms, { gasLimit: facts.gasLimit, nonce }));
  const { dataCostWei } = terms;
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
      market: terms.market,
      ...caps,
    });
  const wanted = decide(terms.offered);
  // A price that nodes refused while the market was higher binds nobody after it has fallen.
  const decision = wanted.kind === "rebroadcast" ? decide(ofNewest.offered) : wanted;
  reportShortfall(context, facts, terms);
  const isObsolete = facts.revenue.kind === "none" && newest.kind !== "cancel";
  if (isObsolete && decision.kind === "rebroadcast") return false; // it would revert
  const submission = { ...newest.submission, dataCostWei };
  return await apply(context, { ...replacing, newest: { ...newest, submission } }, decision);
}

function findNonceSlot(rows: readonly SubmissionRow[]): NonceSlot | undefined {
  const open = rows.filter(({ state }) => unresolvedSubmissionStates.some((other) => other === state));
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

/** Limits on the price of a transaction that no fees can raise, wei: `maximum_gas_price` and `maximum_daily_loss`. */
async function limitsOf(
  context: Settling,
  { maximumWei, dataCostWei }: Pick<ReplacementState, "maximumWei" | "dataCostWei">,
  { gasLimit, nonce }: { readonly gasLimit: bigint; readonly nonce: bigint },
): Promise<PriceLimits> {
  const price = context.replacing?.profit?.price;
  const boundFor = async (gas: bigint): Promise<bigint | undefined> =>
    (await boundByLosses(context, price, { gasLimit: gas, dataCostWei, nonce }))?.wei;
  return {
    maximumWei,
    lossBoundWei: await boundFor(gasLimit),
    cancelLossBoundWei: await boundFor(TRANSFER_GAS),
  };
}

/** Reads the input of the price caps; `undefined`: not known yet. */
async function readPriceCapInput(
  context: Settling,
  at: { readonly newest: SubmissionRow; readonly terms: ReplacementState },
): Promise<PriceCapInput | undefined> {
  const { newest, terms } = at;
  const gasLimit = newest.submission.gasLimit ?? 0n;
  const revenue = newest.kind === "cancel"
    ? { kind: "none" as const }
    : await readTransactionRevenue(context, newest);
  if (revenue === undefined) return undefined;
  const { balanceWei, dataCostWei, market } = terms;
  const marketWei = highestPriceWei(market);
  return { revenue, gas: expectedGas(gasLimit), gasLimit, dataCostWei, marketWei, balanceWei };
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
  { replacement, newest }: Pick<ReplacementContext, "replacement"> & Pick<NonceSlot, "newest">,
  decision: ReplacementDecision,
): Promise<boolean> {
  switch (decision.kind) {
    case "wait":
    case "look_up":
      return false; // the next round sees what was mined
    case "replace": {
      const submission = await replacement.resign(newest.submission, decision.price, context.signal);
      await sendReplacement(context, {
        old: newest,
        submission,
        kind: "delivery",
        why: `attempt ${decision.number}`,
      });
      return true;
    }
    case "cancel": {
      const submission = await replacement.cancel(newest.submission, decision.price, context.signal);
      await sendReplacement(context, { old: newest, submission, kind: "cancel", why: decision.why });
      return true;
    }
    case "rebroadcast":
      await context.target.sender.broadcast(newest.submission, context.signal);
      return false;
  }
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
  let result: BroadcastResult;
  try {
    result = await target.sender.broadcast(submission, signal);
  } catch (error) {
    if (!(error instanceof RpcFault)) throw error;
    context.ledger.transaction(() => noteNoAnswer(context, id));
    return;
  }
  applyBroadcast(context, id, result);
}

function applyBroadcast(context: Settling, id: number, result: BroadcastResult): void {
  const { submissions } = context.ledger;
  switch (result.kind) {
    case "sent":
    case "alreadyKnown":
      context.ledger.transaction(() => void submissions.update(id, { state: "broadcast" }));
      return;
    case "nonceUsed":
      context.ledger.transaction(() => noteNoAnswer(context, id));
      return;
    case "underpriced":
    case "refused":
      if (result.kind === "refused") noteRefusedFunds(context, result.refusal);
      // The previous one is still pending; the next increase starts from this price.
      context.ledger.transaction(() => {
        for (const { commitment } of submissions.itemsOf(id)) {
          submissions.settleItem(id, commitment, "not_handled");
        }
        const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
        submissions.update(id, { state: "dropped", detail });
      });
  }
}

/** Number of blocks after which an extrinsic that is neither in a block nor in the transaction pool is dropped. */
const EXTRINSIC_PATIENCE_BLOCKS = 3n;

/** Maximum duration of a broadcast, ms: until then a signed submission without a result is left unchanged. */
const BROADCAST_MS = 60_000;

/**
 * Settles a submission that is neither in a block nor pending: broadcasts it again, or drops it when another one may
 * replace it.
 */
export async function settleUnknown(context: Settling, row: SubmissionRow): Promise<boolean> {
  const { target, signal } = context;
  if (row.state === "included") {
    context.log.info("transaction_failed.reorganised", {
      chain: target.id.stateMachine,
      transaction: row.submission.hash,
    });
    context.ledger.transaction(() => reopen(context, row));
    return true;
  }
  if (isBeingSent(context, row)) return false;
  if (row.submission.nonce !== undefined) return await broadcastAgain(context, row);
  const head = await target.reads.fetchHeight(signal);
  if (head < row.submission.madeAtHeight + EXTRINSIC_PATIENCE_BLOCKS) return false;
  await settleByReceipts(context, row, { state: "dropped", detail: "left the transaction pool" });
  return true;
}

/**
 * Time for which a transaction whose messages have our receipts counts as mined although the queried nodes do not know
 * it, ms: they may lag behind the node that returned the receipts. After that the receipts are attributed to another
 * transaction.
 */
const UNSEEN_MS = 60_000;

/** True while the leg may still wait for the response to the broadcast. */
export function isBeingSent(context: RelayDeps, row: SubmissionRow): boolean {
  const isNew = context.clock.now() - row.createdAtMs < BROADCAST_MS;
  return row.state === "signed" && row.detail === undefined && isNew;
}

/**
 * Broadcasts the same bytes again, unless one of the messages has been delivered meanwhile or has timed out: the
 * transaction would revert. Others may wait for its nonce: the next delivery takes it, or they are signed again.
 */
async function broadcastAgain(context: Settling, row: SubmissionRow): Promise<boolean> {
  const { target, signal } = context;
  const carried = context.ledger.submissions.itemsOf(row.id).map((item): Candidate => {
    const message = readMessageRow(context, item);
    return { row: message, message: parseRow(message) };
  });
  const receipts = await target.reads.fetchReceipts(carried.map(({ message }) => message), signal);
  if (isOwn(target, receipts) && context.clock.now() - row.createdAtMs < UNSEEN_MS) return false;
  const isDelivered = receipts.some((receipt) => receipt !== undefined);
  if (isDelivered || await hasTimedOut(context, carried)) {
    const detail = isDelivered ? "delivered meanwhile" : "a message has timed out";
    await settleByReceipts(context, row, { state: "dropped", detail });
    return true;
  }
  const result = await target.sender.broadcast(row.submission, signal);
  switch (result.kind) {
    case "sent":
    case "alreadyKnown":
      context.ledger.transaction(() =>
        void context.ledger.submissions.update(row.id, { state: "broadcast" })
      );
      return row.state !== "broadcast";
    case "nonceUsed":
      return false; // the next round sees the receipt or the other transaction
    case "underpriced":
    case "refused": {
      if (result.kind === "refused") noteRefusedFunds(context, result.refusal);
      const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
      await settleByReceipts(context, row, { state: "dropped", detail });
      return true;
    }
  }
}

/** True when at least one message was delivered, and all deliveries are ours. */
function isOwn({ relayer }: Chain, receipts: readonly (Uint8Array | undefined)[]): boolean {
  const found = receipts.filter((receipt) => receipt !== undefined);
  return relayer !== undefined && found.length > 0 && found.every((receipt) => equalBytes(receipt, relayer));
}
