/**
 * `ismp_*` and `mmr_*` methods with the JSON of the live node: byte vectors as number arrays, events of a range
 * in no order, every failure with code 9876.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs, modules/pallets/mmr/rpc/src/lib.rs.
 */
import type { Hash256, Hex } from "../../../src/core/encoding/bytes.ts";
import { mmrProofCodec, type ProofKeys } from "../../../src/core/ismp/proof.ts";
import {
  type ConsensusStateId,
  IdentifierError,
  parseStateMachine,
  type StateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import {
  hashParam,
  invalidParams,
  listParam,
  numbersParam,
  objectParam,
  RpcError,
  type RpcMethods,
  u32Param,
} from "./json_rpc.ts";
import { converted } from "../verifiers/refusals.ts";
import { bytes, list } from "../../../src/core/encoding/scale.ts";
import { ChainError, type SimulatedBlock } from "../block_history.ts";
import type { HubNode } from "../node.ts";
import { type LocatedEvent, MmrApiError, RuntimeApi } from "../runtime_api.ts";
import { getResponseToJson, integerToJson, ismpEventToJson, requestToJson } from "./ismp_json.ts";

/**
 * Reads the parameters of `ismp_*` and `mmr_*` methods; everything wrong is -32602.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs, modules/ismp/core/src/host.rs (serde).
 */

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

/** State machine as a light client knows it; both names are texts. */
export function stateMachineIdParam(value: unknown): StateMachineId {
  const { state_id, consensus_state_id } = objectParam(value, ["state_id", "consensus_state_id"]);
  return {
    stateMachine: stateMachineParam(state_id),
    consensusStateId: consensusStateIdParam(consensus_state_id, "consensus_state_id"),
  };
}

/** Four bytes of text. */
function consensusStateIdParam(value: unknown, name: string): ConsensusStateId {
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
  return converted(IdentifierError, ({ message }) => invalidParams(`${name}: ${message}`), read);
}

/** Code of every failure of these methods. */
const failureCode = 9876;

/** The methods. */
export function ismpMethods(node: HubNode): RpcMethods {
  const { chain, ismp } = node;
  const { storage } = ismp;
  const api = new RuntimeApi(node);
  const bestMain = (): typeof chain.bestState.main => chain.bestState.main;
  return {
    ismp_queryRequests: ([query]) =>
      api.requests(chain.bestState, commitmentsParam(query)).map(requestToJson),
    ismp_queryResponses: ([query]) =>
      api.responses(chain.bestState, commitmentsParam(query)).map(getResponseToJson),
    ismp_queryStateProof: ([height, keys]) => {
      const state = proofState(node, height);
      return proofAnswer(height, list(bytes).enc(state.main.prove(listParam(keys, "keys", numbersParam))));
    },
    ismp_queryChildTrieProof: ([height, keys]) => {
      const state = proofState(node, height);
      if (state.child.size === 0) throw failure("Child trie root storage returned None");
      return proofAnswer(height, list(bytes).enc(state.child.prove(listParam(keys, "keys", numbersParam))));
    },
    // Only nodes of the hub have the mountain range.
    ...node.mmr !== undefined && {
      mmr_queryProof: ([height, keys]: readonly unknown[]): unknown =>
        mmrProof(node, api, height, proofKeysParam(keys)),
    },
    ismp_queryChallengePeriod: ([id]) =>
      storage.challengePeriodSec.get(bestMain(), stateMachineIdParam(id)) ??
        fail("Error fetching Challenge period"),
    ismp_queryStateMachineLatestHeight: ([id]) =>
      storage.latestHeight.get(bestMain(), stateMachineIdParam(id)) ??
        fail("Error fetching latest state machine height"),
    ismp_queryEvents: ([from, to]) =>
      eventsOfRange(
        node,
        from,
        to,
        (block) => api.blockEvents(block).map(({ event }) => ismpEventToJson(event)),
      ),
    ismp_queryEventsWithMetadata: ([from, to]) =>
      eventsOfRange(
        node,
        from,
        to,
        (block) => api.blockEvents(block).map((located) => eventWithMetadata(node, block, located)),
      ),
  };
}

function failure(message: string): RpcError {
  return new RpcError(failureCode, message);
}

function fail(message: string): never {
  throw failure(message);
}

function stateOf(node: HubNode, block: SimulatedBlock): ReturnType<HubNode["chain"]["stateOf"]> {
  const refusal = ({ message }: Error): Error => failure(`Error accessing state backend: ${message}`);
  return converted(ChainError, refusal, () => node.chain.stateOf(block));
}

function proofState(node: HubNode, height: unknown): ReturnType<HubNode["chain"]["stateOf"]> {
  const block = node.chain.findNumber(u32Param(height, "height"));
  if (block === undefined) throw failure("Could not find valid blockhash for provided height");
  return stateOf(node, block);
}

/** `proof` becomes an array of numbers. */
function proofAnswer(height: unknown, proof: Uint8Array): unknown {
  return { proof, height };
}

function mmrProof(node: HubNode, api: RuntimeApi, height: unknown, keys: ProofKeys): unknown {
  const block = node.chain.findNumber(u32Param(height, "height"));
  if (block === undefined) throw failure("invalid block height provided");
  const state = stateOf(node, block);
  const refusal = ({ code }: MmrApiError): Error => failure(`Error generating mmr proof: ${code}`);
  const proof = converted(MmrApiError, refusal, () => api.generateProof(state, keys));
  return proofAnswer(height, mmrProofCodec.enc(proof));
}

/**
 * Walks from `to` down to `from`. The live node looks up the parent once too often, so a range that reaches
 * block 0 fails; and its map has no order, for which the order of hashes stands here.
 */
function eventsOfRange(
  node: HubNode,
  from: unknown,
  to: unknown,
  read: (block: SimulatedBlock) => unknown[],
): Record<Hex, unknown[]> {
  const last = rangeEnd(node, to);
  const first = rangeEnd(node, from);
  const events: [Hash256, unknown[]][] = [];
  for (let number = last.header.number; number >= first.header.number; number--) {
    const block = node.chain.blockAt(number);
    const refusal = ({ message }: Error): Error => failure(`failed to read block events ${message}`);
    events.push([block.hash, converted(ChainError, refusal, () => read(block))]);
  }
  if (first.header.number === 0) throw failure("Invalid block number or hash provided");
  return Object.fromEntries(events.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function rangeEnd(node: HubNode, value: unknown): SimulatedBlock {
  if (typeof value === "string") {
    const block = node.chain.find(hashParam(value, "block"));
    return block ?? fail("Invalid block number or hash provided");
  }
  return node.chain.findNumber(u32Param(value, "block")) ?? fail("Invalid block number provided");
}

function eventWithMetadata(node: HubNode, block: SimulatedBlock, located: LocatedEvent): unknown {
  const { extrinsics } = node.chain.bodyOf(block);
  const extrinsic = located.extrinsicIndex === undefined ? undefined : extrinsics[located.extrinsicIndex];
  return {
    meta: {
      block_hash: block.hash,
      transaction_hash: extrinsic === undefined
        ? `0x${"00".repeat(32)}`
        : node.runtime.extrinsicHash(extrinsic),
      block_number: integerToJson(BigInt(block.header.number)),
    },
    event: ismpEventToJson(located.event),
  };
}
