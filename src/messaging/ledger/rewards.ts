/**
 * Table `reward`: claims for authority set rotations and listed hub requests (docs/protocol/messaging.md section 17).
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** `rotation`: `reference` is the set id in decimal. `request`: `reference` is the commitment. */
export type RewardKind = "rotation" | "request";

/** `refused`: the hub will never pay it. */
export type RewardState = "pending" | "claiming" | "claimed" | "refused";

/** Key of a reward. */
export interface RewardKey {
  readonly kind: RewardKind;
  /** Chain on which the work was done. */
  readonly chain: StateMachine;
  readonly reference: string;
}

/** Reward that we earned. */
export interface NewReward extends RewardKey {
  /** Block of `chain` that proves it. */
  readonly height: bigint;
  /** The request, for kind `request`; empty for rotations. */
  readonly payload: Uint8Array;
}

/** Stored reward. */
export interface RewardRow extends NewReward {
  readonly state: RewardState;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
  readonly detail: string | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Changes of a reward; absent members are kept, `detail` is replaced. */
export interface RewardChange {
  readonly state: RewardState;
  readonly attempts?: number | undefined;
  readonly nextAttemptAtMs?: number | undefined;
  readonly detail?: string | undefined;
}

/** The rewards. Every method may throw a `LedgerFault`. */
export interface Rewards {
  /** Inserts the row; `known` rows are left unchanged. */
  record(reward: NewReward): "new" | "known";
  find(key: RewardKey): RewardRow | undefined;
  /** Rows neither claimed nor refused, lowest height first (oldest first, so that none starves). */
  listOpen(chain?: StateMachine): RewardRow[];
  /** @throws {Error} a defect: no such row, or a claimed or refused one is changed. */
  update(key: RewardKey, change: RewardChange): RewardRow;
}
