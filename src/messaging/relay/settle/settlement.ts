/**
 * Records what became of one submission: its own effect, or what the receipts of its messages say. Outcome and delivery
 * records are one ledger transaction (docs/architecture/messaging.md, I4).
 */
import type { Chain } from "../../../core/chains/port.ts";
import type { SubmissionOutcome } from "../../../core/chains/submission.ts";
import type { SubmissionRow } from "../../ledger/ledger.ts";
import { fromHex, type Hash256 } from "../../../core/encoding/bytes.ts";
import { type DeliveryOutcome, judgeRecorded } from "../decisions/retry_schedule.ts";
import { applyOutcomes, type EndWithoutEffect, finalise, reopen, scheduleRetry } from "./item_outcomes.ts";
import { parseRow, readMessageRow } from "../messages.ts";
import type { Settling } from "../leg.ts";
import { rememberCompetitors, rememberWin } from "../limits/competitors.ts";
import { noteProofs } from "../limits/proof_costs.ts";
import { noteSpent, type Paid, readPaid } from "../limits/spending.ts";

/** Submission that is in a block. */
export type Included = Extract<SubmissionOutcome, { kind: "included" }>;

/** True when the block is the one in the journal. */
export function isKnownBlock(row: SubmissionRow, outcome: Included): boolean {
  return row.state === "included" && row.block?.hash === outcome.block.hash;
}

/** Records a transaction that succeeded; true when something changed. */
export async function settleSuccess(
  context: Settling,
  row: SubmissionRow,
  outcome: Included,
): Promise<boolean> {
  const isKnown = isKnownBlock(row, outcome);
  if (isKnown && !outcome.isFinal) return false;
  const paid = isKnown ? undefined : await readPaid(context, outcome);
  const outcomes = isKnown ? [] : await readOutcomes(context, row, outcome);
  if (outcomes === undefined) return false;
  context.ledger.transaction(() => {
    if (!isKnown) {
      recordInclusion(context, { row, outcome, outcomes });
      noteSpent(context, row, { paid, advancedClient: outcome.advancedClient });
    }
    context.ledger.submissions.update(row.id, {
      state: outcome.isFinal ? "final" : "included",
      block: outcome.block,
    });
    if (outcome.isFinal) finalise(context, row);
  });
  return true;
}

/**
 * Reads the outcome of each message of a successful transaction: from the host's events, and from its receipts where
 * there is no event, since a node may leave out logs. `undefined`: endpoints do not agree about a receipt yet.
 */
async function readOutcomes(
  context: Settling,
  row: SubmissionRow,
  outcome: Included,
): Promise<readonly DeliveryOutcome[] | undefined> {
  const items = context.ledger.submissions.itemsOf(row.id);
  const ourself = ourselfOn(context.target, row);
  const relayerOf = new Map(outcome.handled.map(({ commitment, relayer }) => [commitment, relayer]));
  const outcomes = items.map(({ requestCommitment }): DeliveryOutcome =>
    judgeRecorded(relayerOf.get(requestCommitment), ourself, "not_executed")
  );
  const silent = [...items.keys()].filter((index) => outcomes[index] === "not_executed");
  if (silent.length === 0) return outcomes;
  const messages = silent.flatMap((index) => items[index] ?? [])
    .map((item) => parseRow(readMessageRow(context, item)));
  const { height } = outcome.block;
  const found = await context.target.certain.fetchCertainReceipts(messages, { height }, context.signal);
  if (!outcome.isFinal && found.some(({ kind }) => kind === "unsure")) return undefined;
  for (const [position, index] of silent.entries()) {
    const receipt = found[position];
    const relayer = receipt?.kind === "certain" ? receipt.value : undefined;
    outcomes[index] = judgeRecorded(relayer, ourself, "not_executed");
  }
  return outcomes;
}

