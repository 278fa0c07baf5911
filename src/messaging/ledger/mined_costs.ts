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

/** Lowest id mined at or after a time; 0: none was. */
function findFirst(db: Database, sinceMs: number): number {
  const row = db.row(
    "SELECT coalesce(min(id), 0) AS first FROM spending WHERE mined_at_ms IS NOT NULL AND mined_at_ms >= :sinceMs",
    { sinceMs },
  );
  return row === undefined ? 0 : readNumber(row, "first");
}

/** Opens the costs in a database. */
export function openMinedCosts(db: Database): MinedCosts {
  return {
    list: ({ sinceMs, afterId, limit }) =>
      db.rows(
        // The first of them is found by time: what was sent long before is not read.
        `SELECT * FROM spending WHERE id >= :fromId AND mined_at_ms >= :sinceMs ORDER BY id LIMIT :limit + 0`,
        { sinceMs, fromId: afterId > 0 ? afterId + 1 : findFirst(db, sinceMs), limit },
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
