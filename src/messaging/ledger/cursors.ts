/** Table `cursor`: highest height of its source up to which each leg has recorded every message (I1, I2). */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { readInteger, readStateMachine, toHeight } from "./columns.ts";
import type { Database } from "./database.ts";

/** Scan cursors of the legs. Every method may throw a `LedgerFault`. */
export interface Cursors {
  /** Highest scanned height of `source` for the leg to `target`. */
  find(source: StateMachine, target: StateMachine): bigint | undefined;
  /** Moves the cursor up; a lower height leaves it where it is. Call it with the rows in one transaction. */
  advance(source: StateMachine, target: StateMachine, height: bigint): void;
  /** Sets the cursor, also downwards: only for an operator's `initial_height`. */
  reset(source: StateMachine, target: StateMachine, height: bigint): void;
  list(): { readonly source: StateMachine; readonly target: StateMachine; readonly scanned: bigint }[];
}

/** Opens the cursors in a database. */
export function openCursors(db: Database): Cursors {
  const write =
    (onConflict: string) => (source: StateMachine, target: StateMachine, height: bigint): void => {
      db.run(
        `INSERT INTO cursor (source, target, scanned, updated_at_ms) VALUES (:source, :target, :height, :now)
       ON CONFLICT (source, target) DO UPDATE SET scanned = excluded.scanned, updated_at_ms = :now ${onConflict}`,
        { source, target, height: toHeight(height), now: db.now() },
      );
    };
  return {
    find: (source, target) => {
      const row = db.row("SELECT scanned FROM cursor WHERE source = :source AND target = :target", {
        source,
        target,
      });
      return row && readInteger(row, "scanned");
    },
    advance: write("WHERE excluded.scanned > cursor.scanned"),
    reset: write(""),
    list: () =>
      db.rows("SELECT source, target, scanned FROM cursor ORDER BY source, target").map((row) => ({
        source: readStateMachine(row, "source"),
        target: readStateMachine(row, "target"),
        scanned: readInteger(row, "scanned"),
      })),
  };
}
