/**
 * Submissions that no node knows: handed over again, or given up where another one may take their place.
 */
import type { Chain } from "../../core/chains/port.ts";
import type { SubmissionRow } from "../ledger/ledger.ts";
import { equalBytes } from "../../core/encoding/bytes.ts";
import { readMessageRow, reopen } from "./item_outcomes.ts";
import { noteRefusedFunds } from "./gas_balance.ts";
import type { PipelineDeps } from "./leg.ts";
import { parseRow } from "./message_row.ts";
import { settleByReceipts, type Settling } from "./settlement.ts";

/** Blocks after which an extrinsic that is neither in a block nor in the pool is given up. */
const EXTRINSIC_PATIENCE_BLOCKS = 3n;

/** Time that handing over bytes may take: until then a signed submission without a verdict is left alone, ms. */
const BROADCAST_MS = 60_000;

/** Neither in a block nor in the pool: hand it over again, or give it up where another one may take its place. */
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
  await settleByReceipts(work, row, { state: "dropped", detail: "left the pool" });
  return true;
}

/**
 * Time for which a transaction whose messages have our receipts counts as mined although the nodes asked do not know it:
 * they are behind the one that showed the receipts, alone or behind one URL. Later the receipts are of another one. ms.
 */
const UNSEEN_MS = 60_000;

/** True while the leg may still wait for the answer to the broadcast. */
function isBeingSent(deps: PipelineDeps, row: SubmissionRow): boolean {
  const isNew = deps.clock.now() - row.createdAtMs < BROADCAST_MS;
  return row.state === "signed" && row.detail === undefined && isNew;
}

/**
 * True when later transactions of the account wait for this one: its nonce must be used up, or none of them is ever
 * mined.
 */
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
 * Hands the same bytes over again, unless one of the messages has been delivered meanwhile: it would revert, which
 * is right only if other transactions wait for its nonce.
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

/** True when we have delivered all that was delivered, and something was. */
function isOwn({ relayer }: Chain, receipts: readonly (Uint8Array | undefined)[]): boolean {
  const found = receipts.filter((receipt) => receipt !== undefined);
  return relayer !== undefined && found.length > 0 && found.every((receipt) => equalBytes(receipt, relayer));
}
