/** Costs of mined transactions with what they carried, for the accounts of an operator. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import {
  findDecimal,
  findOneOf,
  findStateMachine,
  readBytes,
  readDecimal,
  readNumber,
  readOneOf,
  readStateMachine,
} from "./columns.ts";
import type { Database } from "./database.ts";
import { type SpendingPurpose, spendingPurposes, type SpendingResult, spendingResults } from "./spending.ts";

/** A mined transaction. */
export interface MinedCost {
  readonly id: number;
  readonly chain: StateMachine;
  readonly legSource: StateMachine | undefined;
  readonly purpose: SpendingPurpose;
  readonly result: SpendingResult;
  readonly costWei: bigint;
  /** At the price of that time, dollars x 10^18; `undefined`: the price was unknown. */
  readonly costUsd18: bigint | undefined;
  readonly revenueUsd18: bigint | undefined;
  readonly minedAtMs: number;
}

/** A message that a transaction carried; it is removed a month after it ended. */
export interface CarriedMessage {
  readonly module: Uint8Array;
  readonly isHandled: boolean;
  readonly offeredUsd18: bigint | undefined;
}

/** Costs of transactions. Every method may throw a `LedgerFault`. */
export interface MinedCosts {
  /** Mined at or after `sinceMs`, by id, above `afterId`. */
  list(page: { readonly sinceMs: number; readonly afterId: number; readonly limit: number }): MinedCost[];
  /** Messages of a transaction, as far as they are still known. */
  listCarried(id: number): CarriedMessage[];
}

/** Opens the costs in a database. */
export function openMinedCosts(db: Database): MinedCosts {
  return {
    list: ({ sinceMs, afterId, limit }) =>
      db.rows(
        `SELECT * FROM spending WHERE id > :afterId AND mined_at_ms >= :sinceMs ORDER BY id LIMIT :limit + 0`,
        { sinceMs, afterId, limit },
      ).map((row) => ({
        id: readNumber(row, "id"),
        chain: readStateMachine(row, "chain"),
        legSource: findStateMachine(row, "leg_source"),
        purpose: readOneOf(row, "purpose", spendingPurposes),
        result: readOneOf(row, "result", spendingResults),
        costWei: readDecimal(row, "cost_wei"),
        costUsd18: findDecimal(row, "cost_usd18"),
        revenueUsd18: findDecimal(row, "revenue_usd18"),
        minedAtMs: readNumber(row, "mined_at_ms"),
      })),
    listCarried: (id) =>
      db.rows(
        `SELECT m.module, m.offered_usd18, i.outcome FROM submission_item i
           JOIN message m ON m.commitment = i.commitment AND m.target = i.target WHERE i.submission_id = :id`,
        { id },
      ).map((row) => ({
        module: readBytes(row, "module"),
        isHandled: findOneOf(row, "outcome", ["handled", "not_handled", "by_other", "unknown"]) === "handled",
        offeredUsd18: findDecimal(row, "offered_usd18"),
      })),
  };
}
