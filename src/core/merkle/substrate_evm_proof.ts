/**
 * State proofs of EVM contracts on Substrate chains, read with the hub's rules: the main trie proves the record of each
 * contract and the root of its child trie, and the child trie its slots. All tries hash with BLAKE2. The proof and its
 * SCALE form are in `../ismp/proof.ts`. Source: polytope-labs/hyperbridge:
 * modules/ismp/state-machines/evm/src/substrate_evm.rs.
 */
import { fromHex, type Hash256, type Hex, toHash256, toHex } from "../encoding/bytes.ts";
import { mapError } from "../encoding/coded_error.ts";
import { ScaleError } from "../encoding/scale.ts";
import type { SubstrateEvmProof } from "../ismp/proof.ts";
import {
  contractRecordKey,
  contractTrieKey,
  decodeTrieId,
  trieSlotKey,
} from "../substrate/contract_state.ts";
import { EvmProofError, groupKeys } from "./evm_proof.ts";
import { readSubstrateProof } from "./substrate_proof.ts";
import { TrieError } from "./trie_nodes.ts";

/**
 * Reads the values of `keys` in `proof`. Storage of contracts that no key requests is ignored.
 * @param options.host 20-byte address of the ISMP host contract.
 * @returns by hex of the key: the word in the slot, `undefined` for an empty slot.
 * @throws {EvmProofError} any code.
 */
export function readSubstrateEvmState(
  options: {
    readonly stateRoot: Hash256;
    readonly host: Uint8Array;
    readonly proof: SubstrateEvmProof;
    readonly keys: readonly Uint8Array[];
  },
): Map<Hex, Uint8Array | undefined> {
  const { stateRoot, proof } = options;
  const { slots, accounts } = groupKeys(options.keys, options.host);
  if (accounts.length > 0) throw new EvmProofError("unsupported_key_length");
  const values = new Map<Hex, Uint8Array | undefined>();
  for (const [contract, ofContract] of slots) {
    const storageRoot = readStorageRoot(proof.mainProof, stateRoot, fromHex(contract));
    const nodes = proof.storageProof.get(contract);
    if (nodes === undefined) throw new EvmProofError("incomplete_storage_proof");
    const trieKeys = ofContract.map(({ slot }) => trieSlotKey(slot));
    const found = readTrie("storage_unreadable", { root: storageRoot, nodes, keys: trieKeys });
    for (const [at, { key }] of ofContract.entries()) {
      values.set(toHex(key), found.get(toHex(trieKeys[at] ?? new Uint8Array())));
    }
  }
  return values;
}

/**
 * Reads the id of a contract's child trie.
 * @throws {EvmProofError} main_trie_unreadable, account_not_present, account_malformed.
 */
export function readTrieId(
  mainNodes: readonly Uint8Array[],
  stateRoot: Hash256,
  address: Uint8Array,
): Uint8Array {
  const record = readMain(mainNodes, stateRoot, contractRecordKey(address));
  if (record === undefined) throw new EvmProofError("account_not_present");
  return mapError(
    ScaleError,
    () => decodeTrieId(record),
    (cause) => new EvmProofError("account_malformed", { cause }),
  );
}

/**
 * Reads the root of a contract's child trie.
 * @throws {EvmProofError} as {@link readTrieId}, no_storage, storage_root_malformed.
 */
export function readStorageRoot(
  mainNodes: readonly Uint8Array[],
  stateRoot: Hash256,
  address: Uint8Array,
): Hash256 {
  const trieId = readTrieId(mainNodes, stateRoot, address);
  const root = readMain(mainNodes, stateRoot, contractTrieKey(trieId));
  if (root === undefined) throw new EvmProofError("no_storage");
  if (root.length !== 32) throw new EvmProofError("storage_root_malformed");
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
  return mapError(
    TrieError,
    () => readSubstrateProof({ ...trie, hasher: "Blake2" }),
    (cause) => new EvmProofError(code, { cause }),
  );
}
