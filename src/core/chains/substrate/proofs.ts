/**
 * Proofs about this chain: that it dispatched messages, in the form that the target host verifies; fees, receipts and
 * state values, in the form of claims on the hub and answers to GET requests. Source of the keys and roots:
 * docs/protocol/hub.md sections 6.1, 6.2 and 10.1.
 */
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import { type ProofKeys, stateMachineProofCodec } from "../../ismp/proof.ts";
import { childTrieKeys } from "../../ismp/storage_keys.ts";
import { mapError, recover } from "../../encoding/coded_error.ts";
import { ScaleError } from "../../encoding/scale.ts";
import { calls, type TypedCall } from "../../rpc/substrate_calls.ts";
import type {
  ChainProofs,
  FeeProof,
  MessageProof,
  ProofVerifier,
  ProvenBlock,
  ReceiptProof,
} from "../proofs.ts";
import { ismpCalls } from "./ismp_calls.ts";
import { decodeValue, type SubstrateNode } from "./node.ts";
import { onFault } from "../../rpc/call.ts";
import { fetchBlockHash } from "./reads.ts";
import { readSubstrateProof } from "../../merkle/substrate_proof.ts";
import { findConsensusDigest, requestMetadataCodec, requestReceiptCodec } from "../../ismp/host_state.ts";
import { TrieError } from "../../merkle/trie_nodes.ts";
import { storedSigner } from "../../ismp/signed_messages.ts";
import { partsOf } from "../../runtime/slices.ts";

/** Maximum number of keys of one proof query; the nodes of the answers are joined. */
const KEYS_PER_QUERY = 100;

/** Proofs of the chain's messages and state. */
export class SubstrateProofs implements ChainProofs {
  constructor(readonly node: SubstrateNode) {}

  /**
   * Proves the messages at block `height`: by the MMR for EVM hosts, by the ISMP child trie for all others.
   * @throws {RpcFault} `not_found` when the chain has no such message at that height.
   */
  async proveMessages(
    messages: readonly Message[],
    { height, target }: { readonly height: bigint; readonly target: ProofVerifier },
    signal: AbortSignal,
  ): Promise<MessageProof> {
    return target.capabilities.hubProofs === "mmr"
      ? await this.#proveByMmr(messages, height, signal)
      : await this.#proveByState(messages, height, signal);
  }

