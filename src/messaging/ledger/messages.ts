/** Table `message`: one row per message and target, from first sight to a terminal state. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { MessageReason, MessageState } from "./message_state.ts";

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

/** Change of a row. `reason` and `detail` are replaced (absent clears them), the others stay when absent. */
export interface MessageChange {
  readonly to: MessageState;
  readonly reason?: MessageReason | undefined;
  readonly detail?: string | undefined;
  readonly nextAttemptAtMs?: number | undefined;
  readonly attempts?: number | undefined;
  readonly refusals?: number | undefined;
  readonly batchLimit?: number | undefined;
  readonly requiredUsd18?: bigint | undefined;
  readonly offeredUsd18?: bigint | undefined;
}

/** Position of a row in the order of {@link Messages.listDue}. */
export interface MessageKey {
  readonly seenAtHeight: bigint;
  readonly nonce: bigint;
  readonly commitment: Hash256;
}

/** Query of {@link Messages.listDue}. */
export interface DueQuery {
  readonly source: StateMachine;
  readonly target: StateMachine;
  readonly nowMs: number;
  /** Maximum number of rows of this page. */
  readonly limit: number;
  /** Last row of the previous page, e.g. its `MessageRow`. */
  readonly afterKey?: MessageKey | undefined;
  /**
   * Filter for messages that the hub has refused, and those of senders of whom it has refused many that are still open:
   * only these, or all others. Both when absent.
   */
  readonly refused?: "only" | "without" | undefined;
  /** The target's clock, Unix seconds: requests that have timed out by then are omitted. None when absent. */
  readonly targetNowSec?: bigint | undefined;
}

/** Query of held rows. */
export interface HeldQuery {
  readonly source: StateMachine;
  readonly target: StateMachine;
  readonly reason: MessageReason;
  readonly nowMs: number;
  readonly limit: number;
}

/** Query of a page of rows that ended within a period, Unix milliseconds. */
export interface EndedQuery {
  readonly target: StateMachine;
  readonly afterMs: number;
  readonly untilMs: number;
  readonly limit: number;
  /** Last row of the previous page. */
  readonly afterKey?: Pick<MessageRow, "updatedAtMs" | "commitment"> | undefined;
}

/** Rows of one leg in one state. */
export interface StateCount {
  readonly source: StateMachine;
  readonly target: StateMachine;
  readonly state: MessageState;
  readonly count: number;
}

/** Message rows. Every method may throw a `LedgerFault`. */
export interface Messages {
  /** Inserts the row; `known` when (commitment, target) already exists, which is left unchanged. */
  record(message: NewMessage): "new" | "known";
  find(commitment: Hash256, target: StateMachine): MessageRow | undefined;
  /** As {@link find} for several messages to one target, in the order asked for. */
  findAll(commitments: readonly Hash256[], target: StateMachine): (MessageRow | undefined)[];
  /**
   * Open rows (not `submitted`) whose time has come, oldest first: by height, nonce, commitment. Paginated by
   * `afterKey`.
   */
  listDue(query: DueQuery): MessageRow[];
  /** Rows in state `submitted`, in the same order: for recovery of those whose submission is settled or missing. */
  listSubmitted(query: Omit<DueQuery, "nowMs">): MessageRow[];
  /**
   * Changes a row; returns the changed row.
   * @throws {Error} a defect: no such row, or an illegal change of state.
   */
  transition(commitment: Hash256, target: StateMachine, change: MessageChange): MessageRow;
  /**
   * As {@link transition} for several messages to one target; none is changed unless all may be.
   * @throws {Error} a defect: no such row, or an illegal change of state. Call it within a ledger transaction.
   */
  transitionAll(commitments: readonly Hash256[], target: StateMachine, change: MessageChange): void;
  /** Records the revenue that messages to one target offered at the last decision, dollars x 10^18. */
  noteOffers(
    target: StateMachine,
    offers: readonly { readonly commitment: Hash256; readonly offeredUsd18: bigint }[],
  ): void;
  /** One entry per leg and state that has rows. */
  countByState(): StateCount[];
  /** Earliest `nextAttemptAtMs` of the leg's open rows, without {@link neverMs}. */
  nextDueAt(source: StateMachine, target: StateMachine): number | undefined;
  /**
   * Open rows (not `submitted`) with a timeout at or before `nowSec` (Unix seconds of the target), due or not, by
   * timeout: they end as `timed_out`. Responses are omitted, since they can be delivered after the timeout
   * (docs/protocol/messaging.md section 8.1).
   */
  listExpired(
    query: { source: StateMachine; target: StateMachine; nowSec: bigint; limit: number },
  ): MessageRow[];
  /**
   * Rows to `target` that ended as `delivered_by_other` after `afterMs` and up to `untilMs`, in the order in which they
   * ended. Paginated by `afterKey`.
   */
  listDeliveredByOther(query: EndedQuery): MessageRow[];
  /** Finds the open row of the response to a GET request from `source` to `target`. */
  findResponse(
    requestCommitment: Hash256,
    source: StateMachine,
    target: StateMachine,
  ): MessageRow | undefined;
  /** Senders with open rows held for `reason` that are not due yet; most recently held first, at most `limit`. */
  listHeldSenders(query: HeldQuery): Uint8Array[];
  /** Rows of one of the {@link listHeldSenders}, oldest first. */
  listHeldOf(sender: Uint8Array, query: HeldQuery): MessageRow[];
  /** Senders (`from` of their requests) of whom the hub has refused many messages that are still open. */
  listRefusedSenders(source: StateMachine, target: StateMachine): Uint8Array[];
  /** Removes the batch limit of open rows held for `reason` and makes them due now; returns their number. */
  liftBatchLimits(source: StateMachine, target: StateMachine, reason: MessageReason): number;
  /** Makes the open rows held for `reason` due now (a fee was raised, a chain recovered); returns their number. */
  wake(source: StateMachine, target: StateMachine, reason: MessageReason): number;
  /** As {@link wake}, for the messages of all sources. */
  wakeAll(target: StateMachine, reason: MessageReason): number;
}
