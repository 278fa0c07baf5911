/** Table `cursor`: up to which height of its source each leg has rows for every message (I1, I2). */
import type { StateMachine } from "../protocol/ismp/state_machine.ts";

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
