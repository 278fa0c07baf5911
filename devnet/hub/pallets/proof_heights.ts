/**
 * Whether a proof at some height of some chain may be used now: the check that every handler begins with.
 * Source: polytope-labs/hyperbridge: modules/ismp/core/src/handlers.rs (validate_state_machine).
 */
import type { StateCommitment, StateMachineHeight } from "../../../src/core/ismp/state_machine.ts";
import type { Execution } from "../runtime.ts";
import { consensusClients } from "./consensus_clients.ts";
import { IsmpError } from "./ismp_error.ts";
import type { IsmpStorage } from "./ismp_storage.ts";
import type { StateMachineClient, VerifierHost } from "./state_machines.ts";

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
