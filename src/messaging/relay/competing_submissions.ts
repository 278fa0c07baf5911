/**
 * Settles several transactions with one nonce: any of them may be mined, so all hashes are looked up, and the messages
 * are settled once, by the transaction that was mined. Which one counts is decided in `decisions/nonces.ts`.
 */
import type { SubmissionOutcome } from "../../core/chains/port.ts";
import { type SubmissionRow, unresolvedSubmissionStates } from "../ledger/ledger.ts";
import { settleNonce } from "./decisions/nonces.ts";
import { reopen } from "./item_outcomes.ts";
import { reportForeign } from "./foreign_nonces.ts";
import { settleUnknown } from "./rebroadcast.ts";
import {
  type Included,
  isKnownBlock,
  noteInPool,
  settleByReceipts,
  settleRevert,
  settleSuccess,
  type Settling,
} from "./settlement.ts";
import { replaceStuck } from "./replacement.ts";

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