/** Records the outcome of each message of a successful transaction. */
function recordInclusion(
  context: Settling,
  { row, outcome, outcomes }: {
    readonly row: SubmissionRow;
    readonly outcome: Included;
    readonly outcomes: readonly DeliveryOutcome[];
  },
): void {
  if (row.state === "included") reopen(context, row);
  const items = context.ledger.submissions.itemsOf(row.id);
  const ourself = ourselfOn(context.target, row);
  const seen = { kind: "included", block: outcome.block, isFinal: outcome.isFinal } as const;
  const ends = items.map((item, index) => ({ item, outcome: outcomes[index] ?? "undelivered" }));
  applyOutcomes(context, { row, ourself, seen }, ends);
  if (row.kind !== "delivery") return;
  const { advancedClient } = outcome;
  if (advancedClient !== undefined) noteProofs(context, advancedClient);
  if (advancedClient !== false) return rememberWin(context);
  // Only lost messages are a lost race: a proof that came second changes who carries the next one.
  if (outcomes.includes("delivered_by_other")) rememberCompetitors(context, { relayers: [], isLoss: true });
  else if (items.length > 0) rememberWin(context);
  context.log.info("proofs_overtaken.wasted", {
    chain: context.target.id.stateMachine,
    transaction: row.submission.hash,
  });
}

/** Our address in receipts; of a chain that has become only a source, that of the account that signed. */
function ourselfOn({ relayer }: Chain, { submission: { account } }: SubmissionRow): Uint8Array {
  return relayer ?? fromHex(account ?? "0x");
}

/** Records a revert; the submission is polled until that is final, since it may succeed in another block. */
export async function settleRevert(
  context: Settling,
  row: SubmissionRow,
  outcome: Included,
): Promise<boolean> {
  const detail = outcome.refusal?.detail ?? "reverted";
  const state = outcome.isFinal ? "failed" : "included";
  if (!isKnownBlock(row, outcome)) {
    const { block, refusal } = outcome;
    const paid = await readPaid(context, outcome);
    await settleByReceipts(context, row, { state, detail, block, code: refusal?.code, paid });
    return true;
  }
  if (!outcome.isFinal) return false;
  context.ledger.transaction(() =>
    void context.ledger.submissions.update(row.id, { state, block: outcome.block })
  );
  return true;
}

/**
 * Settles a submission without an effect of its own by the current receipts of its messages. True when one of them is
 * ours.
 */
export async function settleByReceipts(
  context: Settling,
  row: SubmissionRow,
  end: EndWithoutEffect & {
    /** Its cost in its block. */
    readonly paid?: Paid | undefined;
    /** Messages carried by the transaction that was mined instead, which settles them. */
    readonly carried?: ReadonlySet<Hash256> | undefined;
  },
): Promise<boolean> {
  const { target, signal } = context;
  const all = context.ledger.submissions.itemsOf(row.id);
  const items = all.filter(({ commitment }) => !end.carried?.has(commitment));
  const messages = items.map((item) => parseRow(readMessageRow(context, item)));
  const height = end.block?.height;
  const found = await target.certain.fetchCertainReceipts(messages, { height }, signal);
  // An uncertain receipt is read again before the message is sent again.
  const receipts = found.map((receipt) => receipt.kind === "certain" ? receipt.value : undefined);
  const head = await target.reads.fetchHeight(signal);
  const ourself = ourselfOn(target, row);
  const outcomes = receipts.map((relayer): DeliveryOutcome => judgeRecorded(relayer, ourself, "undelivered"));
  const others = receipts.flatMap((relayer, index) =>
    outcomes[index] === "delivered_by_other" ? relayer ?? [] : []
  );
  const isRace = others.length > 0;
  const isReverted = end.block !== undefined;
  context.ledger.transaction(() => {
    // What was recorded for an earlier block is no longer valid.
    if (row.state === "included") reopen(context, row);
    context.ledger.submissions.settleItems(row.id, all.map(({ commitment }) => commitment), "not_handled");
    rememberCompetitors(context, { relayers: others, isLoss: isReverted && isRace });
    const ends = items.map((item, index) => ({ item, outcome: outcomes[index] ?? "undelivered" }));
    applyOutcomes(context, { row, ourself, seen: { kind: "receipt", head } }, ends);
    for (const { item, outcome } of ends) {
      if (outcome !== "undelivered") continue;
      scheduleRetry(context, { ...end, row, item, isRace, members: all.length });
    }
    context.ledger.submissions.update(row.id, { state: end.state, detail: end.detail, block: end.block });
    noteSpent(context, row, {
      paid: end.paid,
      advancedClient: undefined,
      reverted: isRace ? "lost_race" : "reverted",
    });
  });
  context.log.info("transaction_failed.ineffective", {
    chain: target.id.stateMachine,
    transaction: row.submission.hash,
    outcome: isReverted ? "reverted" : end.state,
    detail: end.detail,
  });
  return outcomes.includes("delivered");
}
