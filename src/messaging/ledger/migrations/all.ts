/** Every step of the tables, in order. A new step is a new file and a new last entry. */
import type { Migration } from "../schema.ts";
import { firstTables } from "./v1_first_tables.ts";
import { largeLedgers } from "./v2_large_ledgers.ts";
import { quickChanges } from "./v3_quick_changes.ts";
import { ordinaryPayments } from "./v4_payments.ts";

/** Steps 1, 2, 3, ... without gaps. */
export const migrations: readonly Migration[] = [firstTables, largeLedgers, quickChanges, ordinaryPayments];
