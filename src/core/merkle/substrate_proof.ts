/**
 * Reads keys of a Substrate trie (main or child) from proof nodes.
 */
import type { Hash256, Hex } from "../encoding/bytes.ts";
import { blake2b256, equalBytes, fromHex, keccak256, toHex } from "../encoding/bytes.ts";
import { mapError } from "../encoding/coded_error.ts";
import type { HashAlgorithm } from "../ismp/proof.ts";
import { nibbleAt, sharedLength, toNibbles, TrieError, TrieNodes } from "./trie_nodes.ts";
import { Bytes, compact, createDecoder, u8 } from "scale-ts";

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

/** Children whose byte form is shorter are inlined in their parent; others are referenced by their hash. */
export const HASH_BYTES = 32;

/** Value inside the node, or the hash under which the proof contains it. */
export type NodeValue =
  | { readonly kind: "inline"; readonly bytes: Uint8Array }
  | { readonly kind: "hashed"; readonly hash: Uint8Array };

/** A node; `partial` is the path from its parent in nibbles. */
export type SubstrateTrieNode =
  | { readonly kind: "empty" }
  | { readonly kind: "leaf"; readonly partial: Uint8Array; readonly value: NodeValue }
  | {
    readonly kind: "branch";
    readonly partial: Uint8Array;
    readonly value: NodeValue | undefined;
    /** 16 slots: 32 bytes are the hash of the child, fewer its byte form. */
    readonly children: readonly (Uint8Array | undefined)[];
  };

/** Byte form of the root node of an empty trie. */
export const EMPTY_TRIE_NODE: Uint8Array = Uint8Array.of(0);

/** First bits of a node by kind, and how many bits they take; the other bits start the path length. */
export const HEADERS = {
  leaf: { prefix: 0b0100_0000, bits: 2 },
  branch: { prefix: 0b1000_0000, bits: 2 },
  valueBranch: { prefix: 0b1100_0000, bits: 2 },
  hashedLeaf: { prefix: 0b0010_0000, bits: 3 },
  hashedBranch: { prefix: 0b0001_0000, bits: 4 },
} as const;

/** Kinds of nodes that have a header. */
export type HeaderKind = keyof typeof HEADERS;

/** Maximum path length of a node in nibbles (sp-trie: NIBBLE_SIZE_BOUND). */
export const MAX_PATH_NIBBLES = 65_535;

/** The hash function behind a {@link HashAlgorithm}. */
export function hashFunction(hasher: HashAlgorithm): (data: Uint8Array) => Uint8Array {
  return hasher === "Keccak" ? keccak256 : blake2b256;
}

/**
 * Node of a byte form; layouts V0 and V1, whatever the trie's own. Source: paritytech/polkadot-sdk:
 * substrate/primitives/trie/src/{node_header,node_codec}.rs.
 * @throws {TrieError} malformed_node.
 */
export function decodeSubstrateNode(bytes: Uint8Array): SubstrateTrieNode {
  // A copy: the library reads the whole buffer behind a view.
  return mapError(
    RangeError,
    () => decodeNode(bytes.slice()),
    (cause) => new TrieError("malformed_node", { cause }),
  );
}

const decodeNode = createDecoder((input): SubstrateTrieNode => {
  const node = readNode(input);
  if (Bytes.dec(Infinity)(input).length > 0) throw new TrieError("malformed_node");
  return node;
});

/** @throws {RangeError} where bytes are missing */
function readNode(input: Uint8Array): SubstrateTrieNode {
  const first = u8.dec(input);
  if (first === 0) return { kind: "empty" };
  const kind = headerKind(first);
  const partial = readPartial(input, readPathLength(input, first, HEADERS[kind].bits));
  return kind === "leaf" || kind === "hashedLeaf"
    ? { kind: "leaf", partial, value: readValue(input, kind === "hashedLeaf") }
    : readBranch(input, kind, partial);
}

function headerKind(first: number): HeaderKind {
  switch (first >> 6) {
    case 0b01:
      return "leaf";
    case 0b10:
      return "branch";
    case 0b11:
      return "valueBranch";
  }
  if (first >> 5 === 0b001) return "hashedLeaf";
  if (first >> 4 === 0b0001) return "hashedBranch";
  throw new TrieError("malformed_node");
}

function readPathLength(input: Uint8Array, first: number, prefixBits: number): number {
  const max = 0xff >> prefixBits;
  let length = first & max;
  if (length < max) return length;
  for (;;) {
    const next = u8.dec(input);
    length += next;
    if (length > MAX_PATH_NIBBLES) throw new TrieError("malformed_node");
    if (next < 255) return length;
  }
}

function readPartial(input: Uint8Array, nibbleCount: number): Uint8Array {
  const isOdd = nibbleCount % 2 === 1;
  const nibbles = toNibbles(take(input, (nibbleCount + 1) >> 1));
  if (isOdd && nibbles[0] !== 0) throw new TrieError("malformed_node");
  return isOdd ? nibbles.subarray(1) : nibbles;
}

function readValue(input: Uint8Array, isHashed: boolean): NodeValue {
  return isHashed
    ? { kind: "hashed", hash: take(input, HASH_BYTES) }
    : { kind: "inline", bytes: take(input, compact.dec(input)) };
}

function readBranch(
  input: Uint8Array,
  kind: "branch" | "valueBranch" | "hashedBranch",
  partial: Uint8Array,
): SubstrateTrieNode {
  const bitmap = u8.dec(input) | (u8.dec(input) << 8);
  if (bitmap === 0) throw new TrieError("malformed_node");
  const value = kind === "branch" ? undefined : readValue(input, kind === "hashedBranch");
  const children = Array.from({ length: 16 }, (_, index) => {
    if ((bitmap & (1 << index)) === 0) return undefined;
    const length = compact.dec(input);
    if (length === 0 || length > HASH_BYTES) throw new TrieError("malformed_node");
    return take(input, length);
  });
  return { kind: "branch", partial, value, children };
}

/** Takes bytes from what is left of a node. @param length a bigint where it stands in four bytes or more, as in no node */
function take(input: Uint8Array, length: number | bigint): Uint8Array {
  const taken = Bytes.dec(Number(length))(input);
  if (taken.length !== length) throw new TrieError("malformed_node");
  return taken;
}
