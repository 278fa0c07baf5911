/**
 * Table `withdrawal`: one row per withdrawal, written before the request is sent (docs/protocol/messaging.md section
 * 16.4; docs/architecture/messaging.md, I8).
 */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** States that still need work. */
export const openWithdrawalStates = ["requested", "dispatched", "delivering"] as const;

/** `void`: the hub never accepted it, nothing was withdrawn. */
export type WithdrawalState = typeof openWithdrawalStates[number] | "done" | "void";

/** Withdrawal as recorded before the extrinsic is submitted (or when one of an earlier run is found on the hub). */
export interface NewWithdrawal {
  readonly chain: StateMachine;
  /** Address whose balance is withdrawn. */
  readonly address: Uint8Array;
  /** `Relayer.Nonce` at submission; `undefined` for withdrawals found on the hub. u64. */
  readonly nonce: bigint | undefined;
  readonly beneficiary: Uint8Array | undefined;
  /** Balance expected to be paid out, in units of the chain's fee token. */
  readonly amount: bigint;
  /** Best block of the hub at submission: the dispatch is searched from here on. */
  readonly hubBlock: bigint;
  readonly state: "requested" | "dispatched";
  readonly dispatch?: WithdrawalDispatch | undefined;
}

/** The hub's POST that carries the payment. */
export interface WithdrawalDispatch {
  readonly commitment: Hash256;
  /** The POST request in the pipeline's own encoding. */
  readonly encoded: Uint8Array;
  /** Block of the hub that dispatched it. */
  readonly hubBlock: bigint;
}

/** Stored withdrawal. */
export interface WithdrawalRow extends Omit<NewWithdrawal, "state"> {
  readonly id: number;
  readonly state: WithdrawalState;
  readonly dispatch: WithdrawalDispatch | undefined;
  readonly submissionId: number | undefined;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly detail: string | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Changes of a withdrawal; absent members are kept, `detail` is replaced. */
export interface WithdrawalChange {
  readonly state: WithdrawalState;
  readonly dispatch?: WithdrawalDispatch | undefined;
  /** Amount that the hub paid out, which may exceed the balance at the time of the request. */
  readonly amount?: bigint | undefined;
  /** Journal entry of the extrinsic or of the pending delivery. */
  readonly submissionId?: number | undefined;
  readonly attempts?: number | undefined;
  readonly nextAttemptAtMs?: number | undefined;
  readonly detail?: string | undefined;
}

/** Withdrawal rows. Every method may throw a `LedgerFault`. */
export interface Withdrawals {
  /** Inserts the row, returns its id. A dispatch with a known commitment returns that row's id instead. */
  record(withdrawal: NewWithdrawal): number;
  find(id: number): WithdrawalRow | undefined;
  findByCommitment(commitment: Hash256): WithdrawalRow | undefined;
  /** Rows that need work, oldest first; of all chains unless one is named. */
  listOpen(chain?: StateMachine): WithdrawalRow[];
  /** Newest rows first, in any state. */
  listRecent(limit: number): WithdrawalRow[];
  /** @throws {Error} a defect: unknown id, an illegal change of state, or `dispatched` without its dispatch. */
  update(id: number, change: WithdrawalChange): WithdrawalRow;
}
