/**
 * State of Ethereum-type chains as the hub reads it from proofs. The rules are written for the hub alone: a mistake of the
 * relayer's is none of the hub's. Nodes of tries are read by the relayer's reader, which vectors of real chains check.
 * Rules: polytope-labs/hyperbridge: modules/ismp/state-machines/evm/src/lib.rs.
 */

import {
  fromHex,
  type Hash256,
  type Hex,
  keccak256,
  toHash256,
  toHex,
} from "../../../src/core/encoding/bytes.ts";
import type { EvmStateProof } from "../../../src/core/ismp/proof.ts";
import { decodeRlp, readPatricia, type RlpItem } from "../../../src/core/merkle/patricia.ts";
import { TrieNodes } from "../../../src/core/merkle/trie_nodes.ts";
import { ProofRefusal, readTrie } from "./refusals.ts";

function nodesOf(proof: readonly Uint8Array[]): TrieNodes {
  return new TrieNodes(proof, keccak256);
}

function bytesOf(item: RlpItem | undefined): Uint8Array {
  if (item instanceof Uint8Array) return item;
  throw new ProofRefusal("malformed_node");
}

/** The value at a key; `undefined`: the nodes show that there is none. */
function valueAt(nodes: TrieNodes, root: Hash256, key: Uint8Array): Uint8Array | undefined {
  return readTrie(() => readPatricia(nodes, fromHex(root), keccak256(key)));
}

/** Fields of an account, and the place of its storage's root among them. */
const ACCOUNT_FIELDS = 4;
const STORAGE_ROOT_AT = 2;

function accountAt(nodes: TrieNodes, stateRoot: Hash256, address: Uint8Array): {
  readonly rlp: Uint8Array;
  readonly storageRoot: Hash256;
} {
  const rlp = valueAt(nodes, stateRoot, address);
  if (rlp === undefined) throw new ProofRefusal("no_account");
  const fields = readTrie(() => decodeRlp(rlp));
  if (!Array.isArray(fields) || fields.length !== ACCOUNT_FIELDS) throw new ProofRefusal("malformed_node");
  const root = bytesOf(fields[STORAGE_ROOT_AT]);
  if (root.length !== 32) throw new ProofRefusal("malformed_node");
  return { rlp, storageRoot: toHash256(root) };
}

/** Root of an account's storage. @throws {ProofRefusal} also when there is no such account */
export function accountStorageRoot(
  proof: readonly Uint8Array[],
  stateRoot: Hash256,
  address: Uint8Array,
): Hash256 {
  return accountAt(nodesOf(proof), stateRoot, address).storageRoot;
}

/** The word in a slot; `undefined`: the nodes show that there is none. @throws {ProofRefusal} */
export function slotValue(
  proof: readonly Uint8Array[],
  storageRoot: Hash256,
  slot: Uint8Array,
): Uint8Array | undefined {
  const leaf = valueAt(nodesOf(proof), storageRoot, slot);
  if (leaf === undefined) return undefined;
  const value = bytesOf(readTrie(() => decodeRlp(leaf)));
  if (value.length > 32) throw new ProofRefusal("malformed_node");
  return new Uint8Array([...new Uint8Array(32 - value.length), ...value]);
}

/** Where a key is: an account, a slot of a contract, or a slot of the host. */
function placeOf(
  key: Uint8Array,
  host: Uint8Array,
): { readonly contract: Uint8Array; readonly slot?: Uint8Array } {
  switch (key.length) {
    case 20:
      return { contract: key };
    case 32:
      return { contract: host, slot: key };
    case 52:
      return { contract: key.slice(0, 20), slot: key.slice(20) };
    default:
      throw new ProofRefusal("wrong_keys");
  }
}

/** What a proof shows for keys, by their hex. @throws {ProofRefusal} */
export function readEthereumState(
  { stateRoot, host, proof, keys }: {
    readonly stateRoot: Hash256;
    readonly host: Uint8Array;
    readonly proof: EvmStateProof;
    readonly keys: readonly Uint8Array[];
  },
): ReadonlyMap<Hex, Uint8Array | undefined> {
  const places = new Map(keys.map((key) => [toHex(key), placeOf(key, host)]));
  if (places.size !== keys.length) throw new ProofRefusal("wrong_keys");
  const wanted = new Set([...places.values()].flatMap(({ contract, slot }) => slot ? [toHex(contract)] : []));
  const isExact = wanted.size === proof.storageProof.size &&
    [...wanted].every((each) => proof.storageProof.has(each));
  if (!isExact) throw new ProofRefusal("wrong_contracts");
  const accounts = nodesOf(proof.contractProof);
  const storages = new Map([...proof.storageProof].map(([contract, nodes]) => {
    const { storageRoot } = accountAt(accounts, stateRoot, fromHex(contract));
    return [contract, { storageRoot, nodes: nodesOf(nodes) }] as const;
  }));
  return new Map([...places].map(([key, { contract, slot }]) => {
    if (slot === undefined) return [key, accountAt(accounts, stateRoot, contract).rlp] as const;
    const storage = storages.get(toHex(contract));
    if (storage === undefined) throw new ProofRefusal("wrong_contracts");
    return [key, valueAt(storage.nodes, storage.storageRoot, slot)] as const;
  }));
}
