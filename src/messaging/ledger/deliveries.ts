/** Table `delivery`: receipts of our own deliveries, from inclusion until the fee is claimed (I4, I7). */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

/** Every {@link ClaimState}. */
export const claimStates = ["unclaimed", "claiming", "claimed", "no_fee", "lost", "unclaimable"] as const;

/**
 * `no_fee`: the request pays nothing. `lost`: the destination has no receipt of ours, or no longer. `unclaimable`: the
 * hub does not know the request.
 */
export type ClaimState = typeof claimStates[number];

/** Block of the destination; the hash is unknown for receipts found after the fact. */
export interface DeliveryBlock {
  readonly height: bigint;
  readonly hash: Hash256 | undefined;
}

/** Receipt of ours. */
export interface NewDelivery {
  /** Commitment of the request. Key together with `dest`. */
  readonly commitment: Hash256;
  readonly dest: StateMachine;
  /** Chain where the fee was paid. */
  readonly source: StateMachine;
  /** Relayer id in the receipt. */
  readonly relayer: Uint8Array;
  readonly txHash: Hash256 | undefined;
  readonly block: DeliveryBlock;
  readonly isFinal: boolean;
  /** Fee in units of the source's fee token, if known. */
  readonly fee?: bigint | undefined;
  /** False when there is nothing to claim: the record is `no_fee` from the start. True when absent. */
  readonly isPaid?: boolean | undefined;
}

/** A delivery as stored. */
export interface DeliveryRow extends Omit<NewDelivery, "isPaid"> {
  readonly fee: bigint | undefined;
  readonly claimState: ClaimState;
  /** Block of the hub that recorded the claim. */
  readonly claimHubBlock: bigint | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Unclaimed final deliveries that can share a claim. */
export interface ClaimPair {
  readonly source: StateMachine;
  readonly dest: StateMachine;
  readonly relayer: Uint8Array;
  readonly count: number;
  readonly oldestBlock: bigint;
  readonly newestBlock: bigint;
}

/** The delivery records. Every method may throw a `LedgerFault`. */
export interface Deliveries {
  /**
   * Inserts or refreshes the record (transaction, block, finality, relayer, fee if given). The claim state is kept,
   * except that `lost` starts over, and that unpaid records are no longer `unclaimed`. A final record never becomes
   * non-final.
   */
  record(delivery: NewDelivery): void;
  find(commitment: Hash256, dest: StateMachine): DeliveryRow | undefined;
  /** Oldest block first. */
  listNotFinal(dest: StateMachine, limit?: number): DeliveryRow[];
  /** @returns false when there is no such record. */
  markFinal(commitment: Hash256, dest: StateMachine): boolean;
  /** As {@link markFinal} for several records; those that do not exist are left out. */
  markAllFinal(commitments: readonly Hash256[], dest: StateMachine): void;
  /** Removes a record whose block was reorganised; false when there is none or it is claimed. */
  remove(commitment: Hash256, dest: StateMachine): boolean;
  setFee(commitment: Hash256, dest: StateMachine, fee: bigint): void;
  /** Addresses that delivered for us and may have been credited with fees of `source`. */
  listRelayers(source: StateMachine): Uint8Array[];
  /** Counts records whose chains are unknown to the protocol; the lists below omit them. */
  countUnreadable(): number;
  countByClaimState(): { readonly claimState: ClaimState; readonly count: number }[];
  /** Pairs that have final unclaimed rows, oldest block first. */
  listClaimPairs(): ClaimPair[];
  /** Final unclaimed rows at or below `maxBlock`, oldest block first. */
  listUnclaimed(query: {
    readonly source: StateMachine;
    readonly dest: StateMachine;
    readonly relayer: Uint8Array;
    readonly maxBlock: bigint;
    readonly limit: number;
  }): DeliveryRow[];
  /** Rows in a claim state, by time of their last change; paginated by `offset`. */
  listByClaimState(
    claimState: ClaimState,
    page: { readonly limit: number; readonly offset?: number },
  ): DeliveryRow[];
  /** @throws {Error} a defect: no such record, or a claimed one is set to anything else. */
  setClaimState(commitment: Hash256, dest: StateMachine, to: ClaimState, hubBlock?: bigint): void;
}
