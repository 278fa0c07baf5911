/** Queries of table `suspension`; their semantics are documented in `suspensions.ts`. */
import type { Clock } from "../../core/runtime/clock.ts";
import { findHash, readBytes, readHash, readNumber, readStateMachine, type Row } from "./columns.ts";
import type { Database } from "./database.ts";
import type { SuspensionKey, SuspensionRow, Suspensions } from "./suspensions.ts";

const byKey = "target = :target AND module_from = :from AND module_to = :to";

/** Opens the suspended pairs in a database. */
export function openSuspensions(db: Database, clock: Pick<Clock, "now">): Suspensions {
  const keyOf = ({ target, from, to }: SuspensionKey) => ({ target, from, to });
  return {
    find: (key) => {
      const row = db.row(`SELECT * FROM suspension WHERE ${byKey}`, keyOf(key));
      return row && toSuspension(row);
    },
    listActive: (target) =>
      db.rows("SELECT * FROM suspension WHERE target = :target AND is_active = 1", { target }).map(
        toSuspension,
      ),
    write: (row) => {
      db.run(
        `INSERT INTO suspension (target, module_from, module_to, failures, is_active, next_try_at_ms, trial,
           last_transaction, created_at_ms, updated_at_ms)
         VALUES (:target, :from, :to, :failures, :isActive, :nextTryAtMs, :trial, :lastTransaction, :now, :now)
         ON CONFLICT (target, module_from, module_to) DO UPDATE SET failures = excluded.failures,
           is_active = excluded.is_active, next_try_at_ms = excluded.next_try_at_ms, trial = excluded.trial,
           last_transaction = excluded.last_transaction, updated_at_ms = excluded.updated_at_ms`,
        {
          ...keyOf(row),
          failures: row.failures,
          isActive: row.isActive ? 1 : 0,
          nextTryAtMs: row.nextTryAtMs,
          trial: row.trial,
          lastTransaction: row.lastTransaction,
          now: clock.now(),
        },
      );
    },
    remove: (key) => void db.run(`DELETE FROM suspension WHERE ${byKey}`, keyOf(key)),
  };
}

function toSuspension(row: Row): SuspensionRow {
  return {
    target: readStateMachine(row, "target"),
    from: readBytes(row, "module_from"),
    to: readBytes(row, "module_to"),
    failures: readNumber(row, "failures"),
    isActive: readNumber(row, "is_active") === 1,
    nextTryAtMs: readNumber(row, "next_try_at_ms"),
    trial: findHash(row, "trial"),
    lastTransaction: readHash(row, "last_transaction"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
