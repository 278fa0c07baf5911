/**
 * Rows of messages: conversion from and to messages, and every change of their state, each with one log line. The
 * states are in `messaging/ledger/message_state.ts`.
 */
import {
  type HoldReason,
  isTerminal,
  LedgerFault,
  type MessageRow,
  type MessageState,
  type NewMessage,
  type SubmissionItemRow,
  type TerminalReason,
  type WithdrawalRow,
} from "../ledger/ledger.ts";
import type { MessageChange } from "../ledger/messages.ts";
import { equalBytes, formatDecimal, toHex } from "../../core/encoding/bytes.ts";
import { type Leaf, leafCodec, type Message, toMessage } from "../../core/ismp/message.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { decodeLoose } from "../../core/encoding/scale.ts";
import { toReceiptKey, toReceiver, toRequest } from "./decisions/route.ts";
import type { RelayContext, RelayDeps, TargetContext } from "./leg.ts";
import {
  FAILED_MAX_MS,
  type Finding,
  isRefusedForGood,
  NEVER_MS,
  nextAttemptMs,
  nextReadingMs,
} from "./decisions/retry_schedule.ts";

function toLeaf(message: Message): Leaf {
  switch (message.kind) {
    case "post":
      return { tag: "Request", value: { tag: "Post", value: message.request } };
    case "get":
      return { tag: "Request", value: { tag: "Get", value: message.request } };
    case "getResponse":
      return { tag: "GetResponse", value: message.response };
  }
}

/** Creates the row of a message that a leg has just read on its source. */
export function toMessageRow(
  message: Message,
  leg: { readonly source: StateMachine; readonly target: StateMachine },
  found: Pick<NewMessage, "seenAtHeight" | "state" | "reason" | "nextAttemptAtMs">,
): NewMessage {
  const request = toRequest(message);
  return {
    commitment: message.commitment,
    target: leg.target,
    source: leg.source,
    kind: message.kind,
    requestCommitment: toReceiptKey(message),
    requestSource: request.source,
    requestDest: request.dest,
    module: request.from,
    nonce: request.nonce,
    timeoutSec: request.timeoutTimestampSec,
    encoded: leafCodec.enc(toLeaf(message)),
    ...found,
  };
}

/**
 * Parses the message of a row.
 * @throws {Error} when the stored bytes are not that message: the row is corrupt.
 */
export function parseRow(row: Pick<MessageRow, "commitment" | "encoded">): Message {
  // The commitment covers every field, so that the encoding need not be checked, too.
  const message = toMessage(decodeLoose(leafCodec, row.encoded, "Leaf"));
  if (message.commitment !== row.commitment) {
    throw new Error(`Row ${row.commitment} holds message ${message.commitment}`);
  }
  return message;
}

/** Message with its row. */
export interface Candidate {
  readonly row: MessageRow;
  readonly message: Message;
}

/** Reads the message of a row; none if the row is corrupt, which is reported when it is due. */
export function toCandidate(row: MessageRow): readonly [] | readonly [Candidate] {
  try {
    return [{ row, message: parseRow(row) }];
  } catch (error) {
    if (error instanceof LedgerFault) throw error;
    return [];
  }
}

/**
 * Rereads the candidates from the ledger and drops those that have ended or are submitted: settling may have changed
 * them meanwhile.
 */
export function stillOpen(context: RelayDeps, candidates: readonly Candidate[]): readonly Candidate[] {
  const [first] = candidates;
  if (first === undefined) return [];
  const commitments = candidates.map(({ row }) => row.commitment);
  const rows = context.ledger.messages.findAll(commitments, first.row.target);
  return candidates.flatMap(({ message }, index) => {
    const row = rows[index];
    return row === undefined || row.state === "submitted" || isTerminal(row.state) ? [] : [{ row, message }];
  });
}

/** Reads the message of an item. */
export function readMessageRow(
  context: RelayDeps,
  item: Pick<SubmissionItemRow, "commitment" | "target">,
): MessageRow {
  const message = context.ledger.messages.find(item.commitment, item.target);
  if (message === undefined) throw new Error(`Journalled message ${item.commitment} has no row`);
  return message;
}

/** Reads the messages that a submission carries. */
export function readCarried(context: RelayDeps, id: number): readonly Candidate[] {
  return context.ledger.submissions.itemsOf(id).map((item) => {
    const row = readMessageRow(context, item);
    return { row, message: parseRow(row) };
  });
}

