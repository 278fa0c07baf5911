/**
 * Rows of messages: conversion from and to messages, and every change of their state, each with one log line. The
 * states are in `messaging/ledger/message_state.ts`.
 */
import {
  type HoldReason,
  isTerminal,
  type MessageRow,
  type MessageState,
  type NewMessage,
  type SubmissionItemRow,
  type TerminalReason,
  type WithdrawalRow,
} from "../ledger/ledger.ts";
import { toMessage } from "../../core/ismp/commitment.ts";
import type { Message } from "../../core/ismp/message.ts";
import { type Leaf, leafCodec } from "../../core/ismp/request.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { decodeStrict } from "../../core/encoding/scale.ts";
import { toReceiptKey, toRequest } from "./decisions/route.ts";
import type { PipelineDeps, PipelineSettings } from "./leg.ts";
import type { RefusalCode } from "../../core/chains/port.ts";
import { type DeliveryOutcome, judgeRefusal } from "./decisions/outcome.ts";
import { logTransition } from "../message_log.ts";
import { isRefusedForGood, NEVER_MS, nextAttemptMs, type RetryClass } from "./decisions/retry_schedule.ts";

function leafOf(message: Message): Leaf {
  switch (message.kind) {
    case "post":
      return { tag: "Request", value: { tag: "Post", value: message.request } };
    case "get":
      return { tag: "Request", value: { tag: "Get", value: message.request } };
    case "getResponse":
      return { tag: "GetResponse", value: message.response };
  }
}

/** Creates the row of a message that a leg has just read at `seenAtHeight` of its source. */
export function toMessageRow(
  message: Message,
  leg: { readonly source: StateMachine; readonly target: StateMachine },
  seenAtHeight: bigint,
  decided: Pick<NewMessage, "state" | "reason" | "nextAttemptAtMs">,
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
    seenAtHeight,
    encoded: leafCodec.enc(leafOf(message)),
    ...decided,
  };
}

/**
 * Parses the message of a row.
 * @throws {Error} when the stored bytes are not that message: the row is corrupt.
 */
