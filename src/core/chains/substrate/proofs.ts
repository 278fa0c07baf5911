/** Proofs that this chain dispatched messages, in the form that the target host verifies. */
import { type Hex, toHex } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import { mmrProofCodec, type ProofKeys, stateMachineProofCodec } from "../../ismp/proof.ts";
import { childTrieKeys } from "../../ismp/storage_keys.ts";
import { bytes, type Codec, decodeStrict, list, ScaleError } from "../../encoding/scale.ts";
import type { TypedCall } from "../../rpc/substrate_calls.ts";
import type { Chain, MessageProof } from "../port.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";

/** Maximum number of keys of one proof query; the nodes of the answers are joined. */
const KEYS_PER_QUERY = 100;

/**
 * Proves the messages at block `height`: by the MMR for EVM hosts, by the ISMP child trie for all others.
 * @throws {RpcFault} `not_found` when the chain has no such message at that height.
 */
export async function proveMessages(
  node: SubstrateNode,
  messages: readonly Message[],
  height: bigint,
  target: Pick<Chain, "family">,
  signal: AbortSignal,
): Promise<MessageProof> {
  return target.family === "evm"
    ? await proveByMmr(node, messages, height, signal)
    : await proveByState(node, messages, height, signal);
}

async function proveByMmr(
  node: SubstrateNode,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
): Promise<MessageProof> {
  const encoded = await node.client.call(ismpCalls.mmrProof(height, leavesOf(messages)), signal);
  const proof = decode(node, mmrProofCodec, encoded, "mmr_queryProof");
  if (proof.leafIndicesAndPos.length !== messages.length) {
    const found = proof.leafIndicesAndPos.length;
    throw node.client.fault("malformed", "mmr_queryProof", `${found} leaves for ${messages.length} messages`);
  }
  return {
    kind: "mmr",
    height: { id: node.id, height },
    leafCount: proof.leafCount,
    items: proof.items,
    leafIndices: proof.leafIndicesAndPos.map(({ leafIndex }) => leafIndex),
  };
}

/**
 * Builds the keys: responses are leaves by their own commitment; a proof is of requests or of responses, never of
 * both.
 */
function leavesOf(messages: readonly Message[]): ProofKeys {
  const value = messages.map(({ commitment }) => commitment);
  const responses = messages.filter(({ kind }) => kind === "getResponse").length;
  if (responses === 0) return { tag: "Requests", value };
  if (responses === messages.length) return { tag: "Responses", value };
  throw new Error("One proof cannot be of requests and of responses");
}

async function proveByState(
  node: SubstrateNode,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
): Promise<MessageProof> {
  const keys = messages.map((message) =>
    message.kind === "getResponse"
      ? childTrieKeys.responseCommitment(message.commitment)
      : childTrieKeys.requestCommitment(message.commitment)
  );
  const nodes = await fetchProofNodes(node, keys, (part) => ismpCalls.childTrieProof(height, part), signal);
  return { kind: "state", height: { id: node.id, height }, proof: encodeStateProof(node, nodes) };
}

/**
 * Fetches trie nodes that prove `keys`, each once; one round trip.
 * @param query requests the proof of some of the keys.
 */
export async function fetchProofNodes(
  node: SubstrateNode,
  keys: readonly Uint8Array[],
  query: (keys: readonly Uint8Array[]) => TypedCall<Uint8Array>,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  const queries = [];
  for (let start = 0; start < keys.length; start += KEYS_PER_QUERY) {
    queries.push(query(keys.slice(start, start + KEYS_PER_QUERY)));
  }
  const nodes = new Map<Hex, Uint8Array>();
  for (const [index, answer] of (await node.client.callAll(queries, signal)).entries()) {
    const part = decode(node, list(bytes), answer, queries[index]?.method ?? "proof");
    for (const trieNode of part) nodes.set(toHex(trieNode), trieNode);
  }
  return [...nodes.values()];
}

/** Content of a `Proof` about this chain. */
export function encodeStateProof(node: SubstrateNode, storageProof: readonly Uint8Array[]): Uint8Array {
  return stateMachineProofCodec.enc({ hasher: node.hashing, storageProof });
}

function decode<T>(node: SubstrateNode, codec: Codec<T>, encoded: Uint8Array, method: string): T {
  try {
    return decodeStrict(codec, encoded, "Proof");
  } catch (error) {
    if (error instanceof ScaleError) throw node.client.fault("malformed", method, error.message);
    throw error;
  }
}
