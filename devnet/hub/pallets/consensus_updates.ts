/**
 * Updates of light clients: what `Message::Consensus` does.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers/consensus.rs (update_client), host.rs (is_expired).
 */
import type { consensusMessageCodec } from "../../../src/core/ismp/ismp_message.ts";
import {
  type ConsensusStateId,
  type IntermediateState,
  type StateMachine,
  type StateMachineId,
  stateMachineIdKey,
} from "../../../src/core/ismp/state_machine.ts";
import type { Execution } from "../runtime.ts";
import { consensusClients } from "./consensus_clients.ts";
import type { ConsensusNetworks, ConsensusVerifier, VerifiedUpdates } from "./consensus_verifiers.ts";
import { IsmpError } from "./ismp_error.ts";
import type { IsmpStorage, StateCommitmentHeight } from "./ismp_storage.ts";
import type { IsmpPalletEvent } from "./ismp_events.ts";
import type { CodecType } from "scale-ts";

/** What updates change. */
export interface UpdateHost {
  readonly storage: IsmpStorage;
  /** Undefined on chains that are built without clients of EVM chains. */
  readonly networks: ConsensusNetworks | undefined;
  readonly verified: VerifiedUpdates;
  /** The chain itself. */
  readonly stateMachine: StateMachine;
  /** The hub that it trusts. */
  readonly coprocessor: StateMachine;
}

/** Verifies an update and stores what it brings. @returns events, one per chain that advanced. @throws {IsmpError} */
export function updateClient(
  { storage, ...chain }: UpdateHost,
  execution: Execution,
  { consensusStateId: stateId, consensusProof: proof }: CodecType<typeof consensusMessageCodec>,
): IsmpPalletEvent[] {
  const { overlay, nowSec } = execution;
  const verify = verifierOf(storage, execution, stateId);
  const trusted = storage.consensusStates.get(overlay, stateId);
  if (trusted === undefined) throw new IsmpError("consensus_state_not_found", stateId);
  requireAlive(storage, execution, stateId);
  const host = {
    ...chain,
    nowSec,
    storage: overlay,
    stateRoot: ({ id, height }: Parameters<Parameters<ConsensusVerifier>[0]["stateRoot"]>[0]) =>
      storage.stateCommitments.get(overlay, id, height)?.stateRoot,
  };
  const { state, commitments } = verify(host, { stateId, trusted, proof });
  storage.consensusStates.put(overlay, state, stateId);
  storage.consensusClientUpdateTimeSec.put(overlay, nowSec, stateId);
  return byChain(commitments).flatMap(([id, heights]): IsmpPalletEvent[] => {
    const latestHeight = storage.advance(overlay, id, heights, nowSec);
    if (latestHeight === undefined) return [];
    return [{ tag: "StateMachineUpdated", value: { stateMachineId: id, latestHeight } }];
  });
}

function verifierOf(
  storage: IsmpStorage,
  { overlay }: Execution,
  stateId: ConsensusStateId,
): ConsensusVerifier {
  const clientId = storage.consensusStateClient.get(overlay, stateId);
  if (clientId === undefined) throw new IsmpError("consensus_state_id_not_recognized", stateId);
  const client = consensusClients.get(clientId);
  if (client === undefined) throw new IsmpError("consensus_client_id_not_recognized", clientId);
  if (client.verifyConsensus !== undefined) return client.verifyConsensus;
  throw new IsmpError("cannot_handle_message", `${clientId} has no verifier of updates`);
}

/** Neither frozen nor without an update for the whole unbonding period. @throws {IsmpError} */
function requireAlive(storage: IsmpStorage, { overlay, nowMs }: Execution, stateId: ConsensusStateId): void {
  if (storage.frozenConsensusClients.get(overlay, stateId) === true) {
    throw new IsmpError("frozen_consensus_client", stateId);
  }
  const periodSec = storage.unbondingPeriodSec.get(overlay, stateId);
  if (periodSec === undefined) throw new IsmpError("unbonding_period_not_configured", stateId);
  const updatedSec = storage.consensusClientUpdateTimeSec.get(overlay, stateId);
  if (updatedSec === undefined) throw new IsmpError("consensus_update_time_not_found", stateId);
  const ageMs = nowMs - updatedSec * 1000n;
  if (ageMs >= periodSec * 1000n) {
    throw new IsmpError("unbonding_period_elapsed", `${stateId}: ${ageMs} ms of ${periodSec} s`);
  }
}

function byChain(
  states: readonly IntermediateState[],
): readonly (readonly [StateMachineId, readonly StateCommitmentHeight[]])[] {
  const groups = Map.groupBy(states, ({ height }) => stateMachineIdKey(height.id));
  return [...groups.values()].flatMap((group) => {
    const id = group[0]?.height.id;
    if (id === undefined) return [];
    return [[id, group.map(({ height, commitment }) => ({ height: height.height, commitment }))] as const];
  });
}
