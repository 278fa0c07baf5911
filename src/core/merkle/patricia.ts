/**
 * Reads one key of an Ethereum Merkle-Patricia trie from proof nodes (Yellow Paper, appendix D).
 *
 * Own implementation on top of @ethereumjs/rlp: @ethereumjs/mpt is asynchronous only, folds every failure into one
 * text, and reads an environment variable.
 */
import { RLP } from "@ethereumjs/rlp";
import { equalBytes, keccak256 } from "../encoding/bytes.ts";
import { mapError } from "../encoding/coded_error.ts";
import { nibbleAt, sharedLength, toNibbles, TrieError, type TrieNodes } from "./trie_nodes.ts";

/** RLP of an item: bytes or a list of items. */
export type RlpItem = Uint8Array | RlpItem[];

/** The one node of an empty trie: RLP of the empty string. Its hash is the empty root. */
export const EMPTY_NODE: Uint8Array = Uint8Array.of(0x80);

/** Root of an empty trie, `0x56e81f17...b421`. */
export const EMPTY_ROOT: Uint8Array = keccak256(EMPTY_NODE);

type PatriciaNode =
  | { readonly kind: "empty" }
  | { readonly kind: "leaf"; readonly partial: Uint8Array; readonly value: Uint8Array }
  | { readonly kind: "extension"; readonly partial: Uint8Array; readonly child: RlpItem }
  | { readonly kind: "branch"; readonly children: readonly RlpItem[]; readonly value: Uint8Array };

/**
 * The value stored under `key` below `root`, or `undefined` when the nodes show that there is none.
 *
 * As on the hub, an empty trie is readable only if the proof contains its one node `0x80` (polytope-labs/hyperbridge:
 * modules/trees/ethereum, whose node database knows no empty root by itself). Children under 32 bytes are inlined in
 * their parent; the hub refuses those, but under hashed keys none exist.
 * @param key path of the trie, for state and storage already hashed.
 * @throws {TrieError} missing_root, missing_node, malformed_node.
 */
export function readPatricia(bag: TrieNodes, root: Uint8Array, key: Uint8Array): Uint8Array | undefined {
  let node = parseNode(bag.find(root, "missing_root"));
  let path = toNibbles(key);
  for (;;) {
    switch (node.kind) {
      case "empty":
        return undefined;
      case "leaf":
        return equalBytes(node.partial, path) ? node.value : undefined;
      case "extension":
        if (sharedLength(node.partial, path) < node.partial.length) return undefined;
        path = path.subarray(node.partial.length);
        node = resolveChild(bag, node.child);
        break;
      case "branch": {
        if (path.length === 0) return node.value.length === 0 ? undefined : node.value;
        const child: RlpItem | undefined = node.children[nibbleAt(path, 0)];
        if (child === undefined || child.length === 0) return undefined;
        path = path.subarray(1);
        node = resolveChild(bag, child);
      }
    }
  }
}

/**
 * RLP decoding of a whole array.
 * @throws {TrieError} malformed_node.
 */
export function decodeRlp(bytes: Uint8Array): RlpItem {
  return mapError(Error, () => RLP.decode(bytes), (cause) => new TrieError("malformed_node", { cause }));
}

function resolveChild(bag: TrieNodes, child: RlpItem): PatriciaNode {
  if (Array.isArray(child)) return shapeNode(child);
  if (child.length !== 32) throw new TrieError("malformed_node");
  return parseNode(bag.find(child, "missing_node"));
}

/** Nodes that were parsed, by their bytes: all keys of a proof share the first ones. */
const parsedNodes = new WeakMap<Uint8Array, PatriciaNode>();

function parseNode(bytes: Uint8Array): PatriciaNode {
  const known = parsedNodes.get(bytes);
  if (known !== undefined) return known;
  const node = shapeNode(decodeRlp(bytes));
  parsedNodes.set(bytes, node);
  return node;
}

function shapeNode(item: RlpItem): PatriciaNode {
  if (!Array.isArray(item)) {
    if (item.length === 0) return { kind: "empty" };
    throw new TrieError("malformed_node");
  }
  const [first, second] = item;
  if (item.length === 17) return { kind: "branch", children: item.slice(0, 16), value: bytesOf(item[16]) };
  if (item.length !== 2 || first === undefined || second === undefined) {
    throw new TrieError("malformed_node");
  }
  const { partial, isLeaf } = decodeHexPrefix(bytesOf(first));
  if (isLeaf) return { kind: "leaf", partial, value: bytesOf(second) };
  if (partial.length === 0) throw new TrieError("malformed_node");
  return { kind: "extension", partial, child: second };
}

/** Hex-prefix encoding: flag nibble (2 = leaf, 1 = odd length), a zero nibble if even, then the path. */
function decodeHexPrefix(encoded: Uint8Array): { partial: Uint8Array; isLeaf: boolean } {
  const nibbles = toNibbles(encoded);
  const flag = nibbles[0];
  if (flag === undefined || flag > 3) throw new TrieError("malformed_node");
  const isOdd = flag % 2 === 1;
  if (!isOdd && nibbles[1] !== 0) throw new TrieError("malformed_node");
  return { partial: nibbles.subarray(isOdd ? 1 : 2), isLeaf: flag >= 2 };
}

function bytesOf(item: RlpItem | undefined): Uint8Array {
  if (item === undefined || Array.isArray(item)) throw new TrieError("malformed_node");
  return item;
}
