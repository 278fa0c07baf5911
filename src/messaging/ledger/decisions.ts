/** Table `decision`: the last decision of the profit rule about each message, with all of its numbers. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, RowFormat } from "./columns.ts";
import { Table } from "./database.ts";

/** Every {@link DecisionVerdict}. */
const verdicts = [
  "profitable",
  "no_minimum",
  "always",
  "unprofitable",
  "price_unknown",
  "fee_unknown",
  "consensus_proofs_unprofitable",
] as const;

/** Why a message was delivered (the first three) or held. */
export type DecisionVerdict = typeof verdicts[number];

/** Decision about one message. Dollars x 10^18 unless named otherwise; `undefined`: unknown at that time. */
export interface DecisionRow {
  readonly commitment: Hash256;
  readonly verdict: DecisionVerdict;
  readonly feeUsd18: bigint | undefined;
  readonly gas: bigint;
  readonly gasPriceWei: bigint;
  /** Share of what the chain charges for data elsewhere, wei. */
  readonly dataCostWei: bigint;
  /** Dollars per native token x 10^27. */
  readonly price27: bigint | undefined;
  /** Source of the price, e.g. `etherscan`. */
  readonly priceOrigin: string | undefined;
  readonly profitPercent: number;
  readonly costUsd18: bigint | undefined;
  readonly requiredUsd18: bigint | undefined;
  /** Unix milliseconds. */
  readonly atMs: number;
}

const format = new RowFormat<DecisionRow>({
  commitment: column.hash,
  verdict: column.oneOf(verdicts),
  feeUsd18: column.optional(column.decimal),
  gas: column.decimal,
  gasPriceWei: column.decimal,
  dataCostWei: column.decimal,
  price27: column.optional(column.decimal),
  priceOrigin: column.optional(column.text),
  profitPercent: column.number,
  costUsd18: column.optional(column.decimal),
  requiredUsd18: column.optional(column.decimal),
  atMs: column.number,
});

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
