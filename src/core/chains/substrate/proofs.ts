/** Proofs that this chain dispatched messages, in the form that the receiving host verifies. */
import { type Hex, toHex } from "../../protocol/bytes.ts";
import type { Message } from "../../protocol/ismp/message.ts";
import { mmrProofCodec, type ProofKeys, stateMachineProofCodec } from "../../protocol/ismp/proof.ts";
import { childTrieKeys } from "../../protocol/ismp/storage_keys.ts";
import { bytes, type Codec, decodeStrict, list, ScaleError } from "../../protocol/scale.ts";
import type { Chain, MessageProof } from "../chain.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";

/** Keys of one proof query; the answers' nodes are joined. */
const KEYS_PER_QUERY = 100;

/**
 * Proves the messages at block `height`: by the MMR for EVM hosts, by the ISMP child trie for all others.
 * @throws {RpcFault} `not_found` when the chain has no such message at that height.
 */
export async function proveMessages(
  node: SubstrateNode,
  messages: readonly Message[],
  height: bigint,
  sink: Pick<Chain, "family">,
  signal: AbortSignal,
): Promise<MessageProof> {
  return sink.family === "evm"
    ? await proveByMmr(node, messages, height, signal)
    : await proveByState(node, messages, height, signal);
}

async function proveByMmr(
  node: SubstrateNode,
  messages: readonly Message[],
  height: bigint,
  signal: AbortSignal,
): Promise<MessageProof> {
  const encoded = await node.client.ask(ismpCalls.mmrProof(height, leavesOf(messages)), signal);
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

/** Responses are leaves by their own commitment; a proof is of requests or of responses, never of both. */
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
  const queries = [];
  for (let start = 0; start < keys.length; start += KEYS_PER_QUERY) {
    queries.push(ismpCalls.childTrieProof(height, keys.slice(start, start + KEYS_PER_QUERY)));
  }
  const nodes = new Map<Hex, Uint8Array>();
  for (const answer of await node.client.askAll(queries, signal)) {
    const part = decode(node, list(bytes), answer, "ismp_queryChildTrieProof");
    for (const trieNode of part) nodes.set(toHex(trieNode), trieNode);
  }
  const proof = stateMachineProofCodec.enc({ hasher: node.hashing, storageProof: [...nodes.values()] });
  return { kind: "state", height: { id: node.id, height }, proof };
}

function decode<T>(node: SubstrateNode, codec: Codec<T>, encoded: Uint8Array, method: string): T {
  try {
    return decodeStrict(codec, encoded, "Proof");
  } catch (error) {
    if (error instanceof ScaleError) throw node.client.fault("malformed", method, error.message);
    throw error;
  }
}
