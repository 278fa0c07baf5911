/** Tables `submission` and `submission_item`: the journal of what was signed, written before it is sent (I3). */
import type { BlockRef, SignedSubmission } from "../../core/chains/port.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Allowance } from "./spending.ts";

/** Every {@link SubmissionKind}. */
export const submissionKinds = ["delivery", "cancel", "accumulate", "withdraw", "claim"] as const;

/** Purpose of a transaction or extrinsic. */
export type SubmissionKind = typeof submissionKinds[number];

/** States whose outcome is still open; recovery checks these. */
export const unresolvedSubmissionStates = ["signed", "broadcast", "included"] as const;

/** States in which the outcome is known. */
export const resolvedSubmissionStates = ["final", "failed", "replaced", "dropped"] as const;

/**
 * `signed`: journalled, perhaps not sent. `broadcast`: sent to a node. `included`: in a block that may be reorganised.
 * `final`: in a final block, succeeded. `failed`: in a final block, reverted; or refused for good. `replaced`: its
 * nonce was used by another transaction. `dropped`: abandoned, no node knows it.
 */
export type SubmissionState =
  | typeof unresolvedSubmissionStates[number]
  | typeof resolvedSubmissionStates[number];

/** Message (or claimed delivery) that a submission carries. */
export interface SubmissionItem {
  readonly commitment: Hash256;
  readonly requestCommitment: Hash256;
  readonly target: StateMachine;
}

/** Every {@link ItemOutcome}. */
export const itemOutcomes = ["handled", "not_handled", "by_other", "unknown"] as const;

/** Outcome of one item: handled for us, not handled, handled for another relayer, or to be read from receipts. */
export type ItemOutcome = typeof itemOutcomes[number];

/** An item with its outcome; `undefined` while nothing is known. */
export interface SubmissionItemRow extends SubmissionItem {
  readonly outcome: ItemOutcome | undefined;
}

/** Submission as journalled before anything is sent. */
export interface NewSubmission {
  readonly submission: SignedSubmission;
  readonly kind: SubmissionKind;
  readonly items: readonly SubmissionItem[];
  /** Id of the submission whose nonce this one reuses; it stays unresolved until one of them is mined. */
  readonly replaces?: number | undefined;
  /** Source of the leg, for deliveries. */
  readonly legSource?: StateMachine | undefined;
  /** The rule by which it may be sent; of its kind, or of what it replaces, when absent. */
  readonly allowance?: Allowance | undefined;
}

/** Stored submission. */
export interface SubmissionRow {
  readonly id: number;
  readonly submission: SignedSubmission;
  readonly kind: SubmissionKind;
  readonly legSource: StateMachine | undefined;
  readonly state: SubmissionState;
  /** Block of inclusion; `undefined` unless `included`, `final` or `failed`. */
  readonly block: BlockRef | undefined;
  readonly replaces: number | undefined;
  readonly replacedBy: number | undefined;
  /** Reason why it failed or was dropped, without secrets. */
  readonly detail: string | undefined;
  /** Number of times the bytes were sent to a node. */
  readonly broadcasts: number;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Submission that may still wait for its inclusion. */
export interface InFlight extends Pick<SubmissionRow, "id" | "kind"> {
  readonly state: "signed" | "broadcast";
  readonly nonce: bigint | undefined;
}

/** Change of a submission. `block` and `detail` are kept when absent; back to `broadcast` clears the block. */
export interface SubmissionChange {
  readonly state: SubmissionState;
  readonly block?: BlockRef | undefined;
  readonly detail?: string | undefined;
}

/** Journal of submissions. Every method may throw a `LedgerFault`. */
export interface Submissions {
  /**
   * Journals a signed submission with its items and returns its id. The caller changes the messages to `submitted` in
   * the same ledger transaction.
   * @throws {Error} a defect: an item of a delivery is unsettled in another unresolved delivery without the same
   * account and nonce (I5), or `replaces` names no submission.
   */
  record(entry: NewSubmission): number;
  find(id: number): SubmissionRow | undefined;
  findByHash(chain: StateMachine, hash: Hash256): SubmissionRow | undefined;
  /** Submissions of the chain whose outcome is open, oldest first. */
  listUnresolved(chain: StateMachine): SubmissionRow[];
  /** As {@link listUnresolved} without mined ones and without their bytes: cheap enough for frequent calls. */
  listInFlight(chain: StateMachine): InFlight[];
  /** All submissions of an account with that nonce, oldest first: a transaction and its replacements. */
  listByNonce(chain: StateMachine, account: string, nonce: bigint): SubmissionRow[];
  /** Highest nonce of the account that our submissions hold or have used; `undefined` when there is none. */
  findHighestNonce(chain: StateMachine, account: string): bigint | undefined;
  /** In the order in which they were recorded. */
  itemsOf(id: number): SubmissionItemRow[];
  /** Submissions that ever carried the commitment to `target`, oldest first. */
  listByItem(commitment: Hash256, target: StateMachine): SubmissionRow[];
  /**
   * @throws {Error} a defect: unknown id or illegal change (`final` and `failed` are permanent, other results may
   * change).
   */
  update(id: number, change: SubmissionChange): SubmissionRow;
  settleItem(id: number, commitment: Hash256, outcome: ItemOutcome): void;
  /** As {@link settleItem} for several items of one submission. */
  settleItems(id: number, commitments: readonly Hash256[], outcome: ItemOutcome): void;
  /**
   * Clears the outcomes of all items: the submission's block was reorganised. Messages that another submission carries
   * by now stay with that one (I5).
   */
  reopenItems(id: number): void;
}
