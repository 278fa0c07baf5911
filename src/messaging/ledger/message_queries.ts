/** Queries of table `message`: what is due, held, submitted or ended. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, type Parameters, RowFormat, type RowOf, toU64Text } from "./columns.ts";
import { Table } from "./database.ts";
import { isOpenWithdrawal } from "./withdrawals.ts";
import { isOpen, messageFormat, type MessageRow, neverMs } from "./message_rows.ts";
import { type MessageReason, messageStates, refusedReasons } from "./message_state.ts";

/** Number of refused open messages of a sender above which its fresh ones count as refused, too. */
const MANY_REFUSED = 10;

const listOf = (reasons: readonly string[]): string => reasons.map((reason) => `'${reason}'`).join(", ");

/** `hub_refused` alone makes a sender suspect: bandwidth and blocked senders are checked before anything is proved. */
const refusedSenders =
  `SELECT module FROM message WHERE source = :source AND target = :target AND ${isOpen} AND reason = 'hub_refused'
   GROUP BY module HAVING count(*) >= ${MANY_REFUSED}`;

const isRefused = `(coalesce(reason, '') IN (${listOf(refusedReasons)}) OR module IN (${refusedSenders}))`;

const conditionsOfRefused = { only: `AND ${isRefused}`, without: `AND NOT ${isRefused}` } as const;

const isPayment = `commitment IN (SELECT commitment FROM withdrawal WHERE ${isOpenWithdrawal})`;

/** Position of a row in the order of {@link MessageQueries.listDue}. */
export interface MessageKey {
  readonly seenAtHeight: bigint;
  readonly nonce: bigint;
  readonly commitment: Hash256;
}

/** Query of {@link MessageQueries.listDue}. */
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
  /** True: only the payments of open withdrawals. */
  readonly isForPayments?: boolean | undefined;
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

const countFormat = new RowFormat({
  source: column.stateMachine,
  target: column.stateMachine,
  state: column.oneOf(messageStates),
  count: column.number,
});

/** Rows of one leg in one state. */
export type StateCount = RowOf<typeof countFormat>;

/** Queries of message rows. Every method may throw a `LedgerFault`. */
export class MessageQueries extends Table {
  find(commitment: Hash256, target: StateMachine): MessageRow | undefined {
    return this.db.find("message", { commitment, target }, messageFormat.read);
  }

  /** As {@link find} for several messages to one target, in the order asked for. */
  findAll(commitments: readonly Hash256[], target: StateMachine): (MessageRow | undefined)[] {
    const found = new Map(
      this.db.rows(
        `SELECT m.* FROM json_each(:list) AS wanted
         CROSS JOIN message AS m ON m.commitment = wanted.value AND m.target = :target`,
        { list: JSON.stringify(commitments), target },
      ).map((row) => [row.commitment, row]),
    );
    return commitments.map((commitment) => {
      const row = found.get(commitment);
      return row && messageFormat.read(row);
    });
  }

  /**
   * Open rows (not `submitted`) whose time has come, oldest first: by height, nonce, commitment. Paginated by
   * `afterKey`.
   */
  listDue(query: DueQuery): MessageRow[] {
    const dueAtMs = this.nextDueAt(query.source, query.target);
    // Avoids a scan of all open rows while none is due, which is most of the time.
    if (dueAtMs === undefined || dueAtMs > query.nowMs) return [];
    const isSorted = query.refused !== undefined && this.#hasRefused(query, neverMs);
    if (query.refused === "only" && !(isSorted && this.#hasDueRefused(query))) return [];
    const refused = isSorted ? conditionsOfRefused[query.refused] : "";
    const { nowMs: now, targetNowSec } = query;
    const wanted = query.isForPayments === true ? `AND ${isPayment}` : refused;
    const condition = `${isOpen} AND next_attempt_at_ms <= :now ${wanted}`;
    if (targetNowSec === undefined) return this.#page(query, { condition, parameters: { now } });
    return this.#page(query, {
      condition: `${condition} AND (kind = 'getResponse' OR timeout_sec = :zero OR timeout_sec > :targetNow)`,
      parameters: { now, zero: toU64Text(0n), targetNow: toU64Text(targetNowSec) },
    });
  }

  /** Rows in state `submitted`, in the same order: for recovery of those whose submission is settled or missing. */
  listSubmitted(query: Omit<DueQuery, "nowMs">): MessageRow[] {
    return this.#page(query, { condition: "state = 'submitted'" });
  }

  /** One entry per leg and state that has rows. */
  countByState(): StateCount[] {
    return this.db.rows(
      `SELECT source, target, state, sum(count) AS count FROM message_count WHERE count > 0
       GROUP BY source, target, state`,
    ).map(countFormat.read);
  }

  /** True when the leg has a row that can be due, expired or held: an open one. */
  hasOpen(source: StateMachine, target: StateMachine): boolean {
    return this.#findNextAttempt(source, target) !== undefined;
  }

  /** Earliest `nextAttemptAtMs` of the leg's open rows, without {@link neverMs}. */
  nextDueAt(source: StateMachine, target: StateMachine): number | undefined {
    const dueAtMs = this.#findNextAttempt(source, target);
    return dueAtMs === neverMs ? undefined : dueAtMs;
  }

