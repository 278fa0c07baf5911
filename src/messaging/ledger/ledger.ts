/**
 * Durable state of the messaging relayer, as its workers see it: the only shared mutable state. Opened by `open.ts`;
 * larger tables have a file each beside this one. All calls are synchronous and short.
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, RowFormat, type RowOf, toHeight } from "./columns.ts";
import { type Database, Table } from "./database.ts";
import { Deliveries } from "./deliveries.ts";
import { LedgerFault } from "./fault.ts";
import { Messages } from "./messages.ts";
import { notedHeight, Notes, type NoteTopic } from "./notes.ts";
import { prune, type Pruned } from "./retention.ts";
import { Rewards } from "./rewards.ts";
import { Spending } from "./spending.ts";
import { openStatistics, type Statistics } from "./statistics.ts";
import { Submissions } from "./submissions.ts";
import { Withdrawals } from "./withdrawals.ts";

export type {
  ClaimPair,
  ClaimState,
  DeliveredMessage,
  DeliveryBlock,
  DeliveryReceipt,
  DeliveryRow,
  NewDelivery,
} from "./deliveries.ts";
export { LedgerFault } from "./fault.ts";
export {
  type HoldReason,
  holdReasons,
  isTerminal,
  mayFollow,
  type MessageReason,
  messageReasons,
  type MessageState,
  messageStates,
  openMessageStates,
  type TerminalReason,
} from "./message_state.ts";
export type { DueQuery, HeldQuery } from "./message_queries.ts";
export { type MessageRow, neverMs, type NewMessage } from "./message_rows.ts";
export type { MessageFilter } from "./message_search.ts";
export { notedHeight, type NoteTopic };
export type { RewardKey, RewardRow } from "./rewards.ts";
export type { Allowance, SpendingResult, SpendingRow, Spent } from "./spending.ts";
export type { CarriedMessage, MinedCost, OpenCount, Period } from "./statistics.ts";
export {
  isUnresolved,
  type ItemOutcome,
  type SubmissionItem,
  type SubmissionItemRow,
  type SubmissionKind,
  type SubmissionRow,
  unresolvedSubmissionStates,
} from "./submissions.ts";
export type { WithdrawalDispatch, WithdrawalRow, WithdrawalState } from "./withdrawals.ts";

/** Database of the relayer. Every method may throw a `LedgerFault`: stop sending then. Plain errors are defects. */
export interface Ledger {
  readonly notes: Notes;
  readonly cursors: Cursors;
  readonly messages: Messages;
  readonly submissions: Submissions;
  readonly deliveries: Deliveries;
  readonly foreignReceipts: ForeignReceipts;
  readonly withdrawals: Withdrawals;
  readonly rewards: Rewards;
  readonly spending: Spending;
  readonly suspensions: Suspensions;
  readonly statistics: Statistics;
  readonly decisions: Decisions;
  readonly operatorHolds: OperatorHolds;
  /**
   * Runs `work` in one write transaction that is on disk when this returns; rolls back when it throws. `work` must not
   * be asynchronous.
   * @throws {Error} a defect when called within another transaction.
   */
  transaction<T>(work: () => T extends PromiseLike<unknown> ? never : T): T;
  /**
   * Binds the file to a hub at first use.
   * @throws {LedgerFault} `wrong_hub` when the file belongs to another one.
   */
  bindHub(stateMachine: StateMachine): void;
  /** The fault of the file that stands; `undefined`: none. It ends when {@link checkWritable} works. */
  fault(): LedgerFault | undefined;
  /** Calls `listener` when {@link fault} begins, changes and ends. It must not throw. */
  watchFault(listener: (fault: LedgerFault | undefined) => void): void;
  /** Writes a mebibyte, which is taken away again: throws while the file cannot be written. */
  checkWritable(): void;
  /** Removes expired rows (docs/architecture/ledger.md, "Retention"). */
  prune(nowMs: number): Pruned;
  /** Writes everything to the main file and releases the lock. A second call does nothing. */
  close(): void;
}

/** Name of the row that binds a file to a hub. */
const hubName = "hub";

/** Name of the row that {@link Ledger.checkWritable} writes. */
const probeName = "last_probe_ms";

