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
  /** Records decisions about messages to one target; earlier ones are replaced. Call it in a transaction. */
  note(target: StateMachine, decisions: readonly Omit<DecisionRow, "atMs">[]): void;
  find(commitment: Hash256, target: StateMachine): DecisionRow | undefined;
}

/** Opens the decisions in a database. */
export function openDecisions(db: Database): Decisions {
  return {
    note: (target, decisions) => {
      for (const row of decisions) {
        db.put("decision", ["commitment", "target"], {
          commitment: row.commitment,
          target,
          verdict: row.verdict,
          fee_usd18: toDecimal(row.feeUsd18),
          gas: row.gas.toString(),
          gas_price_wei: row.gasPriceWei.toString(),
          data_cost_wei: row.dataCostWei.toString(),
          price27: toDecimal(row.price27),
          price_origin: row.priceOrigin,
          profit_percent: row.profitPercent,
          cost_usd18: toDecimal(row.costUsd18),
          required_usd18: toDecimal(row.requiredUsd18),
          at_ms: db.now(),
        });
      }
    },
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
