/**
 * The `ismp_*` and `mmr_*` methods as typed calls.
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/rpc/src/lib.rs, modules/pallets/mmr/rpc/src/lib.rs.
 */
import type { Hash256 } from "../../encoding/bytes.ts";
import { bytes, type Codec, decodeStrict, list, ScaleError } from "../../encoding/scale.ts";
import { type MmrProof, mmrProofCodec, type ProofKeys } from "../../ismp/proof.ts";
import {
  byteArrayToJson,
  type DecodedEvent,
  IsmpJsonError,
  parseDispatchedRequest,
  parseDispatchedResponse,
  parseEventBlocks,
  parseProofAnswer,
  parseU64,
  proofKeysToJson,
  stateMachineIdToJson,
} from "../../ismp/rpc_json.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import type { Json } from "../../rpc/json.ts";
import { readArray, type TypedCall } from "../../rpc/substrate_calls.ts";

function reading<T>(parse: (json: Json) => T): TypedCall<T>["read"] {
  return (result, fail) => {
    try {
      return parse(result);
    } catch (error) {
      if (error instanceof IsmpJsonError || error instanceof ScaleError) return fail(error.message);
      throw error;
    }
  };
}

/** Reads the SCALE of a proof. */
function readingProof<T>(codec: Codec<T>): TypedCall<T>["read"] {
  return reading((json) => decodeStrict(codec, parseProofAnswer(json), "Proof"));
}

/** Typed calls; heights are block numbers (u32). */
export const ismpCalls = {
  /**
   * Events of blocks `from` to `to`, still to be read; every block of the range is a key. `from` must not be 0 (see
   * events.ts).
   */
  eventBlocks: (from: bigint, to: bigint): TypedCall<ReadonlyMap<Hash256, readonly unknown[]>> => ({
    method: "ismp_queryEventsWithMetadata",
    params: [Number(from), Number(to)],
    read: reading(parseEventBlocks),
  }),
  /** Requests by commitment, as the events of their dispatch; the node leaves out what it lacks. */
  requests: (commitments: readonly Hash256[]): TypedCall<readonly DecodedEvent[]> => ({
    method: "ismp_queryRequests",
    params: [commitments.map((commitment) => ({ commitment }))],
    read: (json, fail) => readArray(json, fail).map(parseDispatchedRequest),
  }),
  /** As {@link ismpCalls.requests}, by the commitments of the responses. */
  responses: (commitments: readonly Hash256[]): TypedCall<readonly DecodedEvent[]> => ({
    method: "ismp_queryResponses",
    params: [commitments.map((commitment) => ({ commitment }))],
    read: (json, fail) => readArray(json, fail).map(parseDispatchedResponse),
  }),
  latestHeight: (id: StateMachineId): TypedCall<bigint> => ({
    method: "ismp_queryStateMachineLatestHeight",
    params: [stateMachineIdToJson(id)],
    read: reading((json) => parseU64(json, "height")),
  }),
  /** Trie nodes that prove `keys` of the ISMP child trie. */
  childTrieProof: (height: bigint, keys: readonly Uint8Array[]): TypedCall<readonly Uint8Array[]> => ({
    method: "ismp_queryChildTrieProof",
    params: [Number(height), keys.map(byteArrayToJson)],
    read: readingProof(list(bytes)),
  }),
  /** Trie nodes that prove `keys` of the main trie. */
  stateProof: (height: bigint, keys: readonly Uint8Array[]): TypedCall<readonly Uint8Array[]> => ({
    method: "ismp_queryStateProof",
    params: [Number(height), keys.map(byteArrayToJson)],
    read: readingProof(list(bytes)),
  }),
  /** MMR proof of these leaves at `height`. */
  mmrProof: (height: bigint, keys: ProofKeys): TypedCall<MmrProof> => ({
    method: "mmr_queryProof",
    params: [Number(height), proofKeysToJson(keys)],
    read: readingProof(mmrProofCodec),
  }),
};
