/**
 * Fees, receipts and state values of this chain, read or proven, in the form of claims on the hub and answers to GET
 * requests. Source of the keys and roots: docs/protocol/hub.md sections 6.1, 6.2 and 10.1.
 */
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import {
  findConsensusDigest,
  type RequestMetadata,
  requestMetadataCodec,
  requestReceiptCodec,
} from "../../ismp/host_state.ts";
import { storedSigner } from "../../ismp/signed_messages.ts";
import { childTrieKeys } from "../../ismp/storage_keys.ts";
import { decodeStrict, ScaleError } from "../../encoding/scale.ts";
import { readSubstrateProof } from "../../merkle/substrate_proof.ts";
import { TrieError } from "../../merkle/trie_error.ts";
import { RpcFault } from "../../rpc/fault.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import type { FeeProof, ReceiptProof } from "../fees.ts";
import { ismpCalls } from "./ismp_calls.ts";
import type { SubstrateNode } from "./node.ts";
import { encodeStateProof, fetchProofNodes } from "./proofs.ts";
import { decodeValue, fetchBlockHash } from "./views.ts";

/** Fetches this chain's metadata of requests that it dispatched or routed, by commitment; one round trip. */
export async function fetchRequestMetadata(
  node: SubstrateNode,
  commitments: readonly Hash256[],
  signal: AbortSignal,
): Promise<readonly (RequestMetadata | undefined)[]> {
  if (commitments.length === 0) return [];
  const trie = await node.childTrie.key(signal);
  const reads = commitments.map((each) => calls.childStorage(trie, childTrieKeys.requestCommitment(each)));
  const stored = await node.client.callAll(reads, signal);
  return stored.map((value) => decodeValue(node, value, requestMetadataCodec, "RequestCommitments"));
}

/** Fetches the fee paid here per commitment; one round trip. */
export async function fetchFees(
  node: SubstrateNode,
  commitments: readonly Hash256[],
  signal: AbortSignal,
): Promise<readonly (bigint | undefined)[]> {
  const found = await fetchRequestMetadata(node, commitments, signal);
  return found.map((metadata) => metadata?.fee.fee);
}

/**
 * Proves `RequestCommitments`, and returns the fees that the hub will read from the proof: it is read below the root
 * in the block's own header. Two round trips.
 * @throws {RpcFault} `malformed` when the node's proof does not fit that root.
 */
export async function proveFees(
  node: SubstrateNode,
  commitments: readonly Hash256[],
  height: bigint,
  signal: AbortSignal,
): Promise<FeeProof> {
  const keys = commitments.map(childTrieKeys.requestCommitment);
  const { proof, values } = await proveAndRead(node, keys, height, signal);
  return { proof, fees: keys.map((key) => readFee(node, values.get(toHex(key)))) };
}

/**
 * Proves `RequestReceipts`, and returns what the hub will read from the proof: it is read below the root in the
 * block's own header. Two round trips.
 * @throws {RpcFault} `malformed` when the node's proof does not fit that root.
 */
export async function proveReceipts(
  node: SubstrateNode,
  commitments: readonly Hash256[],
  height: bigint,
  signal: AbortSignal,
): Promise<ReceiptProof> {
  const keys = commitments.map(childTrieKeys.requestReceipt);
  const { proof, values } = await proveAndRead(node, keys, height, signal);
  return { proof, relayers: keys.map((key) => readRelayer(node, values.get(toHex(key)))) };
}

/** Proves values of the main trie at exactly `height`; one round trip, three where the node lacks `ismp_queryStateProof`. */
export async function proveState(
  node: SubstrateNode,
  keys: readonly Uint8Array[],
  height: bigint,
  signal: AbortSignal,
): Promise<Uint8Array> {
  try {
    const nodes = await fetchProofNodes(node, keys, (part) => ismpCalls.stateProof(height, part), signal);
    return encodeStateProof(node, nodes);
  } catch (fault) {
    if (!(fault instanceof RpcFault) || fault.code !== "missing_method") throw fault;
    const block = await fetchBlockHash(node, height, signal);
    return encodeStateProof(node, await node.client.call(calls.readProof(keys, block), signal));
  }
}

/** Proves values of the child trie, and reads the proof below the root of the block's header. */
async function proveAndRead(
  node: SubstrateNode,
  keys: readonly Uint8Array[],
  height: bigint,
  signal: AbortSignal,
): Promise<{ readonly proof: Uint8Array; readonly values: ReturnType<typeof readSubstrateProof> }> {
  const [nodes, root] = await Promise.all([
    proveInChildTrie(node, keys, height, signal),
    fetchChildTrieRoot(node, height, signal),
  ]);
  return { proof: encodeStateProof(node, nodes), values: readProof(node, { root, nodes, keys }) };
}

function proveInChildTrie(
  node: SubstrateNode,
  keys: readonly Uint8Array[],
  height: bigint,
  signal: AbortSignal,
): Promise<readonly Uint8Array[]> {
  return fetchProofNodes(node, keys, (part) => ismpCalls.childTrieProof(height, part), signal);
}

async function fetchChildTrieRoot(
  node: SubstrateNode,
  height: bigint,
  signal: AbortSignal,
): Promise<Hash256> {
  const { client } = node;
  const block = await fetchBlockHash(node, height, signal);
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

function readProof(
  node: SubstrateNode,
  proof: {
    readonly root: Hash256;
    readonly nodes: readonly Uint8Array[];
    readonly keys: readonly Uint8Array[];
  },
): ReturnType<typeof readSubstrateProof> {
  try {
    return readSubstrateProof({ ...proof, hasher: node.hashing });
  } catch (error) {
    if (!(error instanceof TrieError)) throw error;
    throw node.client.fault(
      "malformed",
      "ismp_queryChildTrieProof",
      `the proof does not verify: ${error.code}`,
    );
  }
}

function readFee(node: SubstrateNode, value: Uint8Array | undefined): bigint {
  if (value === undefined) return 0n;
  try {
    return decodeStrict(requestMetadataCodec, value, "RequestCommitments").fee.fee;
  } catch (error) {
    if (!(error instanceof ScaleError)) throw error;
    throw node.client.fault("malformed", "ismp_queryChildTrieProof", error.message);
  }
}

/**
 * Reads the relayer as the hub does (polytope-labs/hyperbridge: modules/pallets/relayer/src/accumulate.rs,
 * decode_receipt_relayer).
 */
function readRelayer(node: SubstrateNode, value: Uint8Array | undefined): Uint8Array | undefined {
  if (value === undefined) return undefined;
  try {
    return storedSigner(decodeStrict(requestReceiptCodec, value, "RequestReceipts"));
  } catch (error) {
    if (!(error instanceof ScaleError)) throw error;
    throw node.client.fault("malformed", "ismp_queryChildTrieProof", error.message);
  }
}
