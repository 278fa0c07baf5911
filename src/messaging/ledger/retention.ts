/** Removal of expired rows. Source: docs/architecture/ledger.md, "Retention". */
import type { Database } from "./database.ts";

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
             AND w.state IN ('requested', 'dispatched', 'delivering'))
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
