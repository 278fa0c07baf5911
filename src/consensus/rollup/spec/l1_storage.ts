/**
 * Proven storage of L1 contracts, as the hub's rollup clients read it: each proof is a separate set of nodes for one
 * account or one slot. Source: polytope-labs/hyperbridge: modules/ismp/state-machines/evm/src/utils.rs.
 */
import { mapError } from "../../spec/client_error.ts";
import { fromHex, type Hash256, keccak256, toHash256, toHex } from "../../../core/encoding/bytes.ts";
import type { Address } from "../../../core/evm/address.ts";
import { bytes, type Codec, list } from "../../../core/encoding/scale.ts";
import { type AccountProofAnswer, EvmProofError, readAccountRoot } from "../../../core/merkle/evm_proof.ts";
import { TrieError, TrieNodes } from "../../../core/merkle/trie_nodes.ts";
import { decodeRlp, EMPTY_NODE, EMPTY_ROOT, readPatricia } from "../../../core/merkle/patricia.ts";

/** RLP nodes of a trie in any order (`Vec<Vec<u8>>`). */
export type ProofNodes = readonly Uint8Array[];

/** SCALE of {@link ProofNodes}. */
export const proofNodesCodec: Codec<ProofNodes> = list(bytes);

/**
 * Verifies and returns the storage root of a contract in the state of an L1 block. @throws {EvmProofError}
 * invalid_account_proof, account_not_present, account_malformed
 */
export function provenStorageRoot(nodes: ProofNodes, stateRoot: Hash256, contract: Address): Hash256 {
  const root = readAccountRoot(nodes, stateRoot, fromHex(contract));
  if (root === undefined) throw new EvmProofError("account_not_present");
  return root;
}

/**
 * Verifies and returns the word of a slot; undefined when the nodes prove that it is empty. @param slot as
 * `eth_getProof` takes it, not hashed. @throws {EvmProofError} storage_unreadable; `cause` is a `TrieError`
 */
export function provenWord(nodes: ProofNodes, storageRoot: Hash256, slot: Hash256): Hash256 | undefined {
  return mapError(TrieError, () => {
    const leaf = readPatricia(
      new TrieNodes(nodes, keccak256),
      fromHex(storageRoot),
      keccak256(fromHex(slot)),
    );
    return leaf === undefined ? undefined : wordOf(leaf);
  }, (cause) => new EvmProofError("storage_unreadable", { cause }));
}

/** A word without its leading zeros, in RLP. */
function wordOf(leaf: Uint8Array): Hash256 {
  const item = decodeRlp(leaf);
  if (Array.isArray(item) || item.length > 32) throw new TrieError("malformed_node");
  const word = new Uint8Array(32);
  word.set(item, 32 - item.length);
  return toHash256(word);
}

/**
 * Account nodes of an `eth_getProof` answer.
 * @throws {EvmProofError} malformed_answer
 */
export function accountNodesOf(answer: Pick<AccountProofAnswer, "accountProof">): ProofNodes {
  return answer.accountProof.map(nodeOf);
}

/**
 * Nodes of one of the slots that an `eth_getProof` answer is about. Endpoints may omit the only node of an empty trie,
 * which the hub needs: it is added. @param index of the slot in the request. @throws {EvmProofError} malformed_answer,
 * also when the answer has fewer slots.
 */
export function slotNodesOf(
  answer: Pick<AccountProofAnswer, "storageHash" | "storageProof">,
  index: number,
): ProofNodes {
  const slot = answer.storageProof[index];
  if (slot === undefined) throw new EvmProofError("malformed_answer");
  const nodes = slot.proof.map(nodeOf);
  const isEmpty = answer.storageHash.toLowerCase() === toHex(EMPTY_ROOT);
  return isEmpty && nodes.length === 0 ? [EMPTY_NODE] : nodes;
}

function nodeOf(text: string): Uint8Array {
  try {
    return fromHex(text);
  } catch (cause) {
    throw new EvmProofError("malformed_answer", { cause });
  }
}
