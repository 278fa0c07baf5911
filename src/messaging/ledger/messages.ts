/** Table `message`: recording messages and changing their states. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { isOpen, messageFormat, type MessageRow, type NewMessage } from "./message_rows.ts";
import { MessageSearch } from "./message_search.ts";
import { wakeFromFuture } from "./retention.ts";
import {
  listPredecessors,
  mayFollow,
  type MessageReason,
  type MessageState,
  messageStates,
} from "./message_state.ts";

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

/** Message rows. Every method may throw a `LedgerFault`. */
export class Messages extends MessageSearch {
  /** Inserts the row; `known` when (commitment, target) already exists, which is left unchanged. */
  record(message: NewMessage): "new" | "known" {
    const now = this.db.now();
    const { attempts = 0, nextAttemptAtMs = now } = message;
    const row = { ...message, attempts, nextAttemptAtMs, createdAtMs: now, updatedAtMs: now };
    const onConflict = "ON CONFLICT (commitment, target) DO NOTHING";
    return this.db.insert("message", messageFormat.write(row), onConflict).changes === 0 ? "known" : "new";
  }

  /**
   * Changes a row; returns the changed row.
   * @throws {Error} a defect: no such row, or an illegal change of state.
   */
  transition(commitment: Hash256, target: StateMachine, change: MessageChange): MessageRow {
    this.transitionAll([commitment], target, change);
    const row = this.find(commitment, target);
    if (row === undefined) throw new Error(`No message ${commitment} to ${target}`);
    return row;
  }

  /**
   * As {@link transition} for several messages to one target; none is changed unless all may be.
   * @throws {Error} a defect: no such row, or an illegal change of state. Call it within a ledger transaction.
   */
  transitionAll(commitments: readonly Hash256[], target: StateMachine, change: MessageChange): void {
    this.#changeAll(commitments, target, { change, condition: `state IN (${predecessorsSql[change.to]})` });
  }

  /**
   * Changes open messages to one target to `ready` and at once to `submitted`, which is written; none is changed unless
   * all may be.
   * @throws {Error} a defect: no such row, or one that is not open. Call it within a ledger transaction.
   */
  submitAll(commitments: readonly Hash256[], target: StateMachine): void {
    this.#changeAll(commitments, target, { change: { to: "submitted" }, condition: isOpen });
  }

  /** @param condition of the rows that may be changed so */
  #changeAll(
    commitments: readonly Hash256[],
    target: StateMachine,
    { change, condition }: { readonly change: MessageChange; readonly condition: string },
  ): void {
    const { to: state, reason, detail, ...others } = change;
    const columns = messageFormat.writeGiven({ ...others, state, updatedAtMs: this.db.now() });
    const changes = this.db.update(
      "message",
      { ...columns, reason, detail },
      `target = :target AND commitment IN (SELECT value FROM json_each(:list)) AND ${condition}`,
      { target, list: JSON.stringify(commitments) },
    );
    if (changes !== commitments.length) throw this.#findDefect(commitments, target, change.to);
  }

  /** Why not all of these could be changed. */
  #findDefect(commitments: readonly Hash256[], target: StateMachine, to: MessageState): Error {
    for (const [index, old] of this.findAll(commitments, target).entries()) {
      if (old === undefined) return new Error(`No message ${commitments[index]} to ${target}`);
      // Rows that could be changed are changed until the transaction is rolled back.
      if (old.state !== to && !mayFollow(old.state, to)) {
        return new Error(`Illegal change of a message: ${old.state} to ${to}`);
      }
    }
    return new Error(`Illegal change of ${commitments.length} messages to ${target}: not all may be ${to}`);
  }

  /** Records the revenue that messages to one target offered at the last decision, dollars x 10^18. */
  noteOffers(
    target: StateMachine,
    offers: readonly { readonly commitment: Hash256; readonly offeredUsd18: bigint }[],
  ): void {
    this.db.run(
      `UPDATE message SET offered_usd18 = item.value ->> 1 FROM json_each(:list) AS item
       WHERE target = :target AND commitment = item.value ->> 0`,
      {
        target,
        list: JSON.stringify(offers.map((offer) => [offer.commitment, offer.offeredUsd18.toString()])),
      },
    );
  }

  /** Removes the batch limit of open rows held for `reason` and makes them due now; returns their number. */
  liftBatchLimits(source: StateMachine, target: StateMachine, reason: MessageReason): number {
    return this.db.run(
      `UPDATE message SET batch_limit = NULL, next_attempt_at_ms = min(next_attempt_at_ms, :now), updated_at_ms = :now
       WHERE source = :source AND target = :target AND ${isOpen} AND reason = :reason AND batch_limit IS NOT NULL`,
      { source, target, reason, now: this.db.now() },
    ).changes;
  }

  /** Makes one row due now that waits; its state and reason stay. */
  makeDue({ commitment, target }: Pick<MessageRow, "commitment" | "target">): void {
    this.db.run(
      `UPDATE message SET next_attempt_at_ms = :now, updated_at_ms = :now
       WHERE commitment = :commitment AND target = :target AND ${isOpen}`,
      { commitment, target, now: this.db.now() },
    );
  }

  /** Makes the open rows held for `reason` due now (a fee was raised, a chain recovered); returns their number. */
  wake(source: StateMachine, target: StateMachine, reason: MessageReason): number {
    return this.wakeMatching({ source, target, reasons: [reason] });
  }

  /** Ends waits for times of a clock that was ahead, in every table; returns how many rows are due by that. */
  wakeFromFuture(): number {
    return wakeFromFuture(this.db);
  }

  /** Takes back the ends of rows that were rejected for `reason`, which may be over; returns their number. */
  reopen(reason: MessageReason): number {
    return this.db.run(
      `UPDATE message SET state = 'seen', reason = NULL, detail = NULL, next_attempt_at_ms = :now, updated_at_ms = :now
       WHERE state = 'rejected' AND reason = :reason`,
      { reason, now: this.db.now() },
    ).changes;
  }
}

/** Predecessors of each state, as SQL: a statement for each, since a list cannot be bound cheaply. */
const predecessorsSql = Object.fromEntries(
  messageStates.map((state) => [state, listPredecessors(state).map((from) => `'${from}'`).join(", ")]),
);