/** Finds the withdrawal whose payment the hub's POST carries; `undefined`: it is not one of ours. */
export function findOwnPayment(
  { ledger, settings }: Pick<RelayContext, "ledger" | "settings">,
  row: Pick<MessageRow, "kind" | "requestSource" | "requestCommitment">,
): WithdrawalRow | undefined {
  if (row.kind !== "post" || row.requestSource !== settings.hub) return undefined;
  return ledger.withdrawals.findByCommitment(row.requestCommitment);
}

/** New state of a row, and why. What is `undefined` stays. */
export interface Transition extends Omit<MessageChange, "reason"> {
  readonly reason?: HoldReason | TerminalReason | undefined;
  /** Transaction or extrinsic that the transition is about. */
  readonly hash?: string;
}

/**
 * Logs the change of a row, never as an error: races, proofs that are not final yet and throttled endpoints are normal
 * operation (docs/protocol/messaging.md section 19.1).
 */
function logChange({ log }: RelayDeps, { state, ...row }: MessageRow, change: Transition): void {
  const { to, reason, detail, hash, requiredUsd18, offeredUsd18 } = change;
  const needsOperator = to === "held" && (reason === "too_large" || reason === "poison");
  log[needsOperator ? "warn" : "debug"](`message_changed.${to}`, {
    leg: `${row.source} -> ${row.target}`,
    commitment: row.commitment,
    from: state,
    to,
    reason,
    detail,
    transaction: hash,
    requiredUsd: requiredUsd18 === undefined ? undefined : formatDecimal(requiredUsd18, 18),
    offeredUsd: offeredUsd18 === undefined ? undefined : formatDecimal(offeredUsd18, 18),
  });
}

/** Changes a row and logs the change. */
export function transition(context: RelayDeps, row: MessageRow, change: Transition): MessageRow {
  const { hash: _, ...written } = change;
  const now = context.ledger.messages.transition(row.commitment, row.target, written);
  if (row.state !== change.to || row.reason !== change.reason) logChange(context, row, change);
  return now;
}

/** Ends that the state of the target shows, with the reason of each. */
export const endReasons = {
  delivered: "handled_by_us",
  delivered_by_other: "handled_by_other",
  timed_out: "expired",
} as const satisfies Partial<Record<MessageState, TerminalReason>>;

/** End of messages. */
export type MessageEnd =
  & {
    /** Transaction or extrinsic by which they ended. */
    readonly hash?: string;
  }
  & (
    | { readonly to: "delivered" | "timed_out" }
    /** `seenAt`: height of the target at which the other relayer's receipt was seen; it is read again once that is final. */
    | { readonly to: "delivered_by_other"; readonly seenAt: bigint }
  );

/**
 * Ends messages of one leg, with one line at info for all of them. Within a ledger transaction; the rows must have been
 * read just now.
 */
export function endAll(context: RelayDeps, rows: readonly MessageRow[], end: MessageEnd): void {
  const [first] = rows;
  if (first === undefined) return;
  const { to, hash } = end;
  const change = { to, reason: endReasons[to] };
  const commitments = rows.map(({ commitment }) => commitment);
  context.ledger.messages.transitionAll(commitments, first.target, change);
  for (const row of rows) {
    logChange(context, row, { ...change, ...hash && { hash } });
    if (end.to !== "delivered_by_other") continue;
    const receipt = { commitment: row.commitment, height: end.seenAt, isSeenAgain: false };
    context.ledger.foreignReceipts.record(row.target, receipt);
  }
  const leg = `${first.source} -> ${first.target}`;
  context.log.info(`messages_settled.${to}`, { leg, messages: rows.length, transaction: hash, commitments });
}

/**
 * Changes rows that a signed transaction carries: to `ready`, where they are not, and on to `submitted`. As with
 * {@link endAll}, they must have been read just now.
 */
export function submitAll(context: RelayDeps, rows: readonly MessageRow[], hash: string): void {
  const [first] = rows;
  if (first === undefined) return;
  context.ledger.messages.submitAll(rows.map(({ commitment }) => commitment), first.target);
  for (const row of rows) {
    if (row.state !== "ready") logChange(context, row, { to: "ready" });
    logChange(context, { ...row, state: "ready" }, { to: "submitted", hash });
  }
}

/**
 * Finds the longest pause of a message that is never given up, ms: our own payments, messages to `retry_modules`, and
 * those that nobody but us may deliver, which is what anybody's module may claim. `undefined`: it may be given up.
 */
