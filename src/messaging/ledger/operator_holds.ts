/** Table `operator_hold`: modules and routes whose messages the operator holds. */
import { readText } from "./columns.ts";
import type { Database } from "./database.ts";

/** Subjects that are held, as the operator names them. Every method may throw a `LedgerFault`. */
export interface OperatorHolds {
  list(): string[];
  /** @returns false when it is held already. */
  add(subject: string): boolean;
  /** @returns false when it is not held. */
  remove(subject: string): boolean;
}

/** Opens the held subjects in a database. */
export function openOperatorHolds(db: Database): OperatorHolds {
  return {
    list: () =>
      db.rows("SELECT subject FROM operator_hold ORDER BY subject").map((row) => readText(row, "subject")),
    add: (subject) =>
      db.run(
        `INSERT INTO operator_hold (subject, created_at_ms) VALUES (:subject, :now)
         ON CONFLICT (subject) DO NOTHING`,
        { subject, now: db.now() },
      ).changes > 0,
    remove: (subject) =>
      db.run("DELETE FROM operator_hold WHERE subject = :subject", { subject }).changes > 0,
  };
}
