/** Rows of table `message`: one per message and target, from first sight to a terminal state. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, RowFormat } from "./columns.ts";
import { type MessageReason, messageReasons, type MessageState, messageStates } from "./message_state.ts";

/** Value of `nextAttemptAtMs` for rows that are never due on their own. */
export const neverMs: number = Number.MAX_SAFE_INTEGER;

/** Message as found by a scan. */
export interface NewMessage {
  /** Of the request, or of the response for `getResponse`. Key together with `target`. */
  readonly commitment: Hash256;
  /** Chain that the leg delivers to. */
  readonly target: StateMachine;
  /** Chain that the leg reads from. */
  readonly source: StateMachine;
  readonly kind: "post" | "get" | "getResponse";
  /** Key of receipts; equals `commitment` for requests. */
  readonly requestCommitment: Hash256;
  readonly requestSource: StateMachine;
  readonly requestDest: StateMachine;
  /** Module that the filter checks: `from` of the request. */
  readonly module: Uint8Array;
  /** u64. */
  readonly nonce: bigint;
  /** Absolute Unix seconds of the request's timeout; 0: never. u64. */
  readonly timeoutSec: bigint;
  /** Height of `source` at which it was seen; below 2^63. */
  readonly seenAtHeight: bigint;
  /** The message in the pipeline's own encoding. */
  readonly encoded: Uint8Array;
  readonly state: Exclude<MessageState, "submitted">;
  readonly reason?: MessageReason | undefined;
  readonly detail?: string | undefined;
  readonly requiredUsd18?: bigint | undefined;
  readonly offeredUsd18?: bigint | undefined;
  /** Attempts that failed; 0 when absent. */
  readonly attempts?: number | undefined;
  /** Earliest time of the next attempt, ms; now when absent. */
  readonly nextAttemptAtMs?: number | undefined;
}

/** Stored row. */
export interface MessageRow extends Omit<NewMessage, "state"> {
  readonly state: MessageState;
  readonly reason: MessageReason | undefined;
  readonly detail: string | undefined;
  /** Fee needed for a profitable delivery at the last decision, dollars x 10^18. */
  readonly requiredUsd18: bigint | undefined;
  /** Fee offered at the last decision, dollars x 10^18. */
  readonly offeredUsd18: bigint | undefined;
  readonly attempts: number;
  /** Number of refusals by the hub itself; waits for nodes, updates or funds do not count. */
  readonly refusals: number;
  /**
   * Maximum number of messages of a batch with this one, after a batch with it reverted; `undefined`: as many as fit.
   */
  readonly batchLimit: number | undefined;
  /** Milliseconds; {@link neverMs}: never on its own. */
  readonly nextAttemptAtMs: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Condition of rows that may be due. Must be written as in the indexes, or SQLite does not use them. */
export const isOpen = "state IN ('seen', 'held', 'ready', 'not_executed')";

/** Columns of the table. */
export const messageFormat = new RowFormat<MessageRow>({
  commitment: column.hash,
  target: column.stateMachine,
  source: column.stateMachine,
  kind: column.oneOf(["post", "get", "getResponse"]),
  requestCommitment: column.hash,
  requestSource: column.stateMachine,
  requestDest: column.stateMachine,
  module: column.bytes,
  nonce: column.u64,
  timeoutSec: column.u64,
  seenAtHeight: column.height,
  encoded: column.bytes,
  state: column.oneOf(messageStates),
  reason: column.optional(column.oneOf(messageReasons)),
  detail: column.optional(column.text),
  requiredUsd18: column.optional(column.decimal),
  offeredUsd18: column.optional(column.decimal),
  attempts: column.number,
  refusals: column.number,
  batchLimit: column.optional(column.number),
  nextAttemptAtMs: column.number,
  createdAtMs: column.number,
  updatedAtMs: column.number,
});
