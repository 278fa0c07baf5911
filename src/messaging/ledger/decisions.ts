/** Table `decision`: the last decision of the profit rule about each message, with all of its numbers. */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { findDecimal, findText, readDecimal, readNumber, readOneOf, toDecimal } from "./columns.ts";
import type { Database } from "./database.ts";

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

/** Decisions. Every method may throw a `LedgerFault`. */
export interface Decisions {
  /** Records decisions about messages to one target; earlier ones are replaced. */
  note(target: StateMachine, decisions: readonly Omit<DecisionRow, "atMs">[]): void;
  find(commitment: Hash256, target: StateMachine): DecisionRow | undefined;
}

/** Opens the decisions in a database. */
export function openDecisions(db: Database): Decisions {
  return {
    note: (target, decisions) =>
      void db.run(
        `INSERT INTO decision (commitment, target, verdict, fee_usd18, gas, gas_price_wei, data_cost_wei, price27,
           price_origin, profit_percent, cost_usd18, required_usd18, at_ms)
         SELECT value ->> 0, :target, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6,
           value ->> 7, value ->> 8, value ->> 9, value ->> 10, :now FROM json_each(:list) WHERE true
         ON CONFLICT (commitment, target) DO UPDATE SET verdict = excluded.verdict, fee_usd18 = excluded.fee_usd18,
           gas = excluded.gas, gas_price_wei = excluded.gas_price_wei, data_cost_wei = excluded.data_cost_wei,
           price27 = excluded.price27, price_origin = excluded.price_origin,
           profit_percent = excluded.profit_percent, cost_usd18 = excluded.cost_usd18,
           required_usd18 = excluded.required_usd18, at_ms = excluded.at_ms`,
        { target, now: db.now(), list: JSON.stringify(decisions.map(toColumns)) },
      ),
    find: (commitment, target) => {
      const row = db.row("SELECT * FROM decision WHERE commitment = :commitment AND target = :target", {
        commitment,
        target,
      });
      return row && {
        commitment,
        verdict: readOneOf(row, "verdict", verdicts),
        feeUsd18: findDecimal(row, "fee_usd18"),
        gas: readDecimal(row, "gas"),
        gasPriceWei: readDecimal(row, "gas_price_wei"),
        dataCostWei: readDecimal(row, "data_cost_wei"),
        price27: findDecimal(row, "price27"),
        priceOrigin: findText(row, "price_origin"),
        profitPercent: readNumber(row, "profit_percent"),
        costUsd18: findDecimal(row, "cost_usd18"),
        requiredUsd18: findDecimal(row, "required_usd18"),
        atMs: readNumber(row, "at_ms"),
      };
    },
  };
}

/** The columns in the order of the statement. */
function toColumns(row: Omit<DecisionRow, "atMs">): readonly (string | number | null)[] {
  return [
    row.commitment,
    row.verdict,
    toDecimal(row.feeUsd18) ?? null,
    row.gas.toString(),
    row.gasPriceWei.toString(),
    row.dataCostWei.toString(),
    toDecimal(row.price27) ?? null,
    row.priceOrigin ?? null,
    row.profitPercent,
    toDecimal(row.costUsd18) ?? null,
    toDecimal(row.requiredUsd18) ?? null,
  ];
}