export function parseRow(row: Pick<MessageRow, "commitment" | "encoded">): Message {
  const message = toMessage(decodeStrict(leafCodec, row.encoded, "Leaf"));
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

/**
 * Rereads the candidates from the ledger and drops those that have ended or are submitted: settling may have changed
 * them meanwhile.
 */
export function stillOpen(deps: PipelineDeps, candidates: readonly Candidate[]): readonly Candidate[] {
  const [first] = candidates;
  if (first === undefined) return [];
  const commitments = candidates.map(({ row }) => row.commitment);
  const rows = deps.ledger.messages.findAll(commitments, first.row.target);
  return candidates.flatMap(({ message }, index) => {
    const row = rows[index];
    return row === undefined || row.state === "submitted" || isTerminal(row.state) ? [] : [{ row, message }];
  });
}

/** Reads the message of an item. */
export function readMessageRow(deps: PipelineDeps, item: SubmissionItemRow): MessageRow {
  const message = deps.ledger.messages.find(item.commitment, item.target);
  if (message === undefined) throw new Error(`Journalled message ${item.commitment} has no row`);
  return message;
}

/** Finds the withdrawal whose payment the hub's POST carries; `undefined`: it is not one of ours. */
export function findOwnPayment(
  deps: Pick<PipelineDeps, "ledger">,
  { hub }: Pick<PipelineSettings, "hub">,
  row: Pick<MessageRow, "kind" | "requestSource" | "requestCommitment">,
): WithdrawalRow | undefined {
  if (row.kind !== "post" || row.requestSource !== hub) return undefined;
  return deps.ledger.withdrawals.findByCommitment(row.requestCommitment);
}

/** Message that the target does not accept now. */
export interface Refused {
  readonly message: Message;
  /** `not_executed`: the transaction would succeed, the message would not be handled. */
  readonly code: RefusalCode | "not_executed";
  readonly detail: string;
}

/** Details of a transition, besides the new state. */
export interface TransitionDetails {
  readonly reason?: HoldReason | TerminalReason;
  readonly detail?: string;
  readonly attempts?: number;
  readonly refusals?: number;
  /** Maximum number of messages in the next batch with it. */
  readonly batchLimit?: number;
  readonly nextAttemptAtMs?: number;
  /** Numbers of a profit decision, dollars x 10^18. */
  readonly requiredUsd18?: bigint;
  readonly offeredUsd18?: bigint;
  /** Transaction or extrinsic that the transition is about. */
  readonly hash?: string;
}

/** Changes a row and logs the change. */
export function transition(
  deps: PipelineDeps,
  row: MessageRow,
  to: MessageState,
  why: TransitionDetails = {},
): MessageRow {
  const { hash, ...change } = why;
  const now = deps.ledger.messages.transition(row.commitment, row.target, { to, ...change });
  if (row.state === to && row.reason === why.reason) return now;
  logTransition(deps.log, {
    commitment: row.commitment,
    source: row.source,
    target: row.target,
    from: row.state,
    to,
    reason: why.reason,
    ...(why.detail === undefined ? {} : { detail: why.detail }),
    ...(hash === undefined ? {} : { transaction: hash }),
    ...(why.requiredUsd18 === undefined ? {} : { requiredUsd18: why.requiredUsd18 }),
    ...(why.offeredUsd18 === undefined ? {} : { offeredUsd18: why.offeredUsd18 }),
  });
  return now;
}

/**
 * Changes several rows of one target the same way and logs each change; returns them as they are now. The rows must
 * have been read just now, with nothing awaited since.
 */
export function transitionAll(
  deps: PipelineDeps,
  rows: readonly MessageRow[],
  to: MessageState,
  why: Pick<TransitionDetails, "reason" | "hash"> = {},
): readonly MessageRow[] {
  const [first] = rows;
  if (first === undefined) return [];
  const { reason, hash } = why;
  const change = { to, ...(reason === undefined ? {} : { reason }) };
  deps.ledger.messages.transitionAll(rows.map(({ commitment }) => commitment), first.target, change);
  for (const { commitment, source, target, state: from } of rows) {
    const transaction = hash === undefined ? {} : { transaction: hash };
    logTransition(deps.log, { commitment, source, target, from, to, reason, ...transaction });
  }
  return rows.map((row) => ({ ...row, state: to, reason, detail: undefined, updatedAtMs: deps.clock.now() }));
}

/** Reason why a row is held, and its retry schedule. */
export type HoldWhy = Omit<TransitionDetails, "reason" | "attempts" | "refusals" | "nextAttemptAtMs"> & {
  readonly reason: HoldReason;
  readonly retryClass: RetryClass;
  /** Earliest time of the next attempt, regardless of the schedule; Unix milliseconds. */
  readonly notBeforeMs?: number | undefined;
};

/**
 * Holds a row until the schedule of its class allows another attempt. A message that is unprofitable only because
 * another message's revert limits it to small batches is retried soon, regardless of its class.
 */
export function hold(
  deps: PipelineDeps,
  settings: Pick<PipelineSettings, "retryFrequencySec">,
  row: MessageRow,
  { retryClass: wanted, notBeforeMs = 0, ...why }: HoldWhy,
): void {
  const attempts = row.attempts + 1;
  const isDearAlone = why.reason === "unprofitable" && row.batchLimit !== undefined;
  const retryClass = isDearAlone ? "transient" : wanted;
  const nowMs = deps.clock.now();
  const isRefused = retryClass === "hub_refused";
  const counts = isRefused ? { attempts, refusals: row.refusals + 1 } : { attempts };
  if (counts.refusals !== undefined && isRefusedForGood({ ...row, refusals: counts.refusals, nowMs })) {
    const { detail, reason } = why;
    transition(deps, row, "rejected", { reason: "refused_by_hub", detail: detail ?? reason, ...counts });
    return;
  }
  const scheduledMs = nextAttemptMs({
    retryClass,
    attempts: counts.refusals ?? attempts,
    nowMs,
    retryFrequencySec: settings.retryFrequencySec,
    jitter: deps.random.fraction(),
  });
  transition(deps, row, "held", { ...why, ...counts, nextAttemptAtMs: Math.max(scheduledMs, notBeforeMs) });
}

/** Records that the target refuses a message, for now or for good. */
export function markRefused(
  deps: PipelineDeps,
  settings: PipelineSettings,
  row: MessageRow,
  refused: Refused,
): void {
  const verdict = judgeRefusal(refused.code, row.target === settings.hub);
  const detail = refused.detail;
  switch (verdict.kind) {
    case "hold":
      return hold(deps, settings, row, { ...verdict, detail });
    case "park":
      transition(deps, row, "held", { reason: verdict.reason, detail, nextAttemptAtMs: NEVER_MS });
      return;
    case "end":
      transition(deps, row, verdict.state, { reason: verdict.reason, detail });
  }
}

/** Maps a known delivery to the state and reason of its message. */
export function toEndState(
  outcome: Extract<DeliveryOutcome, "delivered" | "delivered_by_other">,
): { readonly state: MessageState; readonly reason: TerminalReason } {
  return outcome === "delivered"
    ? { state: "delivered", reason: "handled_by_us" }
    : { state: "delivered_by_other", reason: "handled_by_other" };
}
