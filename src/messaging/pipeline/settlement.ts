/**
 * Writes down what became of one submission: its own effect, or what the receipts of its messages say. Outcome and
 * delivery records are one ledger transaction (docs/architecture/messaging.md, I4).
 */
import type { Chain, RefusalCode, SubmissionOutcome } from "../../core/chains/chain.ts";
import type { SubmissionRow } from "../../core/ledger/ledger.ts";
import type { Hash256 } from "../../core/protocol/bytes.ts";
import { fatesByEvents, fatesByReceipts, isLostRace } from "../decisions/outcome.ts";
import { applyFate, applyFates, finalise, messageRowOf, reopen, tryAgain } from "./fate.ts";
import type { PipelineDeps, PipelineSettings } from "./leg.ts";
import { messageOf } from "./message_row.ts";
import type { Replacing } from "./replacing.ts";
import { rememberRivals, rememberVainProofs, rememberWin } from "./rivals.ts";
import { noteSpent, type Paid, readPaid } from "./spending.ts";

/** A submission that is in a block. */
export type Included = Extract<SubmissionOutcome, { kind: "included" }>;

/** What settling shares. */
export interface Settling {
  readonly deps: PipelineDeps;
  readonly settings: PipelineSettings;
  readonly sink: Chain;
  /** How transactions take the place of one another; absent where they have no nonces. */
  readonly replacing: Replacing | undefined;
  readonly signal: AbortSignal;
}

/** In the pool (again): a block that held it is gone, or the answer to the broadcast was lost. */
export function noteInPool(deps: PipelineDeps, row: SubmissionRow): boolean {
  if (row.state === "broadcast") return false;
  deps.ledger.transaction(() => reopen(deps, row));
  return true;
}

/** True when the block is the one that the journal knows. */
export function isKnownBlock(row: SubmissionRow, outcome: Included): boolean {
  return row.state === "included" && row.block?.hash === outcome.block.hash;
}

/** Records a transaction that succeeded; true when something changed. */
export async function settleSuccess(
  work: Settling,
  row: SubmissionRow,
  outcome: Included,
): Promise<boolean> {
  const { deps } = work;
  const isKnown = isKnownBlock(row, outcome);
  if (isKnown && !outcome.isFinal) return false;
  const paid = isKnown ? undefined : await readPaidBy(work, outcome);
  deps.ledger.transaction(() => {
    if (!isKnown) {
      recordInclusion(work, row, outcome);
      noteSpent(deps, row, paid, { hasTaught: outcome.hasTaught });
    }
    deps.ledger.submissions.update(row.id, {
      state: outcome.isFinal ? "final" : "included",
      block: outcome.block,
    });
    if (outcome.isFinal) finalise(deps, row);
  });
  return true;
}

function readPaidBy({ replacing, signal }: Settling, outcome: Included): Promise<Paid | undefined> {
  return readPaid(outcome, replacing?.profit?.price, signal);
}

/** Writes the fate of each message of a successful transaction, as the host's events tell it. */
function recordInclusion({ deps, settings, sink }: Settling, row: SubmissionRow, outcome: Included): void {
  if (row.state === "included") reopen(deps, row);
  const items = deps.ledger.submissions.itemsOf(row.id);
  const ourself = ourselfOn(sink);
  const fates = fatesByEvents(items.map(({ requestCommitment }) => requestCommitment), outcome, ourself);
  const seen = { kind: "included", block: outcome.block, isFinal: outcome.isFinal } as const;
  const ends = items.map((item, index) => ({ item, fate: fates[index] ?? "undelivered" }));
  applyFates(deps, settings, { sink, row, ourself, seen }, ends);
  if (row.kind !== "delivery") return;
  if (outcome.hasTaught !== false) return rememberWin(deps, sink);
  rememberVainProofs(deps, sink);
  deps.log.info("proofs_wasted", {
    chain: sink.id.stateMachine,
    transaction: row.submission.hash,
  });
}

