/** Table `note`: single values that survive a restart, each about a topic and a subject (a chain, a leg, a setting). */
import { column } from "./columns.ts";
import { Table } from "./database.ts";
import * as z from "zod";

/** Topics of notes, by their subjects. */
export type NoteTopic =
  // of a chain
  | "bandwidth"
  | "bought_proofs"
  | "competition"
  | "foreign_nonces"
  | "loss_stop"
  | "one_in_flight"
  | "payments_scanned"
  | "price"
  | "proven_pairs"
  | "second_proof"
  | "transaction_size"
  | "unfunded"
  | "withdrawals_completed"
  // of a leg
  | "known_since"
  | "reconciled"
  // of the program
  | "reconciliation_gaps"
  | "setting";

/** A height as it is noted: a decimal text. */
export const notedHeight = z.string().transform(BigInt);

/** Notes. Every method may throw a `LedgerFault`. */
export class Notes extends Table {
  /** @throws {z.ZodError} a defect: the value has another shape. */
  find<T>(topic: NoteTopic, subject: string, schema: z.ZodType<T>): T | undefined {
    const text = this.db.find("note", { topic, subject }, (row) => column.text.read(row, "value"));
    return text === undefined ? undefined : schema.parse(JSON.parse(text));
  }

  /** Writes a value, as JSON. @param value `undefined` removes the note */
  write(topic: NoteTopic, subject: string, value: unknown): void {
    if (value === undefined) this.db.remove("note", { topic, subject });
    else this.db.put("note", ["topic", "subject"], { topic, subject, value: JSON.stringify(value) });
  }
}
