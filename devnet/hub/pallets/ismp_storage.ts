/**
 * Storage of pallet Ismp and the rules of its bounded maps.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/{lib,host}.rs.
 */
import {
  consensusClientIdCodec,
  consensusStateIdCodec,
  type StateCommitment,
  stateCommitmentCodec,
  type StateMachineHeight,
  type StateMachineId,
  stateMachineIdCodec,
} from "../../../src/core/ismp/state_machine.ts";
import { bool, bytes, hash256, Struct, u32, u64 } from "../../../src/core/encoding/scale.ts";
import type { RuntimeMetadata } from "../runtime_metadata.ts";
import { type Overlay, PalletStorage } from "../storage.ts";
import type { Execution } from "../runtime.ts";
import { consensusClients } from "./consensus_clients.ts";
import { IsmpError } from "./ismp_error.ts";
import type { StateMachineClient, VerifierHost } from "./state_machines.ts";

/** A commitment with its height. */
export interface StateCommitmentHeight {
  readonly commitment: StateCommitment;
  readonly height: bigint;
}

/** State commitments kept per chain unless `StateMachineCommitmentCap` says otherwise. */
const defaultCommitmentCap = 10_240;

/** Most commitments evicted by one insertion. */
const maxEvictionsPerInsert = 4n;

const byState = [consensusStateIdCodec] as const;
const byId = [stateMachineIdCodec] as const;
const byHeight = [stateMachineIdCodec, u64] as const;

/** Storage items of the pallet. Times are Unix seconds. */
export class IsmpStorage extends PalletStorage {
  readonly consensusStates = this.item("ConsensusStates", byState, bytes);
  readonly consensusStateClient = this.item("ConsensusStateClient", byState, consensusClientIdCodec);
  readonly unbondingPeriodSec = this.item("UnbondingPeriod", byState, u64);
  readonly consensusClientUpdateTimeSec = this.item("ConsensusClientUpdateTime", byState, u64);
  readonly frozenConsensusClients = this.item("FrozenConsensusClients", byState, bool);
  readonly challengePeriodSec = this.item("ChallengePeriod", byId, u64);
  readonly latestHeight = this.item("LatestStateMachineHeight", byId, u64);
  readonly previousHeight = this.item("PreviousStateMachineHeight", byId, u64);
  readonly commitmentCap = this.item("StateMachineCommitmentCap", byId, u32);
  readonly stateCommitments = this.item("BoundedStateCommitments", byHeight, stateCommitmentCodec);
  readonly updateTimesSec = this.item("BoundedStateMachineUpdateTime", byHeight, u64);
  readonly nonce = this.item("Nonce", [], u64);
  readonly childTrieRoot = this.item("ChildTrieRoot", [], hash256);
  readonly #queue = this.item("StateCommitmentQueue", byHeight, u64);
  /** Ring of the heights that are stored for one chain. */
  readonly #queueStates = this.item("CommitmentQueueStates", byId, Struct({ head: u64, tail: u64 }));

  constructor(metadata: RuntimeMetadata) {
    super(metadata, "Ismp");
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

/**
 * Whether a proof at some height of some chain may be used now: the check that every handler begins with.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers.rs (validate_state_machine).
 */

/** What the checks read. */
export interface ProofHost extends VerifierHost {
  readonly storage: IsmpStorage;
}

/** Client known and not frozen, commitment stored and old enough. @throws {IsmpError} */
export function validateStateMachine(
  host: ProofHost,
  execution: Execution,
  at: StateMachineHeight,
): StateMachineClient {
  const { storage } = host;
  const { overlay } = execution;
  const clientId = storage.consensusStateClient.get(overlay, at.id.consensusStateId);
  const client = clientId === undefined ? undefined : consensusClients.get(clientId);
  if (client === undefined) {
    throw new IsmpError("consensus_state_id_not_recognized", at.id.consensusStateId);
  }
  if (storage.frozenConsensusClients.get(overlay, at.id.consensusStateId) === true) {
    throw new IsmpError("frozen_consensus_client", at.id.consensusStateId);
  }
  const updatedSec = storage.updateTimesSec.get(overlay, at.id, at.height);
  if (updatedSec === undefined) {
    throw new IsmpError("state_commitment_not_found", `${at.id.stateMachine} at ${at.height}`);
  }
  const periodSec = storage.challengePeriodSec.get(overlay, at.id);
  if (periodSec === undefined) {
    throw new IsmpError("challenge_period_not_configured", at.id.stateMachine);
  }
  const ageMs = execution.nowMs - updatedSec * 1000n;
  if (periodSec !== 0n && ageMs <= periodSec * 1000n) {
    throw new IsmpError("challenge_period_not_elapsed", `${ageMs} ms of ${periodSec} s`);
  }
  const verifier = client.stateMachine(host, at.id.stateMachine);
  if (verifier === undefined) throw new IsmpError("unsupported_state_machine", at.id.stateMachine);
  return verifier;
}

/** The stored commitment of a height. @throws {IsmpError} state_commitment_not_found. */
export function requireCommitment(
  host: ProofHost,
  execution: Execution,
  { id, height }: StateMachineHeight,
): StateCommitment {
  const state = host.storage.stateCommitments.get(execution.overlay, id, height);
  if (state === undefined) {
    throw new IsmpError("state_commitment_not_found", `${id.stateMachine} at ${height}`);
  }
  return state;
}
