/**
 * Applies the outcome of a submission to its messages, journal items and delivery records. Everything here belongs in
 * one ledger transaction with the change of the submission itself (docs/architecture/messaging.md, I4).
 */
import type { BlockRef, RefusalCode } from "../../../core/chains/submission.ts";
import {
  type DeliveryBlock,
  isUnresolved,
  type ItemOutcome,
  mayFollow,
  type MessageRow,
  type SubmissionItemRow,
  type SubmissionRow,
} from "../../ledger/ledger.ts";
import { type DeliveryOutcome, isRevertOfChain, nextAttemptMs } from "../decisions/retry_schedule.ts";
import { recordDeliveries, recordFoundReceipt } from "../receipts.ts";
import type { RelayDeps, TargetContext } from "../leg.ts";
import { endAll, hold, readMessageRow, toCandidate, transition } from "../messages.ts";
import { readBackoffMs } from "../limits/competitors.ts";
import { findStrangers, forgetFailure, noteExecuted, noteNotExecuted } from "../limits/suspension.ts";

/** Maximum random pause before an immediate retry, ms, so that competitors spread out. */
const RACE_PAUSE_MS = 4_000;

/** Number of reverts followed by an immediate retry, before the schedule of failures applies. */
const PROMPT_ATTEMPTS = 2;

/** How the outcomes of a submission were found. */
export interface OutcomeSource {
  readonly row: SubmissionRow;
  readonly ourself: Uint8Array;
  /** Block of the submission itself, or the head at which receipts were found. */
  readonly seen:
    | { readonly kind: "included"; readonly block: DeliveryBlock; readonly isFinal: boolean }
    | { readonly kind: "receipt"; readonly head: bigint };
}

/**
 * Applies the outcomes of items of a submission to the message rows, the delivery records and the journal. A message that
 * ended meanwhile keeps its state; its revenue is recorded anyway.
 */
export function applyOutcomes(
  context: TargetContext,
  work: OutcomeSource,
  items: readonly { readonly item: SubmissionItemRow; readonly outcome: DeliveryOutcome }[],
): void {
  const { ledger: { submissions } } = context;
  const { row, seen, ourself } = work;
  const messagesOf = (outcome: DeliveryOutcome): readonly MessageRow[] =>
    items.filter((each) => each.outcome === outcome).map(({ item }) => readMessageRow(context, item));
  const settle = (messages: readonly MessageRow[], outcome: ItemOutcome): void => {
    if (messages.length === 0) return;
    submissions.settleItems(row.id, messages.map(({ commitment }) => commitment), outcome);
  };
  const { hash } = row.submission;
  const seenAt = seen.kind === "receipt" ? seen.head : seen.block.height;
  const end = (messages: readonly MessageRow[], to: "delivered" | "delivered_by_other"): void => {
    const open = messages.filter(({ state }) => state !== to && mayFollow(state, to));
    endAll(context, open, { to, hash, seenAt });
  };
  const [ours, theirs] = [messagesOf("delivered"), messagesOf("delivered_by_other")];
  const failed = messagesOf("not_executed");
  if (ours.length > 0) {
    if (seen.kind === "included") {
      recordDeliveries(context, ours, {
        relayer: ourself,
        txHash: hash,
        block: seen.block,
        isFinal: seen.isFinal,
      });
    } else {
      for (const message of ours) recordFoundReceipt(context, message, { relayer: ourself, head: seen.head });
    }
    noteExecuted(context, ours, row.createdAtMs);
  }
  settle(ours, "handled");
  end(ours, "delivered");
  settle(theirs, "by_other");
  end(theirs, "delivered_by_other");
  settle([...failed, ...messagesOf("undelivered")], "not_handled");
  for (const message of failed) holdNotExecuted(context, row, message);
}

/** Suspends the pair of a message that was mined without effect, and holds the message. */
function holdNotExecuted(context: TargetContext, row: SubmissionRow, message: MessageRow): void {
  const { hash } = row.submission;
  const notBeforeMs = noteNotExecuted(context, { row: message, transaction: hash }) ?? 0;
  if (!isOursAlone(context, row, message)) return;
  const executed = transition(context, message, { to: "not_executed", reason: "not_executed", hash });
  hold(context, executed, {
    reason: "not_executed",
    retryClass: message.target === context.settings.hub ? "hub_refused" : "failed",
    detail: "mined, but the host recorded no delivery: the receiving module failed",
    notBeforeMs,
  });
}

/** True when the message waits for this submission and for no other one. */
function isOursAlone(context: RelayDeps, row: SubmissionRow, message: MessageRow): boolean {
  return message.state === "submitted" && rolesElsewhere(context, row, message).length === 0;
}

/** What other submissions are to a message: `handled` it, or `open`, which means that they may still do so. */
function rolesElsewhere(
  { ledger: { submissions } }: RelayDeps,
  row: SubmissionRow,
  { commitment, target }: MessageRow,
): readonly ("handled" | "open")[] {
  return submissions.listByItem(commitment, target).flatMap((other) => {
    if (other.id === row.id) return [];
    const isOpen = isUnresolved(other);
    if (!isOpen && other.state !== "final") return [];
    const item = submissions.itemsOf(other.id).find((each) => each.commitment === commitment);
    if (item?.outcome === "handled") return ["handled"];
    return isOpen && item?.outcome === undefined ? ["open"] : [];
  });
}

