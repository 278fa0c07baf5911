/**
 * `ismp_*` and `mmr_*` methods with the JSON of the live node: byte vectors as number arrays, events of a range
 * in no order, every failure with code 9876.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs, modules/pallets/mmr/rpc/src/lib.rs.
 */
import * as z from "zod";
import { type Hash256, type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import { requestMetadataCodec } from "../../../src/core/ismp/host_state.ts";
import type { IsmpEvent } from "../../../src/core/ismp/event.ts";
import { type GetResponse, type Leaf, leafCodec, requestCodec } from "../../../src/core/ismp/message.ts";
import { mmrProofCodec, type ProofKeys } from "../../../src/core/ismp/proof.ts";
import {
  IdentifierError,
  parseStateMachine,
  type StateMachineId,
  toConsensusStateId,
} from "../../../src/core/ismp/state_machine.ts";
import { childTrieKeys, offchainKeys } from "../../../src/core/ismp/storage_keys.ts";
import { bytes, decodeStrict, list } from "../../../src/core/encoding/scale.ts";
import { MmrError } from "../../../src/core/merkle/mmr.ts";
import {
  hashParam,
  hashShape,
  invalidParams,
  param,
  RpcError,
  type RpcMethods,
  u32Param,
} from "./json_rpc.ts";
import { converted } from "../verifiers/refusals.ts";
import { ChainError, type SimulatedBlock } from "../block_history.ts";
import type { HubNode } from "../node.ts";
import type { IsmpPalletEvent } from "../pallets/ismp_events.ts";
import type { EventEntry, Snapshot } from "../storage.ts";
import { integerToJson, ismpToJson, taggedToJson } from "./ismp_json.ts";
import type { CodecType } from "scale-ts";

/**
 * Reads the parameters of `ismp_*` and `mmr_*` methods; everything wrong is -32602.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs, modules/ismp/core/src/host.rs (serde).
 */

const queryParam = param(z.array(z.object({ commitment: hashShape })));
const idParam = param(z.object({ state_id: z.string(), consensus_state_id: z.string() }));
const keysParam = param(
  z.object({ Requests: z.array(hashShape).optional(), Responses: z.array(hashShape).optional() }),
);
/** Bytes given as lists of numbers, as Rust's `Vec<u8>` reads JSON; hex strings are refused. */
const byteListsParam = param(
  z.array(z.array(z.int().min(0).max(255)).transform((numbers) => Uint8Array.from(numbers))),
);

/** Commitments of `ismp_queryRequests` and `ismp_queryResponses`: one array of objects. */
export function commitmentsParam(value: unknown): readonly Hash256[] {
  return queryParam(value, "query").map(({ commitment }) => commitment);
}

/** Second parameter of `mmr_queryProof`: an object with one member, the kind of the keys. */
export function proofKeysParam(value: unknown): ProofKeys {
  const { Requests, Responses } = keysParam(value, "keys");
  if (Requests !== undefined && Responses === undefined) return { tag: "Requests", value: Requests };
  if (Responses !== undefined && Requests === undefined) return { tag: "Responses", value: Responses };
  throw invalidParams("expected one of `Requests` and `Responses`");
}

/** State machine as a light client knows it; both names are texts. */
export function stateMachineIdParam(value: unknown): StateMachineId {
  const { state_id, consensus_state_id } = idParam(value, "id");
  return {
    stateMachine: named("state_id", () => parseStateMachine(state_id)),
    consensusStateId: named("consensus_state_id", () => toConsensusStateId(consensus_state_id)),
  };
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
  const bestMain = (): typeof chain.bestState.main => chain.bestState.main;
  return {
    ismp_queryRequests: ([query]) =>
      requestsOf(node, chain.bestState, commitmentsParam(query)).map(taggedToJson),
    ismp_queryResponses: ([query]) =>
      responsesOf(node, chain.bestState, commitmentsParam(query)).map(ismpToJson),
    ismp_queryStateProof: ([height, keys]) => {
      const state = proofState(node, height);
      return proofAnswer(height, list(bytes).enc(state.main.prove(byteListsParam(keys, "keys"))));
    },
    ismp_queryChildTrieProof: ([height, keys]) => {
      const state = proofState(node, height);
      if (state.child.size === 0) throw failure("Child trie root storage returned None");
      return proofAnswer(height, list(bytes).enc(state.child.prove(byteListsParam(keys, "keys"))));
    },
    // Only nodes of the hub have the mountain range.
    ...node.mmr !== undefined && {
      mmr_queryProof: ([height, keys]: readonly unknown[]): unknown =>
        mmrProof(node, height, proofKeysParam(keys)),
    },
    ismp_queryChallengePeriod: ([id]) =>
      storage.challengePeriodSec.get(bestMain(), stateMachineIdParam(id)) ??
        fail("Error fetching Challenge period"),
    ismp_queryStateMachineLatestHeight: ([id]) =>
      storage.latestHeight.get(bestMain(), stateMachineIdParam(id)) ??
        fail("Error fetching latest state machine height"),
    ismp_queryEvents: ([from, to]) => eventsOfRange(node, from, to, ({ event }) => taggedToJson(event)),
    ismp_queryEventsWithMetadata: ([from, to]) =>
      eventsOfRange(node, from, to, (located, block) => eventWithMetadata(node, block, located)),
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

/**
 * Proof of leaves at a block, in the order asked; names of failures are those of `sp_mmr_primitives::Error`: LeafNotFound
 * for commitments that the block does not have or that are not final yet, GenerateProof while other leaves of the block are
 * not final or nothing provable is asked.
 */
function mmrProof(node: HubNode, height: unknown, keys: ProofKeys): unknown {
  const { chain, mmr } = node;
  const block = chain.findNumber(u32Param(height, "height"));
  if (block === undefined) throw failure("invalid block height provided");
  const refusal = (code: string): RpcError => failure(`Error generating mmr proof: ${code}`);
  if (mmr === undefined) throw refusal("PalletNotIncluded");
  const state = stateOf(node, block);
  const childKey = keys.tag === "Requests"
    ? childTrieKeys.requestCommitment
    : childTrieKeys.responseCommitment;
  const finalCount = mmr.numberOfLeaves.get(chain.stateOf(chain.finalized).main) ?? 0n;
  const indices = keys.value.map((commitment) => {
    const metadata = state.child.get(childKey(commitment));
    if (metadata === undefined) throw refusal("LeafNotFound");
    const { leafIndex } = decodeStrict(requestMetadataCodec, metadata, "RequestMetadata").offchain;
    if (leafIndex >= finalCount) throw refusal("LeafNotFound");
    return leafIndex;
  });
  const leafCount = mmr.numberOfLeaves.get(state.main) ?? 0n;
  if (leafCount > finalCount) throw refusal("GenerateProof");
  const proof = converted(
    MmrError,
    () => refusal("GenerateProof"),
    () => mmr.range.prove(indices, leafCount),
  );
  return proofAnswer(height, mmrProofCodec.enc(proof));
}

/** Requests of these commitments; unknown ones are left out. */
function requestsOf(
  node: HubNode,
  state: Snapshot,
  commitments: readonly Hash256[],
): CodecType<typeof requestCodec>[] {
  return commitments.flatMap((commitment) => {
    const leaf = leafOf(node, state, childTrieKeys.requestCommitment(commitment), commitment);
    return leaf?.tag === "Request" ? [leaf.value] : [];
  });
}

/** Responses of these (response) commitments; unknown ones are left out. */
function responsesOf(node: HubNode, state: Snapshot, commitments: readonly Hash256[]): GetResponse[] {
  return commitments.flatMap((commitment) => {
    const leaf = leafOf(node, state, childTrieKeys.responseCommitment(commitment), commitment);
    return leaf?.tag === "GetResponse" ? [leaf.value] : [];
  });
}

/** Body of a request or response that the state holds. */
function leafOf(node: HubNode, state: Snapshot, key: Uint8Array, commitment: Hash256): Leaf | undefined {
  if (state.child.get(key) === undefined) return undefined;
  const stored = node.chain.offchain.get(toHex(offchainKeys.leafByCommitment(commitment)));
  return stored && decodeStrict(leafCodec, stored, "Leaf");
}

/** An ISMP event with the extrinsic that caused it. */
interface LocatedEvent extends Pick<EventEntry, "extrinsicIndex"> {
  readonly event: IsmpEvent;
}

/** ISMP events of a block; requests and responses whose leaf this node lacks are left out silently. */
function blockEvents(node: HubNode, block: SimulatedBlock): LocatedEvent[] {
  const { state, events } = node.chain.bodyOf(block);
  return events.flatMap(({ ismp, extrinsicIndex }) => {
    const event = ismp === undefined ? undefined : toIsmpEvent(node, state, ismp);
    return event === undefined ? [] : [{ event, extrinsicIndex }];
  });
}

function toIsmpEvent(node: HubNode, state: Snapshot, event: IsmpPalletEvent): IsmpEvent | undefined {
  switch (event.tag) {
    case "StateMachineUpdated":
    case "StateCommitmentVetoed":
      return event;
    case "PostRequestHandled":
    case "GetRequestHandled":
      return { tag: event.tag, value: event.value };
    case "PostRequestTimeoutHandled":
    case "GetRequestTimeoutHandled":
      return { tag: event.tag, value: event.value };
    case "Request": {
      const [request] = requestsOf(node, state, [event.value.commitment]);
      if (request === undefined) return undefined;
      return request.tag === "Post"
        ? { tag: "PostRequest", value: request.value }
        : { tag: "GetRequest", value: request.value };
    }
    case "Response": {
      const [value] = responsesOf(node, state, [event.value.commitment]);
      return value === undefined ? undefined : { tag: "GetResponse", value };
    }
    case "ConsensusClientCreated":
    case "ConsensusClientFrozen":
    case "Errors":
    case "RelayerFeeWithdrawn":
      return undefined;
  }
}

/**
 * Walks from `to` down to `from`. The live node looks up the parent once too often, so a range that reaches
 * block 0 fails; and its map has no order, for which the order of hashes stands here.
 */
function eventsOfRange(
  node: HubNode,
  from: unknown,
  to: unknown,
  write: (located: LocatedEvent, block: SimulatedBlock) => unknown,
): Record<Hex, unknown[]> {
  const last = rangeEnd(node, to);
  const first = rangeEnd(node, from);
  const events: [Hash256, unknown[]][] = [];
  for (let number = last.header.number; number >= first.header.number; number--) {
    const block = node.chain.blockAt(number);
    const refusal = ({ message }: Error): Error => failure(`failed to read block events ${message}`);
    const found = converted(ChainError, refusal, () => blockEvents(node, block));
    events.push([block.hash, found.map((located) => write(located, block))]);
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
    event: taggedToJson(located.event),
  };
}
