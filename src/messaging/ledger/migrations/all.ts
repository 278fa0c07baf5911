/** Every step of the tables, in order. A new step is a new file, or a few lines here, and a new last entry. */
import type { Migration } from "../schema.ts";
import { firstTables } from "./v1_first_tables.ts";
import { largeLedgers } from "./v2_large_ledgers.ts";
import { quickChanges } from "./v3_quick_changes.ts";

/** Payments of our fees are due like other messages; they were delivered apart from them, and never due. */
const ordinaryPayments: Migration = {
  version: 4,
  title: "payments among the messages",
  sql: `
UPDATE withdrawal SET state = 'dispatched' WHERE state = 'delivering';
UPDATE message SET next_attempt_at_ms = 0
WHERE state IN ('seen', 'held', 'ready', 'not_executed') AND next_attempt_at_ms = ${Number.MAX_SAFE_INTEGER}
  AND commitment IN (SELECT commitment FROM withdrawal WHERE state = 'dispatched');
UPDATE message SET state = 'seen', reason = NULL, next_attempt_at_ms = 0
WHERE state = 'rejected' AND commitment IN (SELECT commitment FROM withdrawal WHERE state = 'dispatched');
`,
};

/** Steps 1, 2, 3, ... without gaps. */
export const migrations: readonly Migration[] = [firstTables, largeLedgers, quickChanges, ordinaryPayments];
