/**
 * Durable state of the messaging relayer, as its workers see it: the only shared mutable state. Opened by `open.ts`;
 * larger tables have a file each beside this one. All calls are synchronous and short.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Database } from "./database.ts";
import { type Decisions, openDecisions } from "./decisions.ts";
import { type Deliveries, openDeliveries } from "./deliveries.ts";
import { LedgerFault } from "./fault.ts";
import { type Messages, openMessages } from "./messages.ts";
import { prune, type Pruned } from "./retention.ts";
import { openRewards, type Rewards } from "./rewards.ts";
import {
  openSpending,
  type Spending,
  type SpendingPurpose,
  spendingPurposes,
  type SpendingResult,
  spendingResults,
} from "./spending.ts";
import { openStatistics, type Statistics } from "./statistics.ts";
import { openSubmissions, type Submissions } from "./submissions.ts";
import { openWithdrawals, type Withdrawals } from "./withdrawals.ts";
import {
  findDecimal,
  findHash,
  findOneOf,
  findStateMachine,
  readBytes,
  readDecimal,
  readHash,
  readInteger,
  readNumber,
  readOneOf,
  readStateMachine,
  readText,
  type Row,
  toHeight,
} from "./columns.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";

export type { DecisionRow } from "./decisions.ts";
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
export type { RewardKey, RewardRow } from "./rewards.ts";
export type { Allowance, SpendingResult, SpendingRow, Spent } from "./spending.ts";
export type { OpenCount, Period } from "./statistics.ts";
export type { SubmissionItem, SubmissionItemRow } from "./submission_items.ts";
export { type SubmissionKind, type SubmissionRow, unresolvedSubmissionStates } from "./submissions.ts";
export type { WithdrawalDispatch, WithdrawalRow, WithdrawalState } from "./withdrawals.ts";

/** Database of the relayer. Every method may throw a `LedgerFault`: stop sending then. Plain errors are defects. */
export interface Ledger {
  readonly meta: Meta;
  readonly cursors: Cursors;
  readonly messages: Messages;
  readonly submissions: Submissions;
  readonly deliveries: Deliveries;
  readonly withdrawals: Withdrawals;
  readonly rewards: Rewards;
  readonly spending: Spending;
  readonly suspensions: Suspensions;
  readonly statistics: Statistics;
  readonly decisions: Decisions;
  readonly operatorHolds: OperatorHolds;
  readonly minedCosts: MinedCosts;
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
  const meta = openMeta(db);
  return {
    meta,
    cursors: openCursors(db),
    messages: openMessages(db),
    submissions: openSubmissions(db),
    deliveries: openDeliveries(db),
    withdrawals: openWithdrawals(db),
    rewards: openRewards(db),
    spending: openSpending(db),
    suspensions: openSuspensions(db),
    statistics: openStatistics(db),
    decisions: openDecisions(db),
    operatorHolds: openOperatorHolds(db),
    minedCosts: openMinedCosts(db),
    transaction: (work) => db.transaction(work),
    bindHub: (stateMachine) => {
      // A file that is bound already can be opened read-only.
      if (meta.find(hubName) !== stateMachine) db.transaction(() => bindHub(db.path, meta, stateMachine));
    },
    fault: () => db.fault,
    watchFault: (listener) => db.watchFault(listener),
    checkWritable: () => {
      for (const text of [" ".repeat(PROBE_BYTES), String(db.now())]) {
        db.transaction(() => meta.write(probeName, text));
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

/** Named texts. Every method may throw a `LedgerFault`. */
export interface Meta {
  find(name: string): string | undefined;
  write(name: string, value: string): void;
}

/** Opens the named texts in a database. */
function openMeta(db: Database): Meta {
  return {
    find: (name) => {
      const row = db.row("SELECT value FROM meta WHERE name = :name", { name });
      return row && readText(row, "value");
    },
    write: (name, value) => db.put("meta", ["name"], { name, value }),
  };
}

/** Scan cursors: heights up to which each leg has recorded every message (I1, I2). May throw a `LedgerFault`. */
interface Cursors {
  /** Highest scanned height of `source` for the leg to `target`. */
  find(source: StateMachine, target: StateMachine): bigint | undefined;
  /** Moves the cursor up; a lower height leaves it where it is. Call it with the rows in one transaction. */
  advance(source: StateMachine, target: StateMachine, height: bigint): void;
  /** Sets the cursor, also downwards: only for an operator's `initial_height`. */
  reset(source: StateMachine, target: StateMachine, height: bigint): void;
  list(): { readonly source: StateMachine; readonly target: StateMachine; readonly scanned: bigint }[];
}

/** Opens the cursors in a database. */
function openCursors(db: Database): Cursors {
  const write =
    (onConflict: string) => (source: StateMachine, target: StateMachine, height: bigint): void => {
      db.run(
        `INSERT INTO cursor (source, target, scanned, updated_at_ms) VALUES (:source, :target, :height, :now)
       ON CONFLICT (source, target) DO UPDATE SET scanned = excluded.scanned, updated_at_ms = :now ${onConflict}`,
        { source, target, height: toHeight(height), now: db.now() },
      );
    };
  return {
    find: (source, target) => {
      const row = db.row("SELECT scanned FROM cursor WHERE source = :source AND target = :target", {
        source,
        target,
      });
      return row && readInteger(row, "scanned");
    },
    advance: write("WHERE excluded.scanned > cursor.scanned"),
    reset: write(""),
    list: () =>
      db.rows("SELECT source, target, scanned FROM cursor ORDER BY source, target").map((row) => ({
        source: readStateMachine(row, "source"),
        target: readStateMachine(row, "target"),
        scanned: readInteger(row, "scanned"),
      })),
  };
}

/** Subjects that are held, as the operator names them. Every method may throw a `LedgerFault`. */
interface OperatorHolds {
  list(): string[];
  /** @returns false when it is held already. */
  add(subject: string): boolean;
  /** @returns false when it is not held. */
  remove(subject: string): boolean;
}

/** Opens the held subjects in a database. */
function openOperatorHolds(db: Database): OperatorHolds {
  return {
    list: () =>
      db.rows("SELECT subject FROM operator_hold ORDER BY subject").map((row) => readText(row, "subject")),
    add: (subject) =>
      db.insert("operator_hold", { subject, created_at_ms: db.now() }, "ON CONFLICT (subject) DO NOTHING")
        .changes > 0,
    remove: (subject) =>
      db.run("DELETE FROM operator_hold WHERE subject = :subject", { subject }).changes > 0,
  };
}

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
interface MinedCosts {
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
function openMinedCosts(db: Database): MinedCosts {
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

/** Key of a pair: sender, receiver and target. */
export interface SuspensionKey {
  /** Chain that the messages are delivered to. */
  readonly target: StateMachine;
  readonly from: Uint8Array;
  readonly to: Uint8Array;
}

/** Stored pair. */
export interface SuspensionRow extends SuspensionKey {
  /** Number of transactions mined without effect for messages of the pair. */
  readonly failures: number;
  /** False after a successful delivery: its messages are released, its failures are remembered for a while. */
  readonly isActive: boolean;
  /** Time when one message of the pair may be retried, Unix milliseconds; `neverMs`: only manually. */
  readonly nextTryAtMs: number;
  /** Message of the next or latest retry. */
  readonly trial: Hash256 | undefined;
  /** The newest of those transactions. */
  readonly lastTransaction: Hash256;
  /** Time of the last change of the row, Unix milliseconds. */
  readonly updatedAtMs: number;
}

/** Suspended pairs; rules: `messaging/relay/limits/suspension.ts`. Every method may throw a `LedgerFault`. */
interface Suspensions {
  find(key: SuspensionKey): SuspensionRow | undefined;
  /** Pairs on the chain whose messages are suspended now. */
  listActive(target: StateMachine): SuspensionRow[];
  /** Inserts the row or replaces the one of the same pair. */
  write(row: Omit<SuspensionRow, "updatedAtMs">): void;
  /** Removes a pair and its failures. */
  remove(key: SuspensionKey): void;
}

const byKey = "target = :target AND module_from = :from AND module_to = :to";

/** Opens the suspended pairs in a database. */
function openSuspensions(db: Database): Suspensions {
  const keyOf = ({ target, from, to }: SuspensionKey) => ({ target, from, to });
  return {
    find: (key) => {
      const row = db.row(`SELECT * FROM suspension WHERE ${byKey}`, keyOf(key));
      return row && toSuspension(row);
    },
    listActive: (target) =>
      db.rows("SELECT * FROM suspension WHERE target = :target AND is_active = 1", { target }).map(
        toSuspension,
      ),
    write: (row) =>
      db.put("suspension", ["target", "module_from", "module_to"], {
        target: row.target,
        module_from: row.from,
        module_to: row.to,
        failures: row.failures,
        is_active: row.isActive ? 1 : 0,
        next_try_at_ms: row.nextTryAtMs,
        trial: row.trial,
        last_transaction: row.lastTransaction,
        created_at_ms: db.now(),
        updated_at_ms: db.now(),
      }),
    remove: (key) => void db.run(`DELETE FROM suspension WHERE ${byKey}`, keyOf(key)),
  };
}

function toSuspension(row: Row): SuspensionRow {
  return {
    target: readStateMachine(row, "target"),
    from: readBytes(row, "module_from"),
    to: readBytes(row, "module_to"),
    failures: readNumber(row, "failures"),
    isActive: readNumber(row, "is_active") === 1,
    nextTryAtMs: readNumber(row, "next_try_at_ms"),
    trial: findHash(row, "trial"),
    lastTransaction: readHash(row, "last_transaction"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
