/**
 * Nonces of our account on a target: several transactions at one of them, unused ones below ours (gaps), and ones that
 * another program used. What each means is decided in `decisions/nonces.ts`.
 */
import type { SubmissionOutcome } from "../../../core/chains/submission.ts";
import { type SubmissionRow, unresolvedSubmissionStates } from "../../ledger/ledger.ts";
import { planNonces, settleNonce } from "../decisions/nonces.ts";
import { reopen } from "./item_outcomes.ts";
import { limitsOf, replaceStuck, sendReplacement, settleUnknown } from "./replacement.ts";
import {
  type Included,
  isKnownBlock,
  notePending,
  settleByReceipts,
  settleRevert,
  settleSuccess,
} from "./settlement.ts";
import type { RelayDeps, ReplacementContext, Settling, TargetContext } from "../leg.ts";
import { bumpPrice } from "../../../core/chains/replacement.ts";
import { highestPriceWei } from "../../../core/chains/evm/gas.ts";
import { priceCaps } from "../decisions/gas_price.ts";

/** Transaction with the nonce, and the outcome of its hash on the chain. */
interface CompetingSubmission {
  readonly row: SubmissionRow;
  readonly outcome: SubmissionOutcome;
}

/**
 * Looks up every transaction ever signed for one nonce. True when something changed.
 * @param rows oldest first, including dropped ones
 */
export async function settleSameNonce(context: Settling, rows: readonly SubmissionRow[]): Promise<boolean> {
  const competitors: CompetingSubmission[] = [];
  for (const row of rows) {
    competitors.push({
      row,
      outcome: await context.target.outcomes.fetchOutcome(row.submission, context.signal),
    });
  }
  // Each `replaced` was looked up twice, so that a block that arrived in between cannot cause it.
  const isFinal = competitors.every(({ outcome }) => outcome.kind === "replaced");
  const settled = settleNonce(
    competitors.map(({ row, outcome }) => ({ id: row.id, outcome: outcome.kind })),
    {
      isFinal,
    },
  );
  switch (settled.kind) {
    case "mined": {
      const winner = competitors.find(({ row }) => row.id === settled.id);
      if (winner?.outcome.kind !== "included") throw new Error("What was mined is not in a block");
      return await settleMined(context, { ...winner, outcome: winner.outcome }, competitors);
    }
    case "foreign":
      return await settleForeign(context, competitors);
    case "open":
      return await settleOpen(context, competitors);
  }
}

/** Settles the messages of the mined transaction; the others release messages that only they carried. */
async function settleMined(
  context: Settling,
  { row, outcome }: { readonly row: SubmissionRow; readonly outcome: Included },
  competitors: readonly CompetingSubmission[],
): Promise<boolean> {
  const { submissions } = context.ledger;
  const isEnded = row.state === "final" || row.state === "failed";
  // A dropped transaction that was mined counts again.
  if (!isEnded && !isOpen(row)) context.ledger.transaction(() => reopen(context, row));
  const losers = competitors.map((competitor) => competitor.row).filter((other) =>
    other.id !== row.id && isOpen(other)
  );
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

/** Handles a nonce used by a foreign transaction: receipts give the outcome of the messages. */
async function settleForeign(
  context: Settling,
  competitors: readonly CompetingSubmission[],
): Promise<boolean> {
  const open = competitors.map(({ row }) => row).filter(isOpen);
  reportForeign(context, open[0]?.submission.nonce);
  for (const row of open) await settleByReceipts(context, row, { state: "replaced", detail: "nonce used" });
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
    if (!isOpen(row)) continue;
    if (outcome.kind === "pending" && notePending(context, row)) hasChanges = true;
    if (outcome.kind === "unknown" && row.state === "included" && await settleUnknown(context, row)) {
      hasChanges = true;
    }
  }
  if (hasChanges) return true;
  if (await replaceStuck(context, competitors.map(({ row }) => row))) return true;
  const newest = competitors.findLast(({ row }) => isOpen(row));
  return newest?.outcome.kind === "unknown" && await settleUnknown(context, newest.row);
}

function isOpen({ state }: SubmissionRow): boolean {
  return unresolvedSubmissionStates.some((open) => open === state);
}

/** Age of a pending transaction after which gaps below it are checked, ms: two slow blocks. */
const GAP_AFTER_MS = 30_000;

