/** Removal of expired rows (docs/architecture/ledger.md, "Retention"), and times of a clock that was ahead. */
import type { Database } from "./database.ts";
import { isOpen, neverMs } from "./message_rows.ts";
import { isOpenWithdrawal } from "./withdrawals.ts";

const dayMs = 86_400_000;

/** Retention of ended messages and submissions. */
const journalMs = 30 * dayMs;

/** Retention of claimed deliveries and those without a fee. */
const claimedMs = 90 * dayMs;

/** Retention of spending. */
const spendingMs = 90 * dayMs;

/** Rows per transaction: a few milliseconds each. */
const chunk = 500;

/** Number of rows that {@link prune} removed. */
export interface Pruned {
  readonly messages: number;
  readonly submissions: number;
  readonly deliveries: number;
  readonly spending: number;
}

/** Removes expired rows; what still has to be claimed, withdrawn or settled is never removed. */
export function prune(db: Database, nowMs: number): Pruned {
  return {
    messages: removeAll(
      db,
      `DELETE FROM message WHERE rowid IN (
         SELECT m.rowid FROM message m
         WHERE m.state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone')
           AND m.updated_at_ms < :before
           AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.commitment = m.request_commitment AND d.dest = m.target
             AND d.claim_state IN ('unclaimed', 'claiming', 'lost'))
         LIMIT ${chunk})`,
      nowMs - journalMs,
    ),
    submissions: removeAll(
      db,
      `DELETE FROM submission WHERE id IN (
         SELECT s.id FROM submission s
         WHERE s.state IN ('final', 'failed', 'replaced', 'dropped') AND s.updated_at_ms < :before
           AND NOT EXISTS (SELECT 1 FROM withdrawal w WHERE w.submission_id = s.id
             AND w.state IN ('requested', 'dispatched'))
         LIMIT ${chunk})`,
      nowMs - journalMs,
    ),
    deliveries: removeAll(
      db,
      `DELETE FROM delivery WHERE rowid IN (
         SELECT rowid FROM delivery WHERE claim_state IN ('claimed', 'no_fee') AND is_final = 1
           AND updated_at_ms < :before LIMIT ${chunk})`,
      nowMs - claimedMs,
    ),
    spending: removeAll(
      db,
      `DELETE FROM spending WHERE id IN (
         SELECT p.id FROM spending p WHERE p.created_at_ms < :before
           AND NOT EXISTS (SELECT 1 FROM submission s WHERE s.id = p.id) LIMIT ${chunk})`,
      nowMs - spendingMs,
    ),
  };
}

function removeAll(db: Database, sql: string, before: number): number {
  let removed = 0;
  for (let changes = chunk; changes > 0;) {
    changes = db.transaction(() => db.run(sql, { before }).changes);
    removed += changes;
  }
  return removed;
}

/** Difference of two reads of a clock beyond which it was set back, ms. */
const FUTURE_MS = 60_000;

/** The least number among notes that is a time, ms (the year 2001): heights and counts are smaller. */
const MIN_TIME_MS = 1_000_000_000_000;

/** What waits for a time: table, its column, and which rows do. */
const WAITING = [
  ["message", "next_attempt_at_ms", isOpen],
  ["suspension", "next_try_at_ms", "is_active = 1"],
  ["reward", "next_attempt_at_ms", "state = 'pending'"],
] as const;

/** Rows whose age decides something. */
const AGEING = [
  ["submission", "state IN ('signed', 'broadcast', 'included')"],
  ["withdrawal", isOpenWithdrawal],
  ["delivery", "claim_state IN ('unclaimed', 'claiming')"],
] as const;

/**
 * Ends waits and ages of times that the machine's clock has not reached: it was ahead when they were written, more than
 * a minute, and they would last as much longer. Returns how many rows are due by that.
 */
export function wakeFromFuture(db: Database): number {
  const now = db.now();
  const future = now + FUTURE_MS;
  const woken = WAITING.map(([table, column, condition]) =>
    db.run(
      `UPDATE ${table} SET ${column} = :now, updated_at_ms = :now
       WHERE ${condition} AND updated_at_ms > :future AND ${column} > :now AND ${column} <> ${neverMs}`,
      { now, future },
    ).changes
  );
  for (const [table, condition] of AGEING) {
    db.run(
      `UPDATE ${table} SET created_at_ms = min(created_at_ms, :now), updated_at_ms = min(updated_at_ms, :now)
       WHERE ${condition} AND updated_at_ms > :future`,
      { now, future },
    );
  }
  db.run("UPDATE spending SET mined_at_ms = :now WHERE mined_at_ms > :future", { now, future });
  // Notes about chains: what is noted no more is found out again.
  db.run(
    `DELETE FROM note WHERE EXISTS (
       SELECT 1 FROM json_tree(note.value) AS item WHERE item.type = 'integer' AND item.value > :future)`,
    { future: Math.max(future, MIN_TIME_MS) },
  );
  return woken.reduce((sum, count) => sum + count, 0);
}
