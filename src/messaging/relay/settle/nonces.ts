/**
 * Nonces of our account on a target: several transactions at one of them, ones above a nonce that nobody used, and ones
 * that another program used.
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { Replacement } from "../../../core/chains/replacement.ts";
import type { SubmissionOutcome } from "../../../core/chains/submission.ts";
import { equalBytes, toHex } from "../../../core/encoding/bytes.ts";
import { isUnresolved, type SubmissionRow } from "../../ledger/ledger.ts";
import { explainRejected, noteBroadcast, reportForeign } from "../limits/capacity.ts";
import { noteRefusedFunds } from "../limits/spending.ts";
import { readCarried } from "../messages.ts";
import type { RelayDeps, Settling } from "../leg.ts";
import { reopen } from "./item_outcomes.ts";
import { hasTimedOut, replaceStuck } from "./replacement.ts";
import { type Included, isKnownBlock, settleByReceipts, settleRevert, settleSuccess } from "./settlement.ts";

/** Transaction with the nonce, and the outcome of its hash on the chain. */
interface CompetingSubmission {
  readonly row: SubmissionRow;
  readonly outcome: SubmissionOutcome;
}

/** Outcomes requested in advance, by submission. */
export type RequestedOutcomes = ReadonlyMap<number, Promise<SubmissionOutcome>>;

/**
 * Looks up every transaction ever signed for one nonce, or one without a nonce. True when something changed.
 * @param rows oldest first, including dropped ones
 */
export async function settleSameNonce(
  context: Settling,
  rows: readonly SubmissionRow[],
  requested: RequestedOutcomes = new Map(),
): Promise<boolean> {
  const competitors: CompetingSubmission[] = [];
  for (const row of rows) {
    const outcome = await (requested.get(row.id) ??
      context.target.outcomes.fetchOutcome(row.submission, context.signal));
    if (outcome.kind === "included") return await settleMined(context, { row, outcome }, rows);
    competitors.push({ row, outcome });
  }
  const isForeign = competitors.every(({ outcome }) => outcome.kind === "replaced");
  return isForeign ? await settleForeign(context, rows) : await settleOpen(context, competitors);
}

/** Settles the messages of the mined transaction; the others release messages that only they carried. */
async function settleMined(
  context: Settling,
  { row, outcome }: { readonly row: SubmissionRow; readonly outcome: Included },
  competitors: readonly SubmissionRow[],
): Promise<boolean> {
  const { submissions } = context.ledger;
  const isEnded = row.state === "final" || row.state === "failed";
  // A dropped transaction that was mined counts again.
  if (!isEnded && !isUnresolved(row)) context.ledger.transaction(() => reopen(context, row));
  const losers = competitors.filter((other) => other.id !== row.id && isUnresolved(other));
  // Messages that were already settled for this block were released then, and may have been sent again in another
  // submission: a lagging node may report a used nonce.
  const isSettled = isEnded || isKnownBlock(row, outcome);
  const settles = isSettled ? [] : submissions.itemsOf(row.id);
  const carried = new Set(settles.map(({ commitment }) => commitment));
  const end = row.kind === "cancel"
    ? { detail: "cancelled", reason: "stuck" } as const
    : { detail: `submission ${row.id} was mined` };
  for (const loser of losers) await settleByReceipts(context, loser, { state: "replaced", carried, ...end });
  if (isEnded) return losers.length > 0;
  const winner = submissions.find(row.id) ?? row;
  const hasChanges = outcome.succeeded
    ? await settleSuccess(context, winner, outcome)
    : await settleRevert(context, winner, outcome);
  return hasChanges || losers.length > 0;
}

/**
 * Handles a nonce that was used by none of ours as far as endpoints show: receipts give the outcome of the messages, and
 * tell whether it was ours anyway. True when something changed.
 */
async function settleForeign(context: Settling, rows: readonly SubmissionRow[]): Promise<boolean> {
  const open = rows.filter(isUnresolved);
  let isOurs = false;
  for (const row of open) {
    if (await settleByReceipts(context, row, { state: "replaced", detail: "nonce used" })) isOurs = true;
  }
  const nonce = open[0]?.submission.nonce;
  if (nonce !== undefined && !isOurs) reportForeign(context, nonce, "account_shared.mined");
  return open.length > 0;
}

/**
 * Handles a nonce without a mined transaction: records those that a node knows, replaces one that waits too long,
 * broadcasts the newest.
 */
async function settleOpen(
  context: Settling,
  competitors: readonly CompetingSubmission[],
): Promise<boolean> {
  let hasChanges = false;
  for (const { row, outcome } of competitors) {
    if (!isUnresolved(row)) continue;
    // Its block was reorganised, or the response to the broadcast was lost.
    if (outcome.kind === "pending" && row.state !== "broadcast") {
      context.ledger.transaction(() => reopen(context, row));
      hasChanges = true;
    }
    if (outcome.kind === "unknown" && row.state === "included" && await settleUnknown(context, row)) {
      hasChanges = true;
    }
  }
  if (hasChanges) return true;
  if (await replaceStuck(context, competitors.map(({ row }) => row))) return true;
  const newest = competitors.findLast(({ row }) => isUnresolved(row));
  return newest?.outcome.kind === "unknown" && await settleUnknown(context, newest.row);
}

