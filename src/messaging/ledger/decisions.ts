/** Table `decision`: the last decision of the profit rule about each message, with all of its numbers. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, RowFormat, type RowOf } from "./columns.ts";
import { Table } from "./database.ts";

const format = new RowFormat({
  commitment: column.hash,
  /** Why a message was delivered (the first three) or held. */
  verdict: column.oneOf([
    "profitable",
    "no_minimum",
    "always",
    "unprofitable",
    "price_unknown",
    "fee_unknown",
    "consensus_proofs_unprofitable",
  ]),
  feeUsd18: column.optional(column.decimal),
  gas: column.decimal,
  gasPriceWei: column.decimal,
  /** Share of what the chain charges for data elsewhere, wei. */
  dataCostWei: column.decimal,
  /** Dollars per native token x 10^27. */
  price27: column.optional(column.decimal),
  /** Source of the price, e.g. `etherscan`. */
  priceOrigin: column.optional(column.text),
  profitPercent: column.number,
  costUsd18: column.optional(column.decimal),
  requiredUsd18: column.optional(column.decimal),
  /** Unix milliseconds. */
  atMs: column.number,
});

/** Decision about one message. Dollars x 10^18 unless named otherwise; `undefined`: unknown at that time. */
export type DecisionRow = RowOf<typeof format>;

/** Decisions. Every method may throw a `LedgerFault`. */
export class Decisions extends Table {
  /** Records decisions about messages to one target; earlier ones are replaced. Call it in a transaction. */
  note(target: StateMachine, decisions: readonly Omit<DecisionRow, "atMs">[]): void {
    for (const decision of decisions) {
      const row = { target, ...format.write({ ...decision, atMs: this.db.now() }) };
      this.db.put("decision", ["commitment", "target"], row);
    }
  }

  find(commitment: Hash256, target: StateMachine): DecisionRow | undefined {
    return this.db.find("decision", { commitment, target }, format.read);
  }
}
