/**
 * Reads keys of a Substrate trie (main or child) from proof nodes.
 */
import type { Hash256, Hex } from "../encoding/bytes.ts";
import { blake2b256, equalBytes, fromHex, keccak256, toHex } from "../encoding/bytes.ts";
import type { HashAlgorithm } from "../ismp/proof.ts";
import { nibbleAt, sharedLength, toNibbles, TrieError, TrieNodes } from "./trie_nodes.ts";

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
  const reader = new NodeReader(bytes);
  const first = reader.byte();
  if (first === 0) {
    reader.finish();
    return { kind: "empty" };
  }
  const kind = headerKind(first);
  const partial = readPartial(reader, readPathLength(reader, first, HEADERS[kind].bits));
  const node = kind === "leaf" || kind === "hashedLeaf"
    ? { kind: "leaf", partial, value: readValue(reader, kind === "hashedLeaf") } as const
    : readBranch(reader, kind, partial);
  reader.finish();
  return node;
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

function readPathLength(reader: NodeReader, first: number, prefixBits: number): number {
  const max = 0xff >> prefixBits;
  let length = first & max;
  if (length < max) return length;
  for (;;) {
    const next = reader.byte();
    length += next;
    if (length > MAX_PATH_NIBBLES) throw new TrieError("malformed_node");
    if (next < 255) return length;
  }
}

function readPartial(reader: NodeReader, nibbleCount: number): Uint8Array {
  const isOdd = nibbleCount % 2 === 1;
  const nibbles = toNibbles(reader.take((nibbleCount + 1) >> 1));
  if (isOdd && nibbles[0] !== 0) throw new TrieError("malformed_node");
  return isOdd ? nibbles.subarray(1) : nibbles;
}

function readValue(reader: NodeReader, isHashed: boolean): NodeValue {
  return isHashed
    ? { kind: "hashed", hash: reader.take(HASH_BYTES) }
    : { kind: "inline", bytes: reader.take(reader.compactLength()) };
}

function readBranch(
  reader: NodeReader,
  kind: "branch" | "valueBranch" | "hashedBranch",
  partial: Uint8Array,
): SubstrateTrieNode {
  const bitmap = reader.byte() | (reader.byte() << 8);
  if (bitmap === 0) throw new TrieError("malformed_node");
  const value = kind === "branch" ? undefined : readValue(reader, kind === "hashedBranch");
  const children = Array.from({ length: 16 }, (_, index) => {
    if ((bitmap & (1 << index)) === 0) return undefined;
    const length = reader.compactLength();
    if (length === 0 || length > HASH_BYTES) throw new TrieError("malformed_node");
    return reader.take(length);
  });
  return { kind: "branch", partial, value, children };
}

/** Reads bytes from the front of a node; missing bytes are `malformed_node`. */
class NodeReader {
  readonly #bytes: Uint8Array;
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  byte(): number {
    const byte = this.#bytes[this.#offset++];
    if (byte === undefined) throw new TrieError("malformed_node");
    return byte;
  }

  take(length: number): Uint8Array {
    const end = this.#offset + length;
    if (end > this.#bytes.length) throw new TrieError("malformed_node");
    const taken = this.#bytes.subarray(this.#offset, end);
    this.#offset = end;
    return taken;
  }

  /** A SCALE compact length below 2^30, which no node exceeds. */
  compactLength(): number {
    const first = this.byte();
    switch (first & 0b11) {
      case 0b00:
        return first >> 2;
      case 0b01:
        return (first >> 2) | (this.byte() << 6);
      case 0b10:
        return (first >> 2) | (this.byte() << 6) | (this.byte() << 14) | (this.byte() << 22);
      default:
        throw new TrieError("malformed_node");
    }
  }

  finish(): void {
    if (this.#offset !== this.#bytes.length) throw new TrieError("malformed_node");
  }
}
