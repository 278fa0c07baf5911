/** Submissions that no node knows: broadcast again, or dropped when another one may replace them. */
import type { Chain } from "../../core/chains/port.ts";
import type { SubmissionRow } from "../ledger/ledger.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import { readMessageRow, reopen } from "./item_outcomes.ts";
import { noteRefusedFunds } from "./gas_balance.ts";
import type { PipelineDeps } from "./leg.ts";
import { parseRow } from "./message_row.ts";
import { settleByReceipts, type Settling } from "./settlement.ts";

/** Number of blocks after which an extrinsic that is neither in a block nor in the transaction pool is dropped. */
const EXTRINSIC_PATIENCE_BLOCKS = 3n;

/** Maximum duration of a broadcast, ms: until then a signed submission without a result is left unchanged. */
const BROADCAST_MS = 60_000;

/**
 * Settles a submission that is neither in a block nor pending: broadcasts it again, or drops it when another one may
 * replace it.
 */
export async function settleUnknown(work: Settling, row: SubmissionRow): Promise<boolean> {
  const { deps, target, signal } = work;
  if (row.state === "included") {
    deps.log.warn("transaction_reorganised", {
      chain: target.id.stateMachine,
      transaction: row.submission.hash,
    });
    deps.ledger.transaction(() => reopen(deps, row));
    return true;
  }
  if (isBeingSent(deps, row)) return false;
  if (row.submission.nonce !== undefined) return await broadcastAgain(work, row);
  const head = await target.fetchHeight(signal);
  if (head < row.submission.madeAtHeight + EXTRINSIC_PATIENCE_BLOCKS) return false;
  await settleByReceipts(work, row, { state: "dropped", detail: "left the transaction pool" });
  return true;
}

/**
 * Time for which a transaction whose messages have our receipts counts as mined although the queried nodes do not know
 * it, ms: they may lag behind the node that returned the receipts. After that the receipts are attributed to another
 * transaction.
 */
const UNSEEN_MS = 60_000;

/** True while the leg may still wait for the response to the broadcast. */
function isBeingSent(deps: PipelineDeps, row: SubmissionRow): boolean {
  const isNew = deps.clock.now() - row.createdAtMs < BROADCAST_MS;
  return row.state === "signed" && row.detail === undefined && isNew;
}

/** True when later transactions of the account wait for this one: none of them can be mined until its nonce is used. */
function holdsNonceForOthers(deps: PipelineDeps, row: SubmissionRow): boolean {
  const { account, chain, nonce } = row.submission;
  if (nonce === undefined) return false;
  const waiting = deps.ledger.submissions.listUnresolved(chain)
    .filter(({ id, state, submission }) =>
      id !== row.id && state !== "included" && submission.account === account
    ).flatMap(({ submission }) => submission.nonce === undefined ? [] : [submission.nonce]);
  return waiting.some((other) => other > nonce) && !waiting.includes(nonce);
}

/**
 * Broadcasts the same bytes again, unless one of the messages has been delivered meanwhile: the transaction would
 * revert, which is only acceptable if other transactions wait for its nonce.
 */
async function broadcastAgain(work: Settling, row: SubmissionRow): Promise<boolean> {
  const { deps, target, signal } = work;
  const messages = deps.ledger.submissions.itemsOf(row.id).map((item) =>
    parseRow(readMessageRow(deps, item))
  );
  const receipts = await target.fetchReceipts(messages, signal);
  if (isOwn(target, receipts) && deps.clock.now() - row.createdAtMs < UNSEEN_MS) return false;
  const mustStay = holdsNonceForOthers(deps, row);
  if (!mustStay && receipts.some((receipt) => receipt !== undefined)) {
    await settleByReceipts(work, row, { state: "dropped", detail: "delivered meanwhile" });
    return true;
  }
  const result = await target.broadcast(row.submission, signal);
  switch (result.kind) {
    case "sent":
    case "alreadyKnown":
      deps.ledger.transaction(() => void deps.ledger.submissions.update(row.id, { state: "broadcast" }));
      return row.state !== "broadcast";
    case "nonceUsed":
      return false; // the next round sees the receipt or the other transaction
    case "underpriced":
    case "refused": {
      if (result.kind === "refused") noteRefusedFunds(deps, target, result.refusal);
      if (mustStay) return false;
      const detail = result.kind === "refused" ? result.refusal.detail : result.kind;
      await settleByReceipts(work, row, { state: "dropped", detail });
      return true;
    }
  }
}

/** True when at least one message was delivered, and all deliveries are ours. */
function isOwn({ relayer }: Chain, receipts: readonly (Uint8Array | undefined)[]): boolean {
  const found = receipts.filter((receipt) => receipt !== undefined);
  return relayer !== undefined && found.length > 0 && found.every((receipt) => equalBytes(receipt, relayer));
}