  /**
   * Open rows (not `submitted`) with a timeout at or before `nowSec` (Unix seconds of the target), due or not, by
   * timeout: they end as `timed_out`. Responses are omitted, since they can be delivered after the timeout
   * (docs/protocol/messaging.md section 8.1).
   */
  listExpired(
    { source, target, nowSec, limit }: {
      readonly source: StateMachine;
      readonly target: StateMachine;
      readonly nowSec: bigint;
      readonly limit: number;
    },
  ): MessageRow[] {
    return this.db.rows(
      `SELECT * FROM message WHERE source = :source AND target = :target AND ${isOpen} AND kind <> 'getResponse'
         AND timeout_sec > :zero AND timeout_sec <= :now ORDER BY timeout_sec, commitment LIMIT :limit + 0`,
      { source, target, zero: toU64Text(0n), now: toU64Text(nowSec), limit },
    ).map(messageFormat.read);
  }

  /** Finds the open row of the response to a GET request from `source` to `target`. */
  findResponse(
    requestCommitment: Hash256,
    source: StateMachine,
    target: StateMachine,
  ): MessageRow | undefined {
    const row = this.db.row(
      // The plus signs leave the commitment as the only way to the row: a leg may have very many of them.
      `SELECT * FROM message WHERE kind = 'getResponse' AND request_commitment = :requestCommitment
         AND +source = :source AND +target = :target AND ${isOpen} LIMIT 1`,
      { source, target, requestCommitment },
    );
    return row && messageFormat.read(row);
  }

  /**
   * Finds the row that a delivery on `target` is of, in any state: deliveries are recorded under the commitment of the
   * request, also those of responses.
   */
  findDelivered(requestCommitment: Hash256, target: StateMachine): MessageRow | undefined {
    const row = this.db.row(
      `SELECT * FROM message WHERE kind = 'getResponse' AND request_commitment = :requestCommitment
         AND target = :target ORDER BY state = 'delivered' DESC, updated_at_ms DESC LIMIT 1`,
      { target, requestCommitment },
    );
    return this.find(requestCommitment, target) ?? (row && messageFormat.read(row));
  }

  /** Senders with open rows held for `reason` that are not due yet; most recently held first, at most `limit`. */
  listHeldSenders({ source, target, reason, nowMs, limit }: HeldQuery): Uint8Array[] {
    return this.db.rows(
      // The plus sign keeps SQLite from reading everything of the leg that is not due.
      `SELECT module FROM message WHERE source = :source AND target = :target AND ${isOpen} AND reason = :reason
         AND +next_attempt_at_ms > :now GROUP BY module ORDER BY max(updated_at_ms) DESC, module LIMIT :limit`,
      { source, target, reason, now: nowMs, limit },
    ).map((row) => column.bytes.read(row, "module"));
  }

  /** Rows of one of the {@link listHeldSenders}, oldest first. */
  listHeldOf(module: Uint8Array, { source, target, reason, nowMs, limit }: HeldQuery): MessageRow[] {
    return this.db.rows(
      `SELECT * FROM message WHERE source = :source AND target = :target AND ${isOpen} AND reason = :reason
         AND next_attempt_at_ms > :now AND module = :module
       ORDER BY seen_at_height, nonce, commitment LIMIT :limit`,
      { source, target, reason, module, now: nowMs, limit },
    ).map(messageFormat.read);
  }

  /** Senders (`from` of their requests) of whom the hub has refused many messages that are still open. */
  listRefusedSenders(source: StateMachine, target: StateMachine): Uint8Array[] {
    return this.db.rows(refusedSenders, { source, target }).map((row) => column.bytes.read(row, "module"));
  }

  /** True when some open row of a leg was refused that is due by then. */
  #hasRefused({ source, target }: DueQuery, untilMs: number): boolean {
    return this.db.row(
      // The plus sign keeps SQLite from reading everything of the leg that is due.
      `SELECT 1 AS found FROM message WHERE source = :source AND target = :target AND ${isOpen}
         AND reason IN (${listOf(refusedReasons)}) AND +next_attempt_at_ms <= :until LIMIT 1`,
      { source, target, until: untilMs },
    ) !== undefined;
  }

  /** False when no row that {@link conditionsOfRefused} selects is due; most of the time they wait for a later try. */
  #hasDueRefused(query: DueQuery): boolean {
    return this.#hasRefused(query, query.nowMs) ||
      this.listRefusedSenders(query.source, query.target).length > 0;
  }

  /** Rows of a leg that match a condition, in the order of {@link listDue}. */
  #page(
    { source, target, limit, afterKey: after }: Omit<DueQuery, "nowMs">,
    { condition, parameters = {} }: { readonly condition: string; readonly parameters?: Parameters },
  ): MessageRow[] {
    return this.db.rows(
      `SELECT * FROM message WHERE source = :source AND target = :target AND ${condition}
         AND (seen_at_height, nonce, commitment) > (:height, :nonce, :commitment)
       ORDER BY seen_at_height, nonce, commitment LIMIT :limit + 0`,
      {
        ...parameters,
        source,
        target,
        limit,
        height: after?.seenAtHeight ?? -1n,
        nonce: after === undefined ? "" : toU64Text(after.nonce),
        commitment: after?.commitment ?? "",
      },
    ).map(messageFormat.read);
  }

  /** Earliest attempt of the leg's open rows, {@link neverMs} if they have none; `undefined`: there is no open row. */
  #findNextAttempt(source: StateMachine, target: StateMachine): number | undefined {
    const row = this.db.row(
      `SELECT next_attempt_at_ms AS due FROM message WHERE source = :source AND target = :target AND ${isOpen}
       ORDER BY next_attempt_at_ms LIMIT 1`,
      { source, target },
    );
    return row && column.number.read(row, "due");
  }
}
