/** Rows of table `message`: one per message and target, from first sight to a terminal state. */
import { column, RowFormat, type RowOf } from "./columns.ts";
import { messageReasons, type MessageState, messageStates } from "./message_state.ts";

/** Value of `nextAttemptAtMs` for rows that are never due on their own. */
export const neverMs: number = Number.MAX_SAFE_INTEGER;

/** Condition of rows that may be due. Must be written as in the indexes, or SQLite does not use them. */
export const isOpen = "state IN ('seen', 'held', 'ready', 'not_executed')";

/** Columns of the table. */
export const messageFormat = new RowFormat({
  /** Of the request, or of the response for `getResponse`. Key together with `target`. */
  commitment: column.hash,
  /** Chain that the leg delivers to. */
  target: column.stateMachine,
  /** Chain that the leg reads from. */
  source: column.stateMachine,
  kind: column.oneOf(["post", "get", "getResponse"]),
  /** Key of receipts; equals `commitment` for requests. */
  requestCommitment: column.hash,
  requestSource: column.stateMachine,
  requestDest: column.stateMachine,
  /** Module that the filter checks: `from` of the request. */
  module: column.bytes,
  nonce: column.u64,
  /** Absolute Unix seconds of the request's timeout; 0: never. */
  timeoutSec: column.u64,
  /** Height of `source` at which it was seen. */
  seenAtHeight: column.height,
  /** The message in the pipeline's own encoding. */
  encoded: column.bytes,
  state: column.oneOf(messageStates),
  reason: column.optional(column.oneOf(messageReasons)),
  detail: column.optional(column.text),
  /** Fee needed for a profitable delivery at the last decision, dollars x 10^18. */
  requiredUsd18: column.optional(column.decimal),
  /** Fee offered at the last decision, dollars x 10^18. */
  offeredUsd18: column.optional(column.decimal),
  /** Attempts that failed. */
  attempts: column.number,
  /** Number of refusals by the hub itself; waits for nodes, updates or funds do not count. */
  refusals: column.number,
  /** Maximum number of messages of a batch with this one, after a batch with it reverted; `undefined`: as many as fit. */
  batchLimit: column.optional(column.number),
  /** Earliest time of the next attempt, milliseconds; {@link neverMs}: never on its own. */
  nextAttemptAtMs: column.number,
  createdAtMs: column.number,
  updatedAtMs: column.number,
});

/** Stored row. */
export type MessageRow = RowOf<typeof messageFormat>;

/** Members that a scan leaves out where nothing is to be said: no attempt, and due now. */
type Later = "reason" | "detail" | "requiredUsd18" | "offeredUsd18" | "attempts" | "nextAttemptAtMs";

/** Message as found by a scan. */
export type NewMessage =
  & Omit<MessageRow, Later | "state" | "refusals" | "batchLimit" | "createdAtMs" | "updatedAtMs">
  & { readonly [Name in Later]?: MessageRow[Name] | undefined }
  & { readonly state: Exclude<MessageState, "submitted"> };
