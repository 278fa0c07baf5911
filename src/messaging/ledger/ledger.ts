/**
 * Durable state of the messaging relayer, as its workers see it: the only shared mutable state. Opened by `open.ts`;
 * one file per table beside this one. All calls are synchronous and short.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { type Cursors, openCursors } from "./cursors.ts";
import type { Database } from "./database.ts";
import { type Decisions, openDecisions } from "./decisions.ts";
import { type Deliveries, openDeliveries } from "./deliveries.ts";
import { LedgerFault } from "./fault.ts";
import { type Messages, openMessages } from "./messages.ts";
import { type Meta, openMeta } from "./meta.ts";
import { prune, type Pruned } from "./retention.ts";
import { type MinedCosts, openMinedCosts } from "./mined_costs.ts";
import { openOperatorHolds, type OperatorHolds } from "./operator_holds.ts";
import { openRewards, type Rewards } from "./rewards.ts";
import { openSpending, type Spending } from "./spending.ts";
import { openStatistics, type Statistics } from "./statistics.ts";
import { openSubmissions, type Submissions } from "./submissions.ts";
import { openSuspensions, type Suspensions } from "./suspensions.ts";
import { openWithdrawals, type Withdrawals } from "./withdrawals.ts";

export type { Cursors } from "./cursors.ts";
export type { DecisionRow, Decisions, DecisionVerdict } from "./decisions.ts";
export type {
  ClaimPair,
  ClaimState,
  DeliveredMessage,
  Deliveries,
  DeliveryBlock,
  DeliveryReceipt,
  DeliveryRow,
  NewDelivery,
} from "./deliveries.ts";
export { LedgerFault, type LedgerFaultCode } from "./fault.ts";
export {
  type HoldReason,
  holdReasons,
  isTerminal,
  mayFollow,
  type MessageReason,
  messageReasons,
  type MessageState,
  messageStates,
  nextMessageState,
  type OpenMessageState,
  openMessageStates,
  type TerminalMessageState,
  terminalMessageStates,
  type TerminalReason,
  terminalReasons,
} from "./message_state.ts";
export type { DueQuery, EndedQuery, HeldQuery, MessageKey, StateCount } from "./message_queries.ts";
export { type MessageRow, neverMs, type NewMessage } from "./message_rows.ts";
export type { MessageChangeRow, MessageFilter, MessageSearch } from "./message_search.ts";
export type { MessageChange, Messages } from "./messages.ts";
export type { Meta } from "./meta.ts";
export type { CarriedMessage, MinedCost, MinedCosts } from "./mined_costs.ts";
export type { OperatorHolds } from "./operator_holds.ts";
export type { Pruned } from "./retention.ts";
export type {
  NewReward,
  RewardChange,
  RewardKey,
  RewardKind,
  RewardRow,
  Rewards,
  RewardState,
} from "./rewards.ts";
export type {
  Allowance,
  LossSum,
  Spending,
  SpendingPurpose,
  SpendingResult,
  SpendingRow,
  SpendingRule,
  Spent,
} from "./spending.ts";
export type { InFlightSum, MinedSum, OpenCount, Period, SpentSum, Statistics } from "./statistics.ts";
export type { ItemOutcome, SubmissionItem, SubmissionItemRow } from "./submission_items.ts";
export {
  type InFlight,
  type NewSubmission,
  type SubmissionChange,
  type SubmissionKind,
  type SubmissionRow,
  type Submissions,
  type SubmissionState,
  unresolvedSubmissionStates,
} from "./submissions.ts";
export type { SuspensionKey, SuspensionRow, Suspensions } from "./suspensions.ts";
export {
  type NewWithdrawal,
  openWithdrawalStates,
  type WithdrawalChange,
  type WithdrawalDispatch,
  type WithdrawalRow,
  type Withdrawals,
  type WithdrawalState,
} from "./withdrawals.ts";

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
  /** Writes one row: throws while the file cannot be written. For retries after a fault. */
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
    checkWritable: () => db.transaction(() => meta.write(probeName, String(db.now()))),
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
