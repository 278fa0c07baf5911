/**
 * Storage of pallet Ismp and the rules of its bounded maps.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/{lib,host}.rs.
 */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import {
  type ConsensusClientId,
  consensusClientIdCodec,
  type ConsensusStateId,
  consensusStateIdCodec,
  type StateCommitment,
  stateCommitmentCodec,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdCodec,
} from "../../../src/core/ismp/state_machine.ts";
import { bool, bytes, hash256, Struct, u32, u64 } from "../../../src/core/encoding/scale.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { type Overlay, StorageItem } from "../storage.ts";

/** A commitment with its height. */
export interface StateCommitmentHeight {
  readonly commitment: StateCommitment;
  readonly height: bigint;
}

/** State commitments kept per chain unless `StateMachineCommitmentCap` says otherwise. */
export const defaultCommitmentCap = 10_240;

/** Most commitments evicted by one insertion. */
const maxEvictionsPerInsert = 4n;

/** Ring of the heights that are stored for one chain. */
interface QueueState {
  readonly head: bigint;
  readonly tail: bigint;
}

type ByState<Value> = StorageItem<[ConsensusStateId], Value>;
type ById<Value> = StorageItem<[StateMachineId], Value>;
type ByIdAndHeight<Value> = StorageItem<[StateMachineId, bigint], Value>;

/** Storage items of the pallet. Times are Unix seconds. */
export class IsmpStorage {
  readonly consensusStates: ByState<Uint8Array>;
  readonly consensusStateClient: ByState<ConsensusClientId>;
  readonly unbondingPeriodSec: ByState<bigint>;
  readonly consensusClientUpdateTimeSec: ByState<bigint>;
  readonly frozenConsensusClients: ByState<boolean>;
  readonly challengePeriodSec: ById<bigint>;
  readonly latestHeight: ById<bigint>;
  readonly previousHeight: ById<bigint>;
  readonly commitmentCap: ById<number>;
  readonly stateCommitments: ByIdAndHeight<StateCommitment>;
  readonly updateTimesSec: ByIdAndHeight<bigint>;
  readonly nonce: StorageItem<[], bigint>;
  readonly childTrieRoot: StorageItem<[], Hash256>;
  readonly #queue: ByIdAndHeight<bigint>;
  readonly #queueStates: ById<QueueState>;

  constructor(metadata: RuntimeMetadata) {
    const byState = [consensusStateIdCodec] as const;
    const byId = [stateMachineIdCodec] as const;
    const byHeight = [stateMachineIdCodec, u64] as const;
    this.consensusStates = new StorageItem(metadata, ["Ismp", "ConsensusStates"], byState, bytes);
    this.consensusStateClient = new StorageItem(
      metadata,
      ["Ismp", "ConsensusStateClient"],
      byState,
      consensusClientIdCodec,
    );
    this.unbondingPeriodSec = new StorageItem(metadata, ["Ismp", "UnbondingPeriod"], byState, u64);
    this.consensusClientUpdateTimeSec = new StorageItem(
      metadata,
      ["Ismp", "ConsensusClientUpdateTime"],
      byState,
      u64,
    );
    this.frozenConsensusClients = new StorageItem(
      metadata,
      ["Ismp", "FrozenConsensusClients"],
      byState,
      bool,
    );
    this.challengePeriodSec = new StorageItem(metadata, ["Ismp", "ChallengePeriod"], byId, u64);
    this.latestHeight = new StorageItem(metadata, ["Ismp", "LatestStateMachineHeight"], byId, u64);
    this.previousHeight = new StorageItem(metadata, ["Ismp", "PreviousStateMachineHeight"], byId, u64);
    this.commitmentCap = new StorageItem(metadata, ["Ismp", "StateMachineCommitmentCap"], byId, u32);
    this.stateCommitments = new StorageItem(
      metadata,
      ["Ismp", "BoundedStateCommitments"],
      byHeight,
      stateCommitmentCodec,
    );
    this.updateTimesSec = new StorageItem(metadata, ["Ismp", "BoundedStateMachineUpdateTime"], byHeight, u64);
    this.nonce = new StorageItem(metadata, ["Ismp", "Nonce"], [], u64);
    this.childTrieRoot = new StorageItem(metadata, ["Ismp", "ChildTrieRoot"], [], hash256);
    this.#queue = new StorageItem(metadata, ["Ismp", "StateCommitmentQueue"], byHeight, u64);
    this.#queueStates = new StorageItem(
      metadata,
      ["Ismp", "CommitmentQueueStates"],
      byId,
      Struct({ head: u64, tail: u64 }),
    );
  }

  /** Stores a commitment with its update time and evicts the oldest above the cap, at most four. */
  insertCommitment(
    overlay: Overlay,
    at: StateMachineHeight,
    commitment: StateCommitment,
    nowSec: bigint,
  ): void {
    const cap = BigInt(Math.max(this.commitmentCap.get(overlay, at.id) ?? defaultCommitmentCap, 1));
    let { head, tail } = this.#queueStates.get(overlay, at.id) ?? { head: 0n, tail: 0n };
    this.#queue.put(overlay, at.height, at.id, tail++);
    for (let evicted = 0n; tail - head > cap && evicted < maxEvictionsPerInsert; evicted++) {
      const oldest = this.#queue.get(overlay, at.id, head);
      if (oldest !== undefined) {
        this.#queue.remove(overlay, at.id, head);
        this.removeCommitment(overlay, { id: at.id, height: oldest });
      }
      head++;
    }
    this.#queueStates.put(overlay, { head, tail }, at.id);
    this.stateCommitments.put(overlay, commitment, at.id, at.height);
    this.updateTimesSec.put(overlay, nowSec, at.id, at.height);
  }

  /**
   * Stores commitments of one chain as an accepted update does: heights below the latest and heights already known
   * are skipped.
   * @returns the new latest height; undefined when nothing was stored.
   */
  advance(
    overlay: Overlay,
    id: StateMachineId,
    commitments: readonly StateCommitmentHeight[],
    nowSec: bigint,
  ): bigint | undefined {
    const latest = this.latestHeight.get(overlay, id) ?? 0n;
    let highest: bigint | undefined;
    const ascending = [...commitments].sort((a, b) => (a.height < b.height ? -1 : 1));
    for (const { height, commitment } of ascending) {
      if (height < latest || this.stateCommitments.get(overlay, id, height) !== undefined) continue;
      this.insertCommitment(overlay, { id, height }, commitment, nowSec);
      highest = height;
    }
    if (highest !== undefined) this.storeLatestHeight(overlay, { id, height: highest });
    return highest;
  }

  /** Takes a commitment and its update time away; its place in the queue stays, as upstream leaves it. */
  removeCommitment(overlay: Overlay, at: StateMachineHeight): void {
    this.stateCommitments.remove(overlay, at.id, at.height);
    this.updateTimesSec.remove(overlay, at.id, at.height);
  }

  /** Records a new latest height; the one before is where a veto goes back to. */
  storeLatestHeight(overlay: Overlay, at: StateMachineHeight): void {
    this.previousHeight.put(overlay, this.latestHeight.get(overlay, at.id) ?? 0n, at.id);
    this.latestHeight.put(overlay, at.height, at.id);
  }
}
