/**
 * Reads the parameters of `ismp_*` and `mmr_*` methods; everything wrong is -32602.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs, modules/ismp/core/src/host.rs (serde).
 */
import type { Hash256 } from "../../../src/core/encoding/bytes.ts";
import type { ProofKeys } from "../../../src/core/ismp/proof.ts";
import {
  type ConsensusStateId,
  IdentifierError,
  parseStateMachine,
  type StateMachine,
  type StateMachineHeight,
  type StateMachineId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import { invalidParams } from "./json_rpc.ts";
import { hashParam, listParam, objectParam, u64Param } from "./params.ts";

/** Commitments of `ismp_queryRequests` and `ismp_queryResponses`: one array of objects. */
export function commitmentsParam(value: unknown): readonly Hash256[] {
  return listParam(
    value,
    "query",
    (item) => hashParam(objectParam(item, ["commitment"]).commitment, "commitment"),
  );
}

/** Second parameter of `mmr_queryProof`: an object with one member, the kind of the keys. */
export function proofKeysParam(value: unknown): ProofKeys {
  const [[tag, hashes] = ["", undefined], ...more] = Object.entries(objectParam(value, []));
  if ((tag !== "Requests" && tag !== "Responses") || more.length > 0) {
    throw invalidParams("expected one of `Requests` and `Responses`");
  }
  return { tag, value: listParam(hashes, tag, hashParam) };
}

/** Height of a state machine. */
export function stateMachineHeightParam(value: unknown): StateMachineHeight {
  const { id, height } = objectParam(value, ["id", "height"]);
  return { id: stateMachineIdParam(id), height: u64Param(height, "height") };
}

/** State machine as a light client knows it; both names are texts. */
export function stateMachineIdParam(value: unknown): StateMachineId {
  const { state_id, consensus_state_id } = objectParam(value, ["state_id", "consensus_state_id"]);
  return {
    stateMachine: stateMachineParam(state_id),
    consensusStateId: consensusStateIdParam(consensus_state_id, "consensus_state_id"),
  };
}

/** Four bytes of text. */
export function consensusStateIdParam(value: unknown, name: string): ConsensusStateId {
  return named(name, () => toConsensusStateId(textParam(value, name)));
}

function stateMachineParam(value: unknown): StateMachine {
  return named("state_id", () => parseStateMachine(textParam(value, "state_id")));
}

function textParam(value: unknown, name: string): string {
  if (typeof value !== "string") throw invalidParams(`${name}: expected a string`);
  return value;
}

function named<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof IdentifierError) throw invalidParams(`${name}: ${error.message}`);
    throw error;
  }
}