/** Age of a waiting transaction after which a gap below it is looked for, ms: two slow blocks. */
const GAP_AFTER_MS = 30_000;

/** Age of a waiting transaction after which an unknown one in front of it is reported, ms. */
const REPORT_AHEAD_AFTER_MS = 10 * 60_000;

/** Time for which a nonce counts as used since ours was mined with it, whatever endpoints count, ms. */
const MINED_FOR_MS = 10 * 60_000;

/**
 * Gives up transactions that wait above a nonce which nobody holds: their messages are signed again, at the nonces of
 * the account. Nothing is paid for a gap. True when there were some.
 */
export async function leaveGaps(
  context: Settling,
  replacement: Replacement,
): Promise<boolean> {
  const { target: { id: { stateMachine: chain }, relayer }, ledger: { submissions }, clock } = context;
  const account = toHex(relayer ?? new Uint8Array());
  const open = submissions.listUnresolved(chain).filter(({ submission }) => submission.account === account);
  const ageOf = ({ createdAtMs }: SubmissionRow): number => clock.now() - createdAtMs;
  const waiting = open.filter((row) =>
    row.state !== "included" && ageOf(row) >= GAP_AFTER_MS && !isBeingSent(context, row)
  );
  if (waiting.length === 0) return false;
  const held = new Set(open.map(({ submission }) => submission.nonce));
  const { latest, pending } = await replacement.fetchNonces(context.signal);
  const isLate = waiting.some((row) => ageOf(row) >= REPORT_AHEAD_AFTER_MS);
  const isUnknown = latest < pending && submissions.listByNonce(chain, account, latest).length === 0;
  if (isLate && isUnknown) reportForeign(context, latest, "account_shared.ahead");
  let free = pending;
  while (held.has(free)) free++;
  const above = waiting.filter(({ submission: { nonce } }) => nonce !== undefined && nonce > free);
  const isMined = submissions.listByNonce(chain, account, free)
    .some(({ block, updatedAtMs }) => block !== undefined && clock.now() - updatedAtMs < MINED_FOR_MS);
  if (isMined) return false;
  for (const row of above) {
    const detail = `waited above nonce ${free}, which nobody used`;
    await settleByReceipts(context, row, { state: "dropped", detail });
  }
  return above.length > 0;
}

/** Number of blocks after which an extrinsic that is neither in a block nor in the transaction pool is dropped. */
export const EXTRINSIC_PATIENCE_BLOCKS = 3n;

/** Maximum duration of a broadcast, ms: until then a signed submission without a result is left unchanged. */
const BROADCAST_MS = 60_000;

/**
 * Settles a submission that is neither in a block nor pending: broadcasts it again, or drops it when another one may
 * replace it.
 */
async function settleUnknown(context: Settling, row: SubmissionRow): Promise<boolean> {
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
function isBeingSent(context: RelayDeps, row: SubmissionRow): boolean {
  const isNew = context.clock.now() - row.createdAtMs < BROADCAST_MS;
  return row.state === "signed" && row.detail === undefined && isNew;
}

/**
 * Broadcasts the same bytes again, unless one of the messages has been delivered meanwhile or has timed out: the
 * transaction would revert. Others may wait for its nonce: the next delivery takes it, or they are signed again.
 */
async function broadcastAgain(context: Settling, row: SubmissionRow): Promise<boolean> {
  const { target, signal, ledger: { submissions } } = context;
  const carried = readCarried(context, row.id);
  const receipts = await target.reads.fetchReceipts(carried.map(({ message }) => message), signal);
  if (isOwn(target, receipts) && context.clock.now() - row.createdAtMs < UNSEEN_MS) return false;
  const isDelivered = receipts.some((receipt) => receipt !== undefined);
  if (isDelivered || await hasTimedOut(context, carried)) {
    const detail = isDelivered ? "delivered meanwhile" : "a message has timed out";
    await settleByReceipts(context, row, { state: "dropped", detail });
    return true;
  }
  const result = noteBroadcast(context, row.id, await target.sender.broadcast(row.submission, signal));
  if (result === undefined) return submissions.find(row.id)?.state !== row.state;
  if (result.kind === "refused") noteRefusedFunds(context, result.refusal);
  await settleByReceipts(context, row, { state: "dropped", detail: explainRejected(result) });
  return true;
}

/** True when at least one message was delivered, and all deliveries are ours. */
function isOwn({ relayer }: Chain, receipts: readonly (Uint8Array | undefined)[]): boolean {
  const found = receipts.filter((receipt) => receipt !== undefined);
  return relayer !== undefined && found.length > 0 && found.every((receipt) => equalBytes(receipt, relayer));
}