/** Fills every gap, and reports foreign transactions in the mempool. True when it sent something. */
export async function fillGaps(context: Settling, replacing: ReplacementContext): Promise<boolean> {
  const { target, signal } = context;
  const waiting = listWaiting(context);
  const oldestMs = waiting.reduce((ms, { createdAtMs }) => Math.min(ms, createdAtMs), Infinity);
  if (context.clock.now() - oldestMs < GAP_AFTER_MS) return false;
  const nonces = await replacing.replacement.fetchNonces(signal);
  const plan = planNonces({
    journal: waiting.flatMap(({ id, submission: { nonce } }) => nonce === undefined ? [] : [{ id, nonce }]),
    latestNonce: nonces.latest,
    pendingNonce: nonces.pending,
  });
  const account = waiting[0]?.submission.account;
  if (account === undefined) return false;
  const rowsAt = (nonce: bigint): SubmissionRow[] =>
    context.ledger.submissions.listByNonce(target.id.stateMachine, account, nonce);
  noteForeign(context, plan.foreign.find((nonce) => rowsAt(nonce).length === 0));
  let hasChanges = false;
  for (const nonce of plan.gaps) {
    const rows = rowsAt(nonce);
    // A transaction in a block is not gone: this node has not seen that block.
    if (rows.some(({ block }) => block !== undefined)) continue;
    const old = rows.at(-1) ?? waiting[0];
    if (old !== undefined && await fillGap(context, replacing, { old, nonce })) hasChanges = true;
  }
  return hasChanges;
}

/** Lists transactions with nonces that are not in a block. */
function listWaiting(context: Settling): SubmissionRow[] {
  return context.ledger.submissions.listUnresolved(context.target.id.stateMachine)
    .filter(({ state, submission }) => state !== "included" && submission.nonce !== undefined);
}

/**
 * Sends a zero-value transfer, at a higher price than the dropped transaction, which some node may still hold; at the
 * market price when the market has fallen so far that the higher price is not worth it.
 */
async function fillGap(
  context: Settling,
  { replacement }: ReplacementContext,
  { old, nonce }: { readonly old: SubmissionRow; readonly nonce: bigint },
): Promise<boolean> {
  const terms = await replacement.fetchReplacementState(old.submission, context.signal);
  const { cancelCapWei } = priceCaps({
    revenue: { kind: "none" },
    gas: 0n,
    gasLimit: 0n,
    dataCostWei: 0n,
    marketWei: highestPriceWei(terms.market),
    balanceWei: terms.balanceWei,
  }, await limitsOf(context, terms, { gasLimit: 0n, nonce }));
  const bumped = bumpPrice(terms.offered, terms.market, { capWei: cancelCapWei });
  const isMarketAffordable = highestPriceWei(terms.market) <= cancelCapWei;
  const price = bumped ?? (isMarketAffordable ? terms.market : undefined);
  if (price === undefined) return false;
  const submission = await replacement.cancel({ ...old.submission, nonce }, price, context.signal);
  await sendReplacement(context, { old, submission, kind: "cancel", why: "gap" });
  return true;
}

/** Minimum interval between reports of foreign use of the account, ms. */
const REPORT_INTERVAL_MS = 24 * 3_600_000;

/** Time after which a second poll confirms a foreign nonce in the mempool, ms. */
const CONFIRM_AFTER_MS = 30_000;

/**
 * Records a nonce in the mempool that the journal does not know. One poll may reach two nodes of which one lags, so the
 * nonce is reported only when a later poll shows it again.
 */
export function noteForeign(context: TargetContext, nonce: bigint | undefined): void {
  if (nonce === undefined) return;
  const { ledger, clock } = context;
  const name = `foreign nonce on ${context.target.id.stateMachine}`;
  const [seen = "", sinceMs = "0"] = (ledger.meta.find(name) ?? "").split(" ");
  if (seen !== String(nonce)) ledger.meta.write(name, `${nonce} ${clock.now()}`);
  else if (clock.now() - Number(sinceMs) >= CONFIRM_AFTER_MS) reportForeign(context, nonce);
}

/** Reports it once a day, also across restarts; the consequences are settled in any case. */
export function reportForeign(
  context: TargetContext,
  nonce: bigint | undefined,
): void {
  if (nonce === undefined) return;
  const chain = context.target.id.stateMachine;
  const fields = { chain, nonce };
  if (isReported(context, `foreign use on ${chain}`)) {
    context.log.debug("foreign_nonce_used", fields);
    return;
  }
  context.log.warn(
    "account_shared",
    fields,
  );
}

/** True when it was reported less than a day ago; otherwise it counts as reported now. */
function isReported({ ledger, clock }: RelayDeps, name: string): boolean {
  const nowMs = clock.now();
  const lastReportedMs = Number(ledger.meta.find(name) ?? "0");
  if (nowMs - lastReportedMs < REPORT_INTERVAL_MS) return true;
  ledger.meta.write(name, String(nowMs));
  return false;
}
