/**
 * Durable state of the messaging relayer, as its workers see it: the only shared mutable state. Opened by `open.ts`;
 * one file per table beside this one. All calls are synchronous and short.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Cursors } from "./cursors.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Messages } from "./messages.ts";
import type { Meta } from "./meta.ts";
import type { Rewards } from "./rewards.ts";
import type { Spending } from "./spending.ts";
import type { Submissions } from "./submissions.ts";
import type { Suspensions } from "./suspensions.ts";
import type { Withdrawals } from "./withdrawals.ts";

export type { Cursors } from "./cursors.ts";
export type {
  ClaimPair,
  ClaimState,
  Deliveries,
  DeliveryBlock,
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
export {
  type DueQuery,
  type EndedQuery,
  type MessageChange,
  type MessageKey,
  type MessageRow,
  type Messages,
  neverMs,
  type NewMessage,
  type StateCount,
} from "./messages.ts";
export type { Meta } from "./meta.ts";
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
export {
  type InFlight,
  type ItemOutcome,
  type NewSubmission,
  type SubmissionChange,
  type SubmissionItem,
  type SubmissionItemRow,
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

/** Number of rows that {@link Ledger.prune} removed. */
export interface Pruned {
  readonly messages: number;
  readonly submissions: number;
  readonly deliveries: number;
  readonly spending: number;
}

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
