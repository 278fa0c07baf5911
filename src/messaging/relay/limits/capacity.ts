/**
 * Our account on a target: its nonces, how many of its transactions may wait for inclusion at the same time, and how many
 * bytes of proofs and messages one of them may hold.
 */
import type { BroadcastResult, SignedSubmission, SigningInput } from "../../../core/chains/submission.ts";
import { toHex } from "../../../core/encoding/bytes.ts";
import type { MessageRow, SubmissionKind } from "../../ledger/ledger.ts";
import { inFlightLimit, MAX_IN_FLIGHT } from "../limits/competitors.ts";
import { findUnspendable, keepOn, noteFunded, noteRefusedFunds } from "./spending.ts";
import { hold, type Judge, transition } from "../messages.ts";
import { type Leg, legName, type RelayDeps, type TargetContext } from "../leg.ts";
import { readCompetition } from "./competitors.ts";
import { NEVER_MS } from "../decisions/retry_schedule.ts";
import { keepFault, RpcFault } from "../../../core/rpc/call.ts";
import * as z from "zod";
import {
  learnMaxBytes,
  limitNamedIn,
  MAX_TRANSACTION_BYTES,
} from "../../../core/chains/transaction_bytes.ts";

/** True when another transaction to the target may be made now. */
export function hasRoom(context: TargetContext): boolean {
  return countRoom(context) > 0;
}

/** Number of further transactions to the target that may be made now; 0 while the result of a broadcast is unknown. */
export function countRoom(context: TargetContext): number {
  if (findUnspendable(context) !== undefined) return 0;
  const waiting = context.ledger.submissions.listInFlight(context.target.id.stateMachine)
    .filter(({ kind }) => !HUB_CALLS.includes(kind));
  const isOneAtATime = context.clock.now() - (oneInFlight.read(context) ?? -Infinity) < REMEMBERED_MS;
  if (isOneAtATime) return waiting.length === 0 ? 1 : 0;
  const max = context.target.capabilities.losesGasOnRace
    ? inFlightLimit(readCompetition(context), context.clock.now())
    : MAX_IN_FLIGHT;
  return waiting.every(({ state }) => state === "broadcast") ? Math.max(0, max - waiting.length) : 0;
}

/** Claims and withdrawals: they are sent to the hub alongside messages and share no nonce with them. */
const HUB_CALLS: readonly SubmissionKind[] = ["accumulate", "withdraw", "claim"];

/** Time for which a refusal counts, ms (6 hours): the node, or the account's code, may have changed by then. */
const REMEMBERED_MS = 6 * 3_600_000;

const size = keepOn("transaction_size", z.object({ maxBytes: z.number(), atMs: z.number() }));

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

/** Computes the bytes that a message adds to call data: its parts, rounded up to ABI words. */
export function countCallBytes({ row }: { readonly row: { readonly encoded: Uint8Array } }): number {
  return row.encoded.length + 640;
}

/** Pause of a message larger than what a node accepted last, ms: another node may accept it. */
const OTHER_NODE_MS = 3_600_000;

/** Judges messages for which a transaction with these proofs has no room, whatever else it carries. */
export function judgeSize(leg: Leg, proofs: readonly Uint8Array[]): Judge {
  const { maxCallBytes } = leg.target.limits;
  const maxBytes = roomForMessages(leg, proofs);
  return (candidate) => {
    const bytes = countCallBytes(candidate);
    // Next to a large proof there is less room: then the proof is sent ahead.
    if (bytes <= maxBytes || (proofs.length > 0 && bytes <= maxCallBytes)) return undefined;
    const detail = `needs about ${bytes} bytes, the chain accepts ${maxBytes}`;
    const untilMs = bytes > maxCallBytes ? NEVER_MS : leg.clock.now() + OTHER_NODE_MS;
    return { reason: "too_large", detail, untilMs };
  };
}

/** Records that a node refused a transaction as too large. Call it within a ledger transaction. */
export function noteTooLarge(
  context: TargetContext,
  refused: { readonly submission: Pick<SignedSubmission, "raw">; readonly detail: string },
): void {
  const maxBytes = learnMaxBytes(refused.submission.raw.length, refused.detail);
  size.write(context, { maxBytes, atMs: context.clock.now() });
  context.log.info("transaction_failed.too_large", {
    chain: context.target.id.stateMachine,
    refusedBytes: refused.submission.raw.length,
    maxBytes,
    detail: refused.detail,
  });
}

/** Time at which a pool took one transaction of our account at a time. */
const oneInFlight = keepOn("one_in_flight", z.number());

/** Reads what the journal knows about the nonces of our account: a lagging node may return a used one. */
export function readNonces(
  { target, ledger }: TargetContext,
): Pick<SigningInput, "nonceAtLeast" | "heldNonces"> {
  if (target.relayer === undefined) return { nonceAtLeast: undefined };
  const account = [target.id.stateMachine, toHex(target.relayer)] as const;
  const highest = ledger.submissions.findHighestNonce(...account);
  const heldNonces = ledger.submissions.listHeldNonces(...account);
  return { nonceAtLeast: highest === undefined ? undefined : highest + 1n, heldNonces };
}

