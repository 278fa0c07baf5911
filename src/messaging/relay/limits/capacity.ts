/**
 * Room on a target: how many transactions may wait for inclusion at the same time, and how many bytes of proofs and
 * messages one of them may hold.
 */
import type { SignedSubmission } from "../../../core/chains/submission.ts";
import type { SubmissionKind } from "../../ledger/ledger.ts";
import { inFlightLimit, MAX_IN_FLIGHT } from "../decisions/competition.ts";
import { isSpendingStopped, isUnfunded, keepOn } from "./spending.ts";
import type { TargetContext } from "../leg.ts";
import { readCompetition } from "./competitors.ts";
import * as z from "zod";
import { learnMaxBytes, MAX_TRANSACTION_BYTES } from "../../../core/chains/transaction_bytes.ts";

/** True when another transaction to the target may be made now. */
export function hasRoom(context: TargetContext): boolean {
  return countRoom(context) > 0;
}

/** Number of further transactions to the target that may be made now; 0 while the result of a broadcast is unknown. */
export function countRoom(context: TargetContext): number {
  if (isUnfunded(context) || isSpendingStopped(context)) return 0;
  const waiting = context.ledger.submissions.listInFlight(context.target.id.stateMachine)
    .filter(({ kind }) => !HUB_CALLS.includes(kind));
  const max = context.target.capabilities.losesGasOnRace
    ? inFlightLimit(readCompetition(context))
    : MAX_IN_FLIGHT;
  return waiting.every(({ state }) => state === "broadcast") ? Math.max(0, max - waiting.length) : 0;
}

/** Claims and withdrawals: they are sent to the hub alongside messages and share no nonce with them. */
const HUB_CALLS: readonly SubmissionKind[] = ["accumulate", "withdraw", "claim"];

/** Time for which a refusal counts, ms (6 hours): the node may have been replaced by then. */
const REMEMBERED_MS = 6 * 3_600_000;

const size = keepOn("transaction bytes", z.object({ maxBytes: z.number(), atMs: z.number() }));

/** Current maximum size of proofs and messages in one transaction, bytes. */
export function maxTransactionBytes(context: TargetContext): number {
  const { maxBytes = MAX_TRANSACTION_BYTES, atMs = 0 } = size.read(context) ?? {};
  return context.clock.now() - atMs < REMEMBERED_MS ? maxBytes : MAX_TRANSACTION_BYTES;
}

/** Bytes of messages for which one transaction has room beside these proofs; 0 or less: for none. */
export function roomForMessages(
  context: TargetContext,
  proofs: readonly Uint8Array[],
): number {
  const { capabilities, limits } = context.target;
  if (!capabilities.hasNodeSizeLimit) return limits.maxCallBytes;
  const taken = proofs.reduce((sum, { length }) => sum + length, 0);
  return Math.min(limits.maxCallBytes, maxTransactionBytes(context) - taken);
}

/** Records that a node refused a transaction as too large. Call it within a ledger transaction. */
export function noteTooLarge(
  context: TargetContext,
  refused: { readonly submission: Pick<SignedSubmission, "raw">; readonly detail: string },
): void {
  const maxBytes = learnMaxBytes(refused.submission.raw.length, refused.detail);
  size.write(context, { maxBytes, atMs: context.clock.now() });
  context.log.info("transaction_size_reduced", {
    chain: context.target.id.stateMachine,
    refusedBytes: refused.submission.raw.length,
    maxBytes,
    detail: refused.detail,
  });
}