function findKeptPauseMs(context: TargetContext, row: MessageRow): number | undefined {
  const { settings, target: { gates, relayer } } = context;
  const receiver = toReceiver(parseRow(row));
  const isNamed = findOwnPayment(context, row) !== undefined || settings.retryModules.has(toHex(receiver));
  if (isNamed) return FAILED_MAX_MS;
  const account = gates?.find(receiver)?.account;
  return account && relayer && equalBytes(account, relayer) ? CLAIMED_MAX_MS : undefined;
}

/** Longest pause of a message whose module names us, ms (a week): thousands of them cost next to nothing. */
const CLAIMED_MAX_MS = 7 * 24 * 3_600_000;

/** Default of `retry_frequency` for messages that are never given up, seconds. */
const KEPT_RETRY_SEC = 300;

/**
 * Holds a row, or ends it, by what was found out about it. A message that is unprofitable only because another
 * message's revert limits it to small batches is retried soon, regardless of its class.
 */
export function hold(context: TargetContext, row: MessageRow, found: Finding): void {
  transition(context, row, toTransition(context, row, found));
}

/** An end, or a wait for good, needs a reading that one hours ago has shown too; until then the message waits. */
function toTransition(context: TargetContext, row: MessageRow, found: Finding): Transition {
  if ("retryClass" in found) return schedule(context, row, found);
  if ("untilMs" in found) {
    const { untilMs: nextAttemptAtMs, ...why } = found;
    return { to: "held", ...why, nextAttemptAtMs };
  }
  const { end, ...why } = found;
  const again = nextReadingMs(row, { ...why, isEnd: end !== "held", nowMs: context.clock.now() });
  if (again === undefined && end !== "held") return { to: end, ...why };
  return { to: "held", ...why, nextAttemptAtMs: again ?? NEVER_MS };
}

/** Counts an attempt, and schedules the next one. */
function schedule(
  context: TargetContext,
  row: MessageRow,
  { retryClass: wanted, notBeforeMs = 0, ...why }: Extract<Finding, { retryClass: unknown }>,
): Transition {
  const attempts = row.attempts + 1;
  const isUnprofitableAlone = why.reason === "unprofitable" && row.batchLimit !== undefined;
  const retryClass = isUnprofitableAlone ? "transient" : wanted;
  const nowMs = context.clock.now();
  const isRefused = retryClass === "hub_refused";
  const failedMaxMs = isRefused || retryClass === "failed" ? findKeptPauseMs(context, row) : undefined;
  const refusals = row.refusals + Number(isRefused);
  const counts = { attempts, refusals };
  if (isRefused && failedMaxMs === undefined && isRefusedForGood({ ...row, refusals, nowMs })) {
    return { to: "rejected", reason: "refused_by_hub", detail: why.detail ?? why.reason, ...counts };
  }
  const scheduledMs = nextAttemptMs({
    retryClass,
    attempts: isRefused ? refusals : attempts,
    nowMs,
    retryFrequencySec: context.settings.retryFrequencySec ?? (failedMaxMs && KEPT_RETRY_SEC),
    failedMaxMs,
    jitter: context.random.fraction(),
  });
  // Its receiver may have got another relayer a moment ago: the second attempt reads that again.
  const isGateInDoubt = why.reason === "simulation_failed" && row.reason !== why.reason &&
    context.target.gates !== undefined;
  const again = scheduledMs === NEVER_MS || isGateInDoubt
    ? nextReadingMs(row, { reason: why.reason, isEnd: false, nowMs })
    : undefined;
  const nextAttemptAtMs = Math.max(Math.min(scheduledMs, again ?? NEVER_MS), notBeforeMs);
  return { to: "held", ...why, ...counts, nextAttemptAtMs };
}

/** Judges a candidate; `undefined`: nothing is found that keeps it from being delivered. */
export type Judge = (candidate: Candidate) => Finding | undefined;

/**
 * Holds or ends those of the candidates that are open still and of which a judge finds something, in a transaction of
 * its own; returns the other open ones. The first finding counts: later judges do not get the candidate.
 */
export function screen(
  context: TargetContext,
  candidates: readonly Candidate[],
  ...judges: readonly (Judge | undefined)[]
): readonly Candidate[] {
  if (candidates.length === 0) return [];
  return context.ledger.transaction(() =>
    stillOpen(context, candidates).filter((candidate) => {
      for (const judge of judges) {
        const found = judge?.(candidate);
        if (found === undefined) continue;
        hold(context, candidate.row, found);
        return false;
      }
      return true;
    })
  );
}
