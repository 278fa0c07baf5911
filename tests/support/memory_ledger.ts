/** A ledger in memory, discarded when closed. */
import { DatabaseSync } from "node:sqlite";
import { Database } from "../../src/messaging/ledger/database.ts";
import { createLedger, type Ledger } from "../../src/messaging/ledger/ledger.ts";
import { migrations } from "../../src/messaging/ledger/tables.ts";
import type { OpenDeps } from "../../src/messaging/ledger/open.ts";
import { migrate } from "../../src/messaging/ledger/schema.ts";

/** Opens a ledger with all tables. */
export function openMemoryLedger(deps: OpenDeps): Ledger {
  const db = new Database(new DatabaseSync(":memory:"), ":memory:", deps.clock);
  db.execute("PRAGMA foreign_keys = ON");
  migrate(db, deps.migrations ?? migrations, 0);
  return createLedger(db);
}