/** Length of what it writes, more than one step of a worker: else a nearly full disk would be free and full by turns. */
const PROBE_BYTES = 1_048_576;

/** Creates the ledger from its tables. The database is closed with the ledger. */
export function createLedger(db: Database): Ledger {
  const meta = new Meta(db);
  const spending = new Spending(db);
  return {
    notes: new Notes(db),
    cursors: new Cursors(db),
    messages: new Messages(db),
    submissions: new Submissions(db, spending),
    deliveries: new Deliveries(db),
    foreignReceipts: new ForeignReceipts(db),
    withdrawals: new Withdrawals(db),
    rewards: new Rewards(db),
    spending,
    suspensions: new Suspensions(db),
    statistics: openStatistics(db),
    decisions: new Decisions(db),
    operatorHolds: new OperatorHolds(db),
    transaction: (work) => db.transaction(work),
    bindHub: (hub) => {
      // A file that is bound already can be opened read-only.
      if (meta.find(hubName) !== hub) db.transaction(() => bindHub(db.path, meta, hub));
    },
    fault: () => db.fault,
    watchFault: (listener) => db.watchFault(listener),
    checkWritable: () => {
      for (const content of [" ".repeat(PROBE_BYTES), String(db.now())]) {
        db.transaction(() => meta.write(probeName, content));
      }
      db.noteWritten();
    },
    prune: (nowMs) => prune(db, nowMs),
    close: () => db.close(),
  };
}

function bindHub(path: string, meta: Meta, hub: StateMachine): void {
  const bound = meta.find(hubName);
  if (bound === undefined) {
    meta.write(hubName, hub);
  } else if (bound !== hub) {
    throw new LedgerFault("wrong_hub", {
      path,
      text: `it belongs to the hub ${bound}, but the configuration names ${hub}. Use one database per hub`,
    });
  }
}

/** Named texts about the file itself. Every method may throw a `LedgerFault`. */
class Meta extends Table {
  find(name: string): string | undefined {
    return this.db.find("meta", { name }, (row) => column.text.read(row, "value"));
  }

  write(name: string, value: string): void {
    this.db.put("meta", ["name"], { name, value });
  }
}

const cursorFormat = new RowFormat({
  source: column.stateMachine,
  target: column.stateMachine,
  scanned: column.height,
});

/** Scan cursors: heights up to which each leg has recorded every message (I1, I2). May throw a `LedgerFault`. */
class Cursors extends Table {
  /** Highest scanned height of `source` for the leg to `target`. */
  find(source: StateMachine, target: StateMachine): bigint | undefined {
    return this.db.find("cursor", { source, target }, cursorFormat.read)?.scanned;
  }

  /** Moves the cursor up; a lower height leaves it where it is. Call it with the rows in one transaction. */
  advance(source: StateMachine, target: StateMachine, scanned: bigint): void {
    const old = this.find(source, target);
    if (old === undefined || toHeight(scanned) > old) this.reset(source, target, scanned);
  }

  /** Sets the cursor, also downwards: only for an operator's `initial_height`. */
  reset(source: StateMachine, target: StateMachine, scanned: bigint): void {
    const row = { ...cursorFormat.write({ source, target, scanned }), updated_at_ms: this.db.now() };
    this.db.put("cursor", ["source", "target"], row);
  }

  list(): { readonly source: StateMachine; readonly target: StateMachine; readonly scanned: bigint }[] {
    return this.db.rows("SELECT * FROM cursor ORDER BY source, target").map(cursorFormat.read);
  }
}

/** Subjects that are held, as the operator names them. Every method may throw a `LedgerFault`. */
class OperatorHolds extends Table {
  list(): string[] {
    return this.db.rows("SELECT subject FROM operator_hold ORDER BY subject")
      .map((row) => column.text.read(row, "subject"));
  }

  /** @returns false when it is held already. */
  add(subject: string): boolean {
    const row = { subject, created_at_ms: this.db.now() };
    return this.db.insert("operator_hold", row, "ON CONFLICT (subject) DO NOTHING").changes > 0;
  }

  /** @returns false when it is not held. */
  remove(subject: string): boolean {
    return this.db.remove("operator_hold", { subject }) > 0;
  }
}

