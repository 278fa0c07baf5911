/** Searches of table `message` for operators, and table `message_change`: what happened to each message, and when. */
import type { Hash256, Hex } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, type Parameters, RowFormat, type RowOf } from "./columns.ts";
import { isOpen, messageFormat, type MessageRow } from "./message_rows.ts";
import { MessageQueries } from "./message_queries.ts";
import { type MessageReason, messageReasons, type MessageState, messageStates } from "./message_state.ts";

/** Selection of rows; an absent field matches everything. */
export interface MessageFilter {
  readonly states?: readonly MessageState[] | undefined;
  readonly reasons?: readonly MessageReason[] | undefined;
  /** Ends of the leg. */
  readonly source?: StateMachine | undefined;
  readonly target?: StateMachine | undefined;
  /** Source and destination of the request, whatever the leg. */
  readonly requestSource?: string | undefined;
  readonly requestDest?: string | undefined;
  /** Sender. */
  readonly module?: Uint8Array | undefined;
  /** Changed at or after this time, Unix milliseconds. */
  readonly sinceMs?: number | undefined;
}

/** Rows that one page reads at most. */
const PAGE_ROWS = 10_000;

const changeFormat = new RowFormat({
  state: column.oneOf(messageStates),
  reason: column.optional(column.oneOf(messageReasons)),
  detail: column.optional(column.text),
  /** Unix milliseconds. */
  atMs: column.number,
});

/** Change of a message's state or reason. */
export type MessageChangeRow = RowOf<typeof changeFormat>;

const reasonFormat = new RowFormat({
  reason: column.optional(column.oneOf(messageReasons)),
  count: column.number,
});

/** Queries of table `message`, with searches for operators: not for workers, since they may read the whole table. */
export class MessageSearch extends MessageQueries {
  /** Rows that match, most recently found first. */
  search(filter: MessageFilter, limit: number): MessageRow[] {
    const { sql, parameters } = toCondition(filter);
    // Rows are read once it is known which: most conditions are answered by an index alone.
    return this.db.rows(
      `SELECT * FROM message WHERE rowid IN (
         SELECT rowid FROM message WHERE ${sql} ORDER BY rowid DESC LIMIT :limit + 0) ORDER BY rowid DESC`,
      { ...parameters, limit },
    ).map(messageFormat.read);
  }

  /**
   * Rows that match among those of one stretch of the table, most recently found first, and where the next page begins:
   * as quick for a filter that matches nothing as for any other.
   */
  page(
    filter: MessageFilter,
    { limit, before }: { readonly limit: number; readonly before?: number | undefined },
  ): { readonly rows: readonly MessageRow[]; readonly next: number | undefined } {
    const newest = this.db.row("SELECT coalesce(max(rowid), 0) AS newest FROM message");
    const below = before ?? (newest === undefined ? 0 : column.number.read(newest, "newest")) + 1;
    const { sql, parameters } = toCondition(filter);
    const found = this.db.rows(
      `SELECT *, rowid AS position FROM message WHERE rowid < :below AND rowid >= :from AND ${sql}
       ORDER BY rowid DESC LIMIT :limit + 0`,
      { ...parameters, below, from: below - PAGE_ROWS, limit },
    );
    const last = found.at(-1);
    const isFull = last !== undefined && found.length === limit;
    const end = isFull ? column.number.read(last, "position") : below - PAGE_ROWS;
    return { rows: found.map(messageFormat.read), next: end > 1 ? end : undefined };
  }

  /** Number of rows that match. */
  count(filter: MessageFilter): number {
    const { sql, parameters } = toCondition(filter);
    const row = this.db.row(`SELECT count(*) AS count FROM message WHERE ${sql}`, parameters);
    return row === undefined ? 0 : column.number.read(row, "count");
  }

  /** Rows of a message on all legs, and those of the responses to a GET request; oldest first. */
  listLegs(commitment: Hash256): MessageRow[] {
    return this.db.rows(
      `SELECT *, rowid AS position FROM message WHERE commitment = :commitment
       UNION SELECT *, rowid AS position FROM message WHERE kind = 'getResponse' AND request_commitment = :commitment
       ORDER BY position`,
      { commitment },
    ).map(messageFormat.read);
  }

  /** Commitments of messages and hashes of our transactions that begin with a text; ten at most. */
  listHashes(prefix: Hex): Hash256[] {
    return this.db.rows(
      `SELECT commitment AS hash FROM message WHERE commitment >= :prefix AND commitment < :end
       UNION SELECT hash FROM submission WHERE hash >= :prefix AND hash < :end LIMIT 10`,
      { prefix, end: `${prefix}g` }, // above every digit
    ).map((row) => column.hash.read(row, "hash"));
  }

  /** Changes of a row, oldest first; the first one and the last 50. */
  listChanges(commitment: Hash256, target: StateMachine): MessageChangeRow[] {
    return this.db.rows(
      // That it was found needs no row when nothing else is to be said of it.
      `SELECT 1 AS number, 'seen' AS state, NULL AS reason, NULL AS detail, created_at_ms AS at_ms FROM message
       WHERE commitment = :commitment AND target = :target AND NOT EXISTS (SELECT 1 FROM message_change c
         WHERE c.commitment = :commitment AND c.target = :target AND c.number = 1)
       UNION ALL SELECT number, state, reason, detail, at_ms FROM message_change
       WHERE commitment = :commitment AND target = :target ORDER BY number`,
      { commitment, target },
    ).map(changeFormat.read);
  }

  /** Number of open rows that match, by reason; those that are due already count, too. */
  countOpenByReason(
    filter: MessageFilter,
  ): readonly { readonly reason: MessageReason | undefined; readonly count: number }[] {
    const { sql, parameters } = toCondition(filter);
    return this.db.rows(
      `SELECT reason, count(*) AS count FROM message WHERE ${isOpen} AND ${sql} GROUP BY reason ORDER BY reason`,
      parameters,
    ).map(reasonFormat.read);
  }

  /** Makes the open rows that match due now; returns how many were not. */
  wakeMatching(filter: MessageFilter): number {
    const { sql, parameters } = toCondition(filter);
    return this.db.run(
      // The plus sign keeps SQLite from reading everything of the leg that is not due.
      `UPDATE message SET next_attempt_at_ms = :now, updated_at_ms = :now
       WHERE ${isOpen} AND +next_attempt_at_ms > :now AND ${sql}`,
      { ...parameters, now: this.db.now() },
    ).changes;
  }
}

function toCondition(
  filter: MessageFilter,
): { readonly sql: string; readonly parameters: Parameters } {
  const { states, reasons, source, target, requestSource, requestDest, module, sinceMs } = filter;
  const parts: readonly (readonly [string, Parameters] | undefined)[] = [
    states && ["state IN (SELECT value FROM json_each(:states))", { states: JSON.stringify(states) }],
    reasons && ["reason IN (SELECT value FROM json_each(:reasons))", { reasons: JSON.stringify(reasons) }],
    source && ["source = :source", { source }],
    target && ["target = :target", { target }],
    requestSource === undefined ? undefined : ["request_source = :requestSource", { requestSource }],
    requestDest === undefined ? undefined : ["request_dest = :requestDest", { requestDest }],
    module && ["module = :module", { module }],
    sinceMs === undefined ? undefined : ["updated_at_ms >= :since", { since: sinceMs }],
  ];
  const wanted = parts.filter((part) => part !== undefined);
  return {
    sql: ["1 = 1", ...wanted.map(([sql]) => sql)].join(" AND "),
    parameters: Object.assign({}, ...wanted.map(([, parameters]) => parameters)),
  };
}
