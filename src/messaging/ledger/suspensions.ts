/**
 * Table `suspension`: pairs of modules whose deliveries cost gas without effect. The rules are in
 * `messaging/relay/decisions/suspension.ts`.
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { findHash, readBytes, readHash, readNumber, readStateMachine, type Row } from "./columns.ts";
import type { Database } from "./database.ts";

/** Key of a pair: sender, receiver and target. */
export interface SuspensionKey {
  /** Chain that the messages are delivered to. */
  readonly target: StateMachine;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Stored pair. */
export interface SuspensionRow extends SuspensionKey {
  /** Number of transactions mined without effect for messages of the pair. */
  readonly failures: number;
  /** False after a successful delivery: its messages are released, its failures are remembered for a while. */
  readonly isActive: boolean;
  /** Time when one message of the pair may be retried, Unix milliseconds; `neverMs`: only manually. */
  readonly nextTryAtMs: number;
  /** Message of the next or latest retry. */
  readonly trial: Hash256 | undefined;
  /** The newest of those transactions. */
  readonly lastTransaction: Hash256;
  /** Time of the last change of the row, Unix milliseconds. */
  readonly updatedAtMs: number;
}

/** Suspended pairs. Every method may throw a `LedgerFault`. */
export interface Suspensions {
  find(key: SuspensionKey): SuspensionRow | undefined;
  /** Pairs on the chain whose messages are suspended now. */
  listActive(target: StateMachine): SuspensionRow[];
  /** Inserts the row or replaces the one of the same pair. */
  write(row: Omit<SuspensionRow, "updatedAtMs">): void;
  /** Removes a pair and its failures. */
  remove(key: SuspensionKey): void;
}

const byKey = "target = :target AND module_from = :from AND module_to = :to";

/** Opens the suspended pairs in a database. */
export function openSuspensions(db: Database): Suspensions {
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
          now: db.now(),
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