  /**
   * Proves `RequestCommitments`, and returns the fees that the hub will read from the proof: it is read below the root
   * in the block's own header. Two round trips.
   * @throws {RpcFault} `malformed` when the node's proof does not fit that root.
   */
  async proveFees(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<FeeProof> {
    const keys = commitments.map(childTrieKeys.requestCommitment);
    const { proof, values } = await this.#proveAndRead(keys, height, signal);
    const fees = values.map((value) =>
      decodeValue(this.node, value, requestMetadataCodec, "RequestCommitments")?.fee.fee ?? 0n
    );
    return { proof, fees };
  }

  /**
   * Proves `RequestReceipts`, and returns what the hub will read from the proof: it is read below the root in the
   * block's own header. Two round trips.
   * @throws {RpcFault} `malformed` when the node's proof does not fit that root.
   */
  async proveReceipts(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    const keys = commitments.map(childTrieKeys.requestReceipt);
    const { proof, values } = await this.#proveAndRead(keys, height, signal);
    return { proof, relayers: values.map((value) => this.#readRelayer(value)) };
  }

  /** Proves values of the main trie at exactly `height`; one round trip, three where the node lacks `ismp_queryStateProof`. */
  async proveState(
    keys: readonly Uint8Array[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const nodes = await this.#fetchProofNodes(keys, (part) => ismpCalls.stateProof(height, part), signal)
      .catch(onFault(async () => {
        const block = await fetchBlockHash(this.node, height, signal);
        return await this.node.client.call(calls.readProof(keys, block), signal);
      }, "missing_method"));
    return this.#encodeStateProof(nodes);
  }

  async #proveByMmr(
    messages: readonly Message[],
    height: bigint,
    signal: AbortSignal,
  ): Promise<MessageProof> {
    const proof = await this.node.client.call(ismpCalls.mmrProof(height, leavesOf(messages)), signal);
    const found = proof.leafIndicesAndPos.length;
    if (found !== messages.length) {
      const detail = `${found} leaves for ${messages.length} messages`;
      throw this.node.client.fault("malformed", "mmr_queryProof", detail);
    }
    return {
      kind: "mmr",
      height: { id: this.node.id, height },
      leafCount: proof.leafCount,
      items: proof.items,
      leafIndices: proof.leafIndicesAndPos.map(({ leafIndex }) => leafIndex),
    };
  }

  async #proveByState(
    messages: readonly Message[],
    height: bigint,
    signal: AbortSignal,
  ): Promise<MessageProof> {
    const keys = messages.map((message) =>
      message.kind === "getResponse"
        ? childTrieKeys.responseCommitment(message.commitment)
        : childTrieKeys.requestCommitment(message.commitment)
    );
    const nodes = await this.#fetchProofNodes(keys, (part) => ismpCalls.childTrieProof(height, part), signal);
    return { kind: "state", height: { id: this.node.id, height }, proof: this.#encodeStateProof(nodes) };
  }

  /**
   * Fetches trie nodes that prove `keys`, each once; one round trip.
   * @param query requests the proof of some of the keys.
   */
  async #fetchProofNodes(
    keys: readonly Uint8Array[],
    query: (keys: readonly Uint8Array[]) => TypedCall<readonly Uint8Array[]>,
    signal: AbortSignal,
  ): Promise<readonly Uint8Array[]> {
    const parts = await this.node.client.callAll(partsOf(keys, KEYS_PER_QUERY).map(query), signal);
    return [...new Map(parts.flat().map((trieNode) => [toHex(trieNode), trieNode])).values()];
  }

  /** Content of a `Proof` about this chain. */
  #encodeStateProof(storageProof: readonly Uint8Array[]): Uint8Array {
    return stateMachineProofCodec.enc({ hasher: this.node.hashing, storageProof });
  }

  /** Proves values of the child trie, and reads the proof below the root of the block's header. */
  async #proveAndRead(
    keys: readonly Uint8Array[],
    height: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly proof: Uint8Array; readonly values: readonly (Uint8Array | undefined)[] }> {
    const [nodes, root] = await Promise.all([
      this.#fetchProofNodes(keys, (part) => ismpCalls.childTrieProof(height, part), signal),
      this.#fetchChildTrieRoot(height, signal),
    ]);
    const values = mapError(
      TrieError,
      () => readSubstrateProof({ root, nodes, keys, hasher: this.node.hashing }),
      ({ code }) => {
        const detail = `the proof does not verify: ${code}`;
        return this.node.client.fault("malformed", "ismp_queryChildTrieProof", detail);
      },
    );
    return { proof: this.#encodeStateProof(nodes), values: keys.map((key) => values.get(toHex(key))) };
  }

  async #fetchChildTrieRoot(height: bigint, signal: AbortSignal): Promise<Hash256> {
    const { client } = this.node;
    const block = await fetchBlockHash(this.node, height, signal);
    const header = await client.call(calls.header(block), signal);
    if (header === undefined) throw client.fault("pruned", "chain_getHeader", `no header of block ${height}`);
    try {
      const digest = findConsensusDigest(header.fields.logs);
      if (digest !== undefined) return digest.childTrieRoot;
    } catch (error) {
      if (!(error instanceof ScaleError)) throw error;
    }
    throw client.fault("malformed", "chain_getHeader", `block ${height} announces no ISMP roots`);
  }

  /**
   * Reads the relayer as the hub does (polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs,
   * decode_receipt_relayer).
   */
  #readRelayer(value: Uint8Array | undefined): Uint8Array | undefined {
    const signer = decodeValue(this.node, value, requestReceiptCodec, "RequestReceipts");
    return recover(ScaleError, () => signer && storedSigner(signer), () => {
      const cost = "its signer counts as another relayer";
      this.node.log.warn("unknown_met", { what: "a signature in a receipt", cost });
      return signer;
    });
  }
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