const suspensionFormat = new RowFormat({
  /** Chain that the messages are delivered to. */
  target: column.stateMachine,
  sender: column.bytes,
  receiver: column.bytes,
  /** Number of transactions mined without effect for messages of the pair. */
  failures: column.number,
  /** False after a successful delivery: its messages are released, its failures are remembered for a while. */
  isActive: column.flag,
  /** Time when one message of the pair may be retried, Unix milliseconds; `neverMs`: only manually. */
  nextTryAtMs: column.number,
  /** The newest of those transactions. */
  lastTransaction: column.hash,
  /** Time of the last change of the row, Unix milliseconds. */
  updatedAtMs: column.number,
});

/** Stored pair. */
export type SuspensionRow = RowOf<typeof suspensionFormat>;

/** Key of a pair. */
export type SuspensionKey = Pick<SuspensionRow, "target" | "sender" | "receiver">;

/** Suspended pairs; rules: `messaging/relay/limits/suspension.ts`. Every method may throw a `LedgerFault`. */
class Suspensions extends Table {
  find({ target, sender, receiver }: SuspensionKey): SuspensionRow | undefined {
    return this.db.find("suspension", { target, sender, receiver }, suspensionFormat.read);
  }

  /** Pairs on the chain whose messages are suspended now. */
  listActive(target: StateMachine): SuspensionRow[] {
    return this.db.rows("SELECT * FROM suspension WHERE target = :target AND is_active = 1", { target })
      .map(suspensionFormat.read);
  }

  /** Inserts the row or replaces the one of the same pair. */
  write(pair: Omit<SuspensionRow, "updatedAtMs">): void {
    const now = this.db.now();
    const row = { ...suspensionFormat.write({ ...pair, updatedAtMs: now }), created_at_ms: now };
    this.db.put("suspension", ["target", "sender", "receiver"], row);
  }

  /** Removes a pair and its failures. */
  remove({ target, sender, receiver }: SuspensionKey): void {
    this.db.remove("suspension", { target, sender, receiver });
  }
}

const decisionFormat = new RowFormat({
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
export type DecisionRow = RowOf<typeof decisionFormat>;

/** The last decision of the profit rule about each message. Every method may throw a `LedgerFault`. */
class Decisions extends Table {
  /** Records decisions about messages to one target; earlier ones are replaced. Call it in a transaction. */
  note(target: StateMachine, decisions: readonly Omit<DecisionRow, "atMs">[]): void {
    for (const decision of decisions) {
      const row = { target, ...decisionFormat.write({ ...decision, atMs: this.db.now() }) };
      this.db.put("decision", ["commitment", "target"], row);
    }
  }

  find(commitment: Hash256, target: StateMachine): DecisionRow | undefined {
    return this.db.find("decision", { commitment, target }, decisionFormat.read);
  }
}

const foreignFormat = new RowFormat({
  /** Of the message. */
  commitment: column.hash,
  /** Height of the target at which it was seen last. */
  height: column.height,
  /** True when it was there again once the height was final at which it was seen first. */
  isSeenAgain: column.flag,
});

/** Receipt that may still be removed by a reorganisation. */
export type ForeignReceipt = RowOf<typeof foreignFormat>;

/** Receipts of other relayers that ended messages of ours, until they are final. May throw a `LedgerFault`. */
class ForeignReceipts extends Table {
  find(commitment: Hash256, target: StateMachine): ForeignReceipt | undefined {
    return this.db.find("foreign_receipt", { commitment, target }, foreignFormat.read);
  }

  /** Inserts the row, or replaces the one of the same message. */
  record(target: StateMachine, receipt: ForeignReceipt): void {
    this.db.put("foreign_receipt", ["commitment", "target"], { target, ...foreignFormat.write(receipt) });
  }

  /** Lowest height first. */
  list(target: StateMachine, limit: number): readonly ForeignReceipt[] {
    return this.db.rows(
      "SELECT * FROM foreign_receipt WHERE target = :target ORDER BY height, commitment LIMIT :limit + 0",
      { target, limit },
    ).map(foreignFormat.read);
  }

  remove(commitment: Hash256, target: StateMachine): void {
    this.db.remove("foreign_receipt", { commitment, target });
  }
}
