/** Table `cursor`: up to which height of its source each leg has rows for every message (I1, I2). */
import type { StateMachine } from "../protocol/ismp/state_machine.ts";
import type { Clock } from "../runtime/clock.ts";
import { readInteger, readStateMachine, toHeight } from "./columns.ts";
import type { Database } from "./database.ts";

/** The cursors. Every method may throw a `LedgerFault`. */
export interface Cursors {
  /** Highest scanned height of `source` for the leg to `sink`. */
  find(source: StateMachine, sink: StateMachine): bigint | undefined;
  /** Moves the cursor up; a lower height leaves it where it is. Call it with the rows in one transaction. */
  advance(source: StateMachine, sink: StateMachine, height: bigint): void;
  /** Sets the cursor, also downwards: only for an operator's `initial_height`. */
  reset(source: StateMachine, sink: StateMachine, height: bigint): void;
  list(): { readonly source: StateMachine; readonly sink: StateMachine; readonly scanned: bigint }[];
}

/** The cursors in a database. */
export function openCursors(db: Database, clock: Pick<Clock, "now">): Cursors {
  const write = (onConflict: string) => (source: StateMachine, sink: StateMachine, height: bigint): void => {
    db.run(
      `INSERT INTO cursor (source, sink, scanned, updated_at_ms) VALUES (:source, :sink, :height, :now)
       ON CONFLICT (source, sink) DO UPDATE SET scanned = excluded.scanned, updated_at_ms = :now ${onConflict}`,
      { source, sink, height: toHeight(height), now: clock.now() },
    );
  };
  return {
    find: (source, sink) => {
      const row = db.row("SELECT scanned FROM cursor WHERE source = :source AND sink = :sink", {
        source,
        sink,
      });
      return row && readInteger(row, "scanned");
    },
    advance: write("WHERE excluded.scanned > cursor.scanned"),
    reset: write(""),
    list: () =>
      db.rows("SELECT source, sink, scanned FROM cursor ORDER BY source, sink").map((row) => ({
        source: readStateMachine(row, "source"),
        sink: readStateMachine(row, "sink"),
        scanned: readInteger(row, "scanned"),
      })),
  };
}
