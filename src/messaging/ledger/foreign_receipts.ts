/** Table `foreign_receipt`: receipts of other relayers that ended messages of ours, until they are final. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, RowFormat, type RowOf } from "./columns.ts";
import { Table } from "./database.ts";

const format = new RowFormat({
  /** Of the message. */
  commitment: column.hash,
  /** Height of the target at which it was seen last. */
  height: column.height,
  /** True when it was there again once the height was final at which it was seen first. */
  isSeenAgain: column.flag,
});

/** Receipt that may still be removed by a reorganisation. */
export type ForeignReceipt = RowOf<typeof format>;

/** Receipts of other relayers. Every method may throw a `LedgerFault`. */
export class ForeignReceipts extends Table {
  find(commitment: Hash256, target: StateMachine): ForeignReceipt | undefined {
    return this.db.find("foreign_receipt", { commitment, target }, format.read);
  }

  /** Inserts the row, or replaces the one of the same message. */
  record(target: StateMachine, receipt: ForeignReceipt): void {
    this.db.put("foreign_receipt", ["commitment", "target"], { target, ...format.write(receipt) });
  }

  /** Lowest height first. */
  list(target: StateMachine, limit: number): readonly ForeignReceipt[] {
    return this.db.rows(
      "SELECT * FROM foreign_receipt WHERE target = :target ORDER BY height, commitment LIMIT :limit + 0",
      { target, limit },
    ).map(format.read);
  }

  remove(commitment: Hash256, target: StateMachine): void {
    this.db.remove("foreign_receipt", { commitment, target });
  }
}
