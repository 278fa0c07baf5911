/**
 * State proofs of EVM contracts on Substrate chains, read with the hub's rules: the main trie proves the record of each
 * contract and the root of its child trie, and the child trie its slots. All tries hash with BLAKE2. The proof and its
 * SCALE form are in `../ismp/proof.ts`. Source: polytope-labs/hyperbridge:
 * modules/ismp/state-machines/evm/src/substrate_evm.rs.
 */
import { type Hash256, type Hex, toHash256, toHex } from "../encoding/bytes.ts";
import { locateSlot } from "../evm/host_storage.ts";
import { ScaleError } from "../encoding/scale.ts";
import type { SubstrateEvmProof } from "../ismp/proof.ts";
import {
  contractRecordKey,
  contractTrieKey,
  decodeTrieId,
  trieSlotKey,
} from "../substrate/contract_state.ts";
import { readSubstrateProof } from "./substrate_proof.ts";
import { TrieError } from "./trie_nodes.ts";

/** Reason why the hub refuses a proof. */
export type SubstrateEvmProofErrorCode =
  /** A key is neither a slot of the host (32 bytes) nor a slot of a contract (52 bytes). */
  | "unsupported_key_length"
  /** A key was requested twice. */
  | "duplicate_key"
  /** The nodes of the main trie do not decide a record or the root of a child trie; `cause` is a `TrieError`. */
  | "main_trie_unreadable"
  /** The main trie shows that there is no such account. */
  | "account_not_present"
  /** The record of the account is none of a contract. */
  | "account_malformed"
  /** The main trie shows that the contract stores nothing: there is no child trie, and absence cannot be proved. */
  | "no_storage"
  /** The root of the child trie is not 32 bytes long. */
  | "storage_root_malformed"
  /** A contract of the keys has no storage proof. */
  | "incomplete_storage_proof"
  /** The nodes of the child trie do not decide a slot; `cause` is a `TrieError`. */
  | "storage_unreadable";

/** Proof of contract state that the hub would refuse. */
export class SubstrateEvmProofError extends Error {
  override readonly name = "SubstrateEvmProofError";

  constructor(readonly code: SubstrateEvmProofErrorCode, options?: ErrorOptions) {
    super(`State proof refused: ${code}`, options);
  }
}

/**
 * Reads the values of `keys` in `proof`. Storage of contracts that no key requests is ignored.
 * @param options.host 20-byte address of the ISMP host contract.
 * @returns by hex of the key: the word in the slot, `undefined` for an empty slot.
 * @throws {SubstrateEvmProofError} any code.
 */
export function readSubstrateEvmState(
  options: {
    readonly stateRoot: Hash256;
    readonly host: Uint8Array;
    readonly proof: SubstrateEvmProof;
    readonly keys: readonly Uint8Array[];
  },
): Map<Hex, Uint8Array | undefined> {
  const { stateRoot, host, proof, keys } = options;
  const slots = keys.map((key) => {
    const located = locateSlot(key, host);
    if (located === undefined) throw new SubstrateEvmProofError("unsupported_key_length");
    return { key, ...located };
  });
  const values = new Map<Hex, Uint8Array | undefined>();
  for (const [contract, ofContract] of Map.groupBy(slots, (each) => toHex(each.contract))) {
    const [{ contract: address } = { contract: host }] = ofContract;
    const storageRoot = readStorageRoot(proof.mainProof, stateRoot, address);
    const nodes = proof.storageProof.get(contract);
    if (nodes === undefined) throw new SubstrateEvmProofError("incomplete_storage_proof");
    const trieKeys = ofContract.map(({ slot }) => trieSlotKey(slot));
    const found = readTrie("storage_unreadable", { root: storageRoot, nodes, keys: trieKeys });
    for (const [at, { key }] of ofContract.entries()) {
      values.set(toHex(key), found.get(toHex(trieKeys[at] ?? new Uint8Array())));
    }
  }
  if (values.size !== keys.length) throw new SubstrateEvmProofError("duplicate_key");
  return values;
}

/**
 * Reads the id of a contract's child trie.
 * @throws {SubstrateEvmProofError} main_trie_unreadable, account_not_present, account_malformed.
 */
export function readTrieId(
  mainNodes: readonly Uint8Array[],
  stateRoot: Hash256,
  address: Uint8Array,
): Uint8Array {
  const record = readMain(mainNodes, stateRoot, contractRecordKey(address));
  if (record === undefined) throw new SubstrateEvmProofError("account_not_present");
  try {
    return decodeTrieId(record);
  } catch (cause) {
    if (cause instanceof ScaleError) throw new SubstrateEvmProofError("account_malformed", { cause });
    throw cause;
  }
}

/**
 * Reads the root of a contract's child trie.
 * @throws {SubstrateEvmProofError} as {@link readTrieId}, no_storage, storage_root_malformed.
 */
export function readStorageRoot(
  mainNodes: readonly Uint8Array[],
  stateRoot: Hash256,
  address: Uint8Array,
): Hash256 {
  const trieId = readTrieId(mainNodes, stateRoot, address);
  const root = readMain(mainNodes, stateRoot, contractTrieKey(trieId));
  if (root === undefined) throw new SubstrateEvmProofError("no_storage");
  if (root.length !== 32) throw new SubstrateEvmProofError("storage_root_malformed");
  return toHash256(root);
}

function readMain(nodes: readonly Uint8Array[], root: Hash256, key: Uint8Array): Uint8Array | undefined {
  return readTrie("main_trie_unreadable", { root, nodes, keys: [key] }).get(toHex(key));
}

function readTrie(
  code: "main_trie_unreadable" | "storage_unreadable",
  trie: {
    readonly root: Hash256;
    readonly nodes: readonly Uint8Array[];
    readonly keys: readonly Uint8Array[];
  },
): Map<Hex, Uint8Array | undefined> {
  try {
    return readSubstrateProof({ ...trie, hasher: "Blake2" });
  } catch (cause) {
    if (cause instanceof TrieError) throw new SubstrateEvmProofError(code, { cause });
    throw cause;
  }
}