/** Marks the deliveries of a final transaction as final. */
export function finalise(context: RelayDeps, row: SubmissionRow): void {
  const handled = context.ledger.submissions.itemsOf(row.id).filter(({ outcome }) => outcome === "handled");
  const [first] = handled;
  if (first === undefined) return;
  context.ledger.deliveries.markAllFinal(handled.map((item) => item.requestCommitment), first.target);
}

/** Reverts what was recorded for a block that no longer exists; the messages count as submitted again. */
export function reopen(context: RelayDeps, row: SubmissionRow): void {
  const { deliveries } = context.ledger;
  for (const item of context.ledger.submissions.itemsOf(row.id)) {
    const message = readMessageRow(context, item);
    // The record of this transaction goes, whatever becomes of the message: nothing else would end it.
    const recorded = deliveries.find(item.requestCommitment, item.target);
    if (recorded?.txHash === row.submission.hash) deliveries.remove(item.requestCommitment, item.target);
    if (message.state === "submitted") continue;
    // What counts as delivered must have been delivered by somebody; what waits may wait for the other submission.
    const roles = rolesElsewhere(context, row, message);
    const isDelivered = message.state === "delivered" || message.state === "delivered_by_other";
    if (isDelivered ? roles.includes("handled") : roles.length > 0) continue;
    if (item.outcome === "handled") deliveries.remove(item.requestCommitment, item.target);
    if (message.state !== "ready" && !mayFollow(message.state, "ready")) continue;
    const ready = message.state === "ready"
      ? message
      : transition(context, message, { to: "ready", detail: "block reorganised" });
    transition(context, ready, { to: "submitted", hash: row.submission.hash });
  }
  forgetFailure(context, row);
  context.ledger.submissions.reopenItems(row.id);
  context.ledger.submissions.update(row.id, { state: "broadcast" });
}

/** End of a submission without an effect of its own. */
export interface EndWithoutEffect {
  readonly state: "failed" | "included" | "replaced" | "dropped";
  readonly detail: string;
  /** Block in which it was reverted. */
  readonly block?: BlockRef | undefined;
  /** Reason of the revert, if known. */
  readonly code?: RefusalCode | undefined;
  /** Reason why its messages wait; they lost a race when absent. */
  readonly reason?: "stuck" | undefined;
}

/** A message on which a submission had no effect. */
interface Undelivered extends EndWithoutEffect {
  readonly row: SubmissionRow;
  readonly item: SubmissionItemRow;
  /** True: another relayer delivered a message of the submission. */
  readonly isRace: boolean;
  /** Number of messages that the submission carried. */
  readonly members: number;
}

/**
 * Schedules another attempt for an undelivered message: soon after a lost race, in a smaller batch after a revert
 * together with others, and later when it made a transaction revert by itself.
 */
export function scheduleRetry(context: TargetContext, why: Undelivered): void {
  const message = readMessageRow(context, why.item);
  if (!isOursAlone(context, why.row, message)) return;
  const nowMs = context.clock.now();
  const pauseMs = Math.round(context.random.fraction() * RACE_PAUSE_MS);
  const { detail } = why;
  if (why.isRace || why.block === undefined) {
    const waitMs = Math.max(pauseMs, readBackoffMs(context, message, 0));
    transition(context, message, {
      to: "ready",
      reason: why.reason ?? "race",
      detail,
      nextAttemptAtMs: nowMs + waitMs,
    });
    return;
  }
  const soon = { reason: "reverted", detail, nextAttemptAtMs: nowMs + pauseMs } as const;
  const reverts = countReverts(context, message);
  if (isRevertOfChain(why.code)) {
    const nextAttemptAtMs = nextAttemptMs({
      retryClass: "transient",
      attempts: reverts + 1,
      nowMs,
      retryFrequencySec: undefined,
      jitter: context.random.fraction(),
    });
    const attempts = message.attempts + 1;
    return void transition(context, message, { to: "held", ...soon, nextAttemptAtMs, attempts });
  }
  if (why.members > 1) {
    // Any of the members may be the cause.
    return void transition(context, message, {
      to: "ready",
      ...soon,
      batchLimit: Math.ceil(why.members / 2),
    });
  }
  // The reason is found: messages that were unprofitable in small batches may use large ones again.
  context.ledger.messages.liftBatchLimits(message.source, message.target, "unprofitable");
  const isStranger = findStrangers(context, toCandidate(message)).size > 0;
  // Its module cannot help that it comes too late. One message of a proven pair says nothing about the others.
  const isFailure = why.code !== "timed_out" && why.code !== "duplicate";
  const notBeforeMs = isFailure && isStranger
    ? noteNotExecuted(context, { row: message, transaction: why.row.submission.hash })
    : undefined;
  if (notBeforeMs === undefined && reverts < PROMPT_ATTEMPTS) {
    return void transition(context, message, { to: "held", ...soon, attempts: message.attempts + 1 });
  }
  const retryClass = message.target === context.settings.hub ? "hub_refused" : "failed";
  hold(context, message, { reason: "reverted", retryClass, detail, notBeforeMs });
}

/** Counts earlier reverts of transactions with the message, lost races excluded. */
function countReverts(context: RelayDeps, message: MessageRow): number {
  const { submissions } = context.ledger;
  return submissions.listByItem(message.commitment, message.target).filter(({ id, state }) =>
    state === "failed" && submissions.itemsOf(id).every(({ outcome }) => outcome !== "by_other")
  ).length;
}
