/**
 * Reads keys of a Substrate trie (main or child) from proof nodes.
 */
import { equalBytes, fromHex, type Hash256, type Hex, toHex } from "../encoding/bytes.ts";
import type { HashAlgorithm } from "../ismp/proof.ts";
import { nibbleAt, sharedLength, toNibbles } from "./nibbles.ts";
import { TrieNodes } from "./trie_nodes.ts";
import {
  decodeSubstrateNode,
  EMPTY_TRIE_NODE,
  HASH_BYTES,
  hashFunction,
  type NodeValue,
} from "./substrate_node.ts";

/**
 * Reads the values of `keys` below `root`, as the verifiers of the protocol read it (polytope-labs/hyperbridge:
 * modules/ismp/state-machines/substrate): both layouts, nodes in any order, unused ones allowed, an empty trie
 * readable without nodes.
 * @param options.nodes nodes and, for values stored by hash, the raw values.
 * @param options.keys raw trie keys, for the ISMP child trie prefix ++ commitment.
 * @returns by hex of the key: the value, or `undefined` when the nodes show that there is none.
 * @throws {TrieError} missing_root, missing_node, missing_value, malformed_node.
 */
export function readSubstrateProof(
  options: {
    readonly root: Hash256;
    readonly hasher: HashAlgorithm;
    readonly nodes: Iterable<Uint8Array>;
    readonly keys: Iterable<Uint8Array>;
  },
): Map<Hex, Uint8Array | undefined> {
  const bag = new TrieNodes([EMPTY_TRIE_NODE, ...options.nodes], hashFunction(options.hasher));
  const root = fromHex(options.root);
  const values = new Map<Hex, Uint8Array | undefined>();
  for (const key of options.keys) values.set(toHex(key), readKey(bag, root, toNibbles(key)));
  return values;
}

function readKey(bag: TrieNodes, root: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  let bytes = bag.find(root, "missing_root");
  let path = key;
  for (;;) {
    const node = decodeSubstrateNode(bytes);
    if (node.kind === "empty") return undefined;
    if (node.kind === "leaf") {
      return equalBytes(node.partial, path) ? resolveValue(bag, node.value) : undefined;
    }
    if (sharedLength(node.partial, path) < node.partial.length) return undefined;
    if (path.length === node.partial.length) return resolveValue(bag, node.value);
    const child = node.children[nibbleAt(path, node.partial.length)];
    if (child === undefined) return undefined;
    path = path.subarray(node.partial.length + 1);
    bytes = child.length === HASH_BYTES ? bag.find(child, "missing_node") : child;
  }
}

function resolveValue(bag: TrieNodes, value: NodeValue | undefined): Uint8Array | undefined {
  if (value === undefined) return undefined;
  return value.kind === "inline" ? value.bytes : bag.find(value.hash, "missing_value");
}