function ourselfOn(sink: Chain): Uint8Array {
  if (sink.relayer === undefined) throw new Error(`No relayer address on ${sink.id.stateMachine}`);
  return sink.relayer;
}

/** Reverted: it stays under observation until that is final, since another block may let it succeed. */
export async function settleRevert(work: Settling, row: SubmissionRow, outcome: Included): Promise<boolean> {
  const detail = outcome.refusal?.detail ?? "reverted";
  const state = outcome.isFinal ? "failed" : "included";
  if (!isKnownBlock(row, outcome)) {
    const { block, refusal } = outcome;
    const paid = await readPaidBy(work, outcome);
    await settleByReceipts(work, row, { state, detail, block, code: refusal?.code, paid });
    return true;
  }
  if (!outcome.isFinal) return false;
  const { deps } = work;
  deps.ledger.transaction(() => void deps.ledger.submissions.update(row.id, { state, block: outcome.block }));
  return true;
}

/** How a submission without an effect of its own ends. */
export interface EndWithoutEffect {
  readonly state: "failed" | "included" | "replaced" | "dropped";
  readonly detail: string;
  /** Block in which it was reverted. */
  readonly block?: Included["block"];
  /** Why it was reverted, where that could be found out. */
  readonly code?: RefusalCode | undefined;
  /** What it cost there. */
  readonly paid?: Paid | undefined;
  /** Why its messages wait; they lost a race when absent. */
  readonly reason?: "stuck" | undefined;
  /** Messages that the transaction mined instead carries, which settles them. */
  readonly carried?: ReadonlySet<Hash256> | undefined;
}

/** Settles a submission without an effect of its own by what the receipts of its messages say now. */
export async function settleByReceipts(
  work: Settling,
  row: SubmissionRow,
  end: EndWithoutEffect,
): Promise<void> {
  const { deps, settings, sink, signal } = work;
  const all = deps.ledger.submissions.itemsOf(row.id);
  const items = all.filter(({ commitment }) => !end.carried?.has(commitment));
  const messages = items.map((item) => messageOf(messageRowOf(deps, item)));
  const height = end.block?.height;
  const found = await sink.fetchCertainReceipts(messages, { height }, signal);
  // What is not certain yet is looked for again before the message goes once more.
  const receipts = found.map((receipt) => receipt.kind === "certain" ? receipt.value : undefined);
  const head = await sink.fetchHeight(signal);
  const ourself = ourselfOn(sink);
  const fates = fatesByReceipts(receipts, ourself);
  const isRace = isLostRace(fates);
  const isReverted = end.block !== undefined;
  const others = receipts.filter((relayer, index) =>
    relayer !== undefined && fates[index] === "delivered_by_other"
  ).flatMap((relayer) => relayer === undefined ? [] : [relayer]);
  deps.ledger.transaction(() => {
    // What an earlier block had written for it does not hold any more.
    if (row.state === "included") reopen(deps, row);
    for (const { commitment } of all) deps.ledger.submissions.settleItem(row.id, commitment, "not_handled");
    rememberRivals(deps, sink, others, isReverted);
    for (const [index, item] of items.entries()) {
      const fate = fates[index] ?? "undelivered";
      applyFate(deps, settings, { sink, row, item, fate, ourself, seen: { kind: "receipt", head } });
      if (fate === "undelivered") {
        tryAgain(deps, settings, { sink, row, item, isRace, isReverted, members: all.length, ...end });
      }
    }
    deps.ledger.submissions.update(row.id, { state: end.state, detail: end.detail, block: end.block });
    noteSpent(deps, row, end.paid, { hasTaught: undefined, reverted: isRace ? "lost_race" : "reverted" });
  });
  deps.log.info("transaction_ineffective", {
    chain: sink.id.stateMachine,
    transaction: row.submission.hash,
    outcome: isReverted ? "reverted" : end.state,
    detail: end.detail,
  });
}
