/**
 * Nonce gaps: unused nonces below one of ours, left by a dropped transaction. Transactions above a gap cannot be mined,
 * so gaps are filled. Which nonces are gaps is decided in `decisions/nonces.ts`.
 */
import type { SubmissionRow } from "../ledger/ledger.ts";
import { bumpPrice } from "../../core/chains/replacement_policy.ts";
import { planNonces } from "./decisions/nonces.ts";
import { highestPriceWei } from "../../core/chains/evm/gas.ts";
import { priceCaps } from "./decisions/price_cap.ts";
import { noteForeign } from "./foreign_nonces.ts";
import { isSpendingStopped } from "./loss_limit.ts";
import type { ReplacementContext } from "./replacement_context.ts";
import type { Settling } from "./settlement.ts";
import { sendReplacement } from "./replacement.ts";

/** Age of a pending transaction after which gaps below it are checked, ms: two slow blocks. */
const GAP_AFTER_MS = 30_000;

/** Fills every gap, and reports foreign transactions in the mempool. True when it sent something. */
export async function fillGaps(work: Settling, replacing: ReplacementContext): Promise<boolean> {
  const { deps, target, signal } = work;
  const waiting = listWaiting(work);
  const oldestMs = waiting.reduce((ms, { createdAtMs }) => Math.min(ms, createdAtMs), Infinity);
  if (deps.clock.now() - oldestMs < GAP_AFTER_MS || isSpendingStopped(deps, target)) return false;
  const nonces = await replacing.chain.fetchNonces(signal);
  const plan = planNonces({
    journal: waiting.flatMap(({ id, submission: { nonce } }) => nonce === undefined ? [] : [{ id, nonce }]),
    latestNonce: nonces.latest,
    pendingNonce: nonces.pending,
  });
  const account = waiting[0]?.submission.account;
  if (account === undefined) return false;
  const rowsAt = (nonce: bigint): SubmissionRow[] =>
    deps.ledger.submissions.listByNonce(target.id.stateMachine, account, nonce);
  noteForeign(work, plan.foreign.find((nonce) => rowsAt(nonce).length === 0));
  let isNews = false;
  for (const nonce of plan.gaps) {
    const rows = rowsAt(nonce);
    // A transaction in a block is not gone: this node has not seen that block.
    if (rows.some(({ block }) => block !== undefined)) continue;
    const old = rows.at(-1) ?? waiting[0];
    if (old !== undefined && await fillGap(work, replacing, { old, nonce })) isNews = true;
  }
  return isNews;
}

/** Lists transactions with nonces that are not in a block. */
function listWaiting({ deps, target }: Settling): SubmissionRow[] {
  return deps.ledger.submissions.listUnresolved(target.id.stateMachine)
    .filter(({ state, submission }) => state !== "included" && submission.nonce !== undefined);
}

/**
 * Sends a zero-value transfer, at a higher price than the dropped transaction, which some node may still hold; at the
 * market price when the market has fallen so far that the higher price is not worth it.
 */
async function fillGap(
  work: Settling,
  { chain }: ReplacementContext,
  { old, nonce }: { readonly old: SubmissionRow; readonly nonce: bigint },
): Promise<boolean> {
  const terms = await chain.fetchReplacementState(old.submission, work.signal);
  const { cancelCapWei } = priceCaps({
    income: { kind: "none" },
    gas: 0n,
    gasLimit: 0n,
    dataCostWei: 0n,
    marketWei: highestPriceWei(terms.market),
    balanceWei: terms.balanceWei,
  });
  const bumped = bumpPrice(terms.offered, terms.market, { capWei: cancelCapWei });
  const isMarketAffordable = highestPriceWei(terms.market) <= cancelCapWei;
  const price = bumped ?? (isMarketAffordable ? terms.market : undefined);
  if (price === undefined) return false;
  const submission = await chain.cancel({ ...old.submission, nonce }, price, work.signal);
  await sendReplacement(work, { old, submission, kind: "cancel", why: "gap" });
  return true;
}