/** Minimum interval between reports of foreign use of the account, ms. */
const REPORT_INTERVAL_MS = 24 * 3_600_000;

/** Time of the last report, by its event. */
const foreignNonces = keepOn("foreign_nonces", z.record(z.string(), z.number()));

/**
 * Reports a nonce that a transaction of another program has, once a day, also across restarts.
 * @param event `account_shared.mined`: it was mined in front of ours; `account_shared.ahead`: ours wait behind it;
 * `account_shared.seen`: endpoints show it there
 */
export function reportForeign(
  context: TargetContext,
  nonce: bigint,
  event: "account_shared.mined" | "account_shared.ahead" | "account_shared.seen",
): void {
  const { clock, log, target } = context;
  const chain = target.id.stateMachine;
  const reportedMs = foreignNonces.read(context) ?? {};
  if (clock.now() - (reportedMs[event] ?? -Infinity) < REPORT_INTERVAL_MS) return;
  foreignNonces.write(context, { ...reportedMs, [event]: clock.now() });
  log[event === "account_shared.seen" ? "info" : "warn"](event, { chain, nonce });
}

/** Leaves a signed submission to settling, which skips those that are being broadcast. */
export function noteNoAnswer(context: RelayDeps, id: number): void {
  const { submissions } = context.ledger;
  if (submissions.find(id)?.state === "signed") {
    submissions.update(id, { state: "signed", detail: "no response to the broadcast" });
  }
}

/** Answer of a chain that does not accept a transaction. */
type Rejected = Extract<BroadcastResult, { kind: "underpriced" | "refused" }>;

/** Why the chain does not accept it. */
export function explainRejected(result: Rejected): string {
  return result.kind === "refused" ? result.refusal.detail : result.kind;
}

/** Records the answer to a broadcast; returns it where the chain does not accept the transaction. */
export function noteBroadcast(
  context: TargetContext,
  id: number,
  result: BroadcastResult,
): Rejected | undefined {
  if (result.kind === "underpriced" || result.kind === "refused") return result;
  context.ledger.transaction(() => {
    // Its nonce was possibly used by these very bytes, if a response was lost: settling determines it.
    if (result.kind === "nonceUsed") return noteNoAnswer(context, id);
    context.ledger.submissions.update(id, { state: "broadcast" });
    noteFunded(context);
  });
  return undefined;
}

/**
 * Broadcasts journalled bytes; returns the answer where the chain does not accept them. If it is lost the submission
 * stays `signed`, and settling determines its outcome.
 */
export async function broadcastJournalled(
  context: TargetContext & { readonly signal: AbortSignal },
  id: number,
): Promise<Rejected | undefined> {
  const { ledger, log, target, signal } = context;
  const submission = ledger.submissions.find(id)?.submission;
  if (submission === undefined) throw new Error(`Submission ${id} is not in the journal`);
  const result = await target.sender.broadcast(submission, signal).catch(keepFault);
  if (!(result instanceof RpcFault)) {
    // Settling may have been faster.
    return ledger.submissions.find(id)?.state === "signed" ? noteBroadcast(context, id, result) : undefined;
  }
  const fields = { chain: target.id.stateMachine, transaction: submission.hash, error: result };
  log.info("transaction_failed.broadcast_unknown", fields);
  ledger.transaction(() => noteNoAnswer(context, id));
  return undefined;
}

/** Releases the messages of a transaction that the chain did not accept. */
export function releaseRejected(
  leg: Leg,
  work: {
    readonly id: number;
    readonly rows: readonly MessageRow[];
    readonly result: Rejected;
  },
): void {
  const { result } = work;
  const detail = explainRejected(result);
  const isTooLarge = result.kind === "refused" && result.refusal.code === "too_large";
  const limit = isTooLarge ? "bytes" : limitNamedIn(detail);
  const isUnfunded = result.kind === "refused" && noteRefusedFunds(leg, result.refusal);
  const half = limit === "cost" && work.rows.length > 1 ? Math.ceil(work.rows.length / 2) : undefined;
  leg.log.info("transaction_failed.rejected", {
    leg: legName(leg),
    detail,
  });
  leg.ledger.transaction(() => {
    const { submission } = leg.ledger.submissions.update(work.id, { state: "dropped", detail });
    if (limit === "bytes") noteTooLarge(leg, { submission, detail });
    if (limit === "in_flight") oneInFlight.write(leg, leg.clock.now());
    for (const { commitment, target } of work.rows) {
      const row = leg.ledger.messages.find(commitment, target);
      if (row?.state !== "submitted") continue;
      if (half !== undefined) {
        const again = { reason: "too_large", batchLimit: half, nextAttemptAtMs: leg.clock.now() } as const;
        transition(leg, row, { to: "held", detail, ...again });
        continue;
      }
      const isLimited = limit === "bytes" || limit === "cost";
      hold(leg, row, {
        ...(isUnfunded
          ? { reason: "unfunded", retryClass: "unfunded" } as const
          : { reason: isLimited ? "too_large" : "race", retryClass: "transient" } as const),
        detail,
      });
    }
  });
}
