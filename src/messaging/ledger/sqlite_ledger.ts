/** Ledger on an open and migrated database. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import { openCursors } from "./cursors.ts";
import type { Database } from "./database.ts";
import { openDeliveries } from "./delivery_table.ts";
import { LedgerFault } from "./fault.ts";
import type { Ledger } from "./ledger.ts";
import { openMessages } from "./message_table.ts";
import { type Meta, openMeta } from "./meta.ts";
import { prune } from "./retention.ts";
import { openRewards } from "./reward_table.ts";
import { openSpending } from "./spending_table.ts";
import { openSubmissions } from "./submission_table.ts";
import { openSuspensions } from "./suspension_table.ts";
import { openWithdrawals } from "./withdrawal_table.ts";

/** Name of the row that binds a file to a hub. */
const hubName = "hub";

/** Name of the row that {@link Ledger.checkWritable} writes. */
const probeName = "last_probe_ms";

/** Creates the ledger from its tables. The database is closed with the ledger. */
export function createLedger(db: Database, clock: Pick<Clock, "now">): Ledger {
  const meta = openMeta(db);
  return {
    meta,
    cursors: openCursors(db, clock),
    messages: openMessages(db, clock),
    submissions: openSubmissions(db, clock),
    deliveries: openDeliveries(db, clock),
    withdrawals: openWithdrawals(db, clock),
    rewards: openRewards(db, clock),
    spending: openSpending(db, clock),
    suspensions: openSuspensions(db, clock),
    transaction: (work) => db.transaction(work),
    bindHub: (stateMachine) => db.transaction(() => bindHub(db.path, meta, stateMachine)),
    checkWritable: () => db.transaction(() => meta.write(probeName, String(clock.now()))),
    prune: (nowMs) => prune(db, nowMs),
    close: () => db.close(),
  };
}

function bindHub(path: string, meta: Meta, hub: StateMachine): void {
  const bound = meta.find(hubName);
  if (bound === undefined) {
    meta.write(hubName, hub);
  } else if (bound !== hub) {
    throw new LedgerFault(
      "wrong_hub",
      path,
      `it belongs to the hub ${bound}, but the configuration names ${hub}. Use one database per hub`,
    );
  }
}
