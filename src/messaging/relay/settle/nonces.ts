/**
 * Nonces of our account on a target: several transactions at one of them, unused ones below ours (gaps), and ones that
 * another program used. What each means is decided in `decisions/nonces.ts`.
 */
import type { SubmissionOutcome } from "../../../core/chains/port.ts";
import { type SubmissionRow, unresolvedSubmissionStates } from "../../ledger/ledger.ts";
import { planNonces, settleNonce } from "../decisions/nonces.ts";
import { reopen } from "./item_outcomes.ts";
import { replaceStuck, sendReplacement, settleUnknown } from "./replacement.ts";
import {
  type Included,
  isKnownBlock,
  noteInPool,
  settleByReceipts,
  settleRevert,
  settleSuccess,
} from "./settlement.ts";
import type { PipelineDeps, ReplacementContext, Settling } from "../leg.ts";
import { bumpPrice } from "../../../core/chains/replacement_policy.ts";
import { highestPriceWei } from "../../../core/chains/evm/gas.ts";
import { priceCaps } from "../decisions/gas_price.ts";
import { isSpendingStopped } from "../limits/spending.ts";

/** Transaction with the nonce, and the outcome of its hash on the chain. */
interface CompetingSubmission {
  readonly row: SubmissionRow;
  readonly outcome: SubmissionOutcome;
}

/**
 * Looks up every transaction ever signed for one nonce. True when something changed.
 * @param rows oldest first, including dropped ones
 */
export async function settleSameNonce(work: Settling, rows: readonly SubmissionRow[]): Promise<boolean> {
  const competitors: CompetingSubmission[] = [];
  for (const row of rows) {
    competitors.push({ row, outcome: await work.target.fetchOutcome(row.submission, work.signal) });
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
      return await takeWinner(work, winner.row, winner.outcome, competitors);
    }
    case "foreign":
      return await takeForeign(work, competitors);
    case "open":
      return await goOn(work, competitors);
  }
}

/** Settles the messages of the mined transaction; the others release messages that only they carried. */
async function takeWinner(
  work: Settling,
  row: SubmissionRow,
  outcome: Included,
  competitors: readonly CompetingSubmission[],
): Promise<boolean> {
  const { deps } = work;
  const { submissions } = deps.ledger;
  const isEnded = row.state === "final" || row.state === "failed";
  // A dropped transaction that was mined counts again.
  if (!isEnded && !isOpen(row)) deps.ledger.transaction(() => reopen(deps, row));
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
  for (const loser of losers) await settleByReceipts(work, loser, { state: "replaced", carried, ...end });
  if (isEnded) return losers.length > 0;
  const winner = submissions.find(row.id) ?? row;
  const isNews = outcome.succeeded
    ? await settleSuccess(work, winner, outcome)
    : await settleRevert(work, winner, outcome);
  return isNews || losers.length > 0;
}

/** Handles a nonce used by a foreign transaction: receipts give the outcome of the messages. */
async function takeForeign(work: Settling, competitors: readonly CompetingSubmission[]): Promise<boolean> {
  const open = competitors.map(({ row }) => row).filter(isOpen);
  reportForeign(work, open[0]?.submission.nonce);
  for (const row of open) await settleByReceipts(work, row, { state: "replaced", detail: "nonce used" });
  return open.length > 0;
}

/**
 * Handles a nonce without a mined transaction: records those that a node knows, replaces one that waits too long,
 * broadcasts the newest.
 */
async function goOn(work: Settling, competitors: readonly CompetingSubmission[]): Promise<boolean> {
  let isNews = false;
  for (const { row, outcome } of competitors) {
    if (!isOpen(row)) continue;
    if (outcome.kind === "pending" && noteInPool(work.deps, row)) isNews = true;
    if (outcome.kind === "unknown" && row.state === "included" && await settleUnknown(work, row)) {
      isNews = true;
    }
  }
  if (isNews) return true;
  if (await replaceStuck(work, competitors.map(({ row }) => row))) return true;
  const newest = competitors.findLast(({ row }) => isOpen(row));
  return newest?.outcome.kind === "unknown" && await settleUnknown(work, newest.row);
}

function isOpen({ state }: SubmissionRow): boolean {
  return unresolvedSubmissionStates.some((open) => open === state);
}

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

/** Minimum interval between reports of foreign use of the account, ms. */
const REPORT_INTERVAL_MS = 24 * 3_600_000;

/** Time after which a second poll confirms a foreign nonce in the mempool, ms. */
const CONFIRM_AFTER_MS = 30_000;

/**
 * Records a nonce in the mempool that the journal does not know. One poll may reach two nodes of which one lags, so the
 * nonce is reported only when a later poll shows it again.
 */
export function noteForeign(work: Pick<Settling, "deps" | "target">, nonce: bigint | undefined): void {
  if (nonce === undefined) return;
  const { ledger, clock } = work.deps;
  const name = `foreign nonce on ${work.target.id.stateMachine}`;
  const [seen = "", sinceMs = "0"] = (ledger.meta.find(name) ?? "").split(" ");
  if (seen !== String(nonce)) ledger.meta.write(name, `${nonce} ${clock.now()}`);
  else if (clock.now() - Number(sinceMs) >= CONFIRM_AFTER_MS) reportForeign(work, nonce);
}

/** Reports it once a day, also across restarts; the consequences are settled in any case. */
export function reportForeign(
  { deps, target }: Pick<Settling, "deps" | "target">,
  nonce: bigint | undefined,
): void {
  if (nonce === undefined) return;
  const chain = target.id.stateMachine;
  const fields = { chain, nonce };
  if (isReported(deps, `foreign use on ${chain}`)) {
    deps.log.debug("foreign_nonce_used", fields);
    return;
  }
  deps.log.warn(
    "account_shared",
    fields,
  );
}

/** True when it was reported less than a day ago; otherwise it counts as reported now. */
function isReported({ ledger, clock }: PipelineDeps, name: string): boolean {
  const nowMs = clock.now();
  const lastReportedMs = Number(ledger.meta.find(name) ?? "0");
  if (nowMs - lastReportedMs < REPORT_INTERVAL_MS) return true;
  ledger.meta.write(name, String(nowMs));
  return false;
}
