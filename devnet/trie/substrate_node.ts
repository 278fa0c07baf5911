/** Encodes nodes of Substrate tries; the programs only read them. */
import { compact } from "scale-ts";
import { concatBytes } from "../../src/core/encoding/bytes.ts";
import type { HeaderKind, NodeValue, SubstrateTrieNode } from "../../src/core/merkle/substrate_proof.ts";
import { EMPTY_TRIE_NODE, HEADERS, MAX_PATH_NIBBLES } from "../../src/core/merkle/substrate_proof.ts";

/**
 * Bytes of a path.
 * @param nibbles an odd count gets a zero nibble in front.
 */
export function packNibbles(nibbles: Uint8Array): Uint8Array {
  const odd = nibbles.length % 2;
  const bytes = new Uint8Array((nibbles.length + odd) / 2);
  nibbles.forEach((nibble, index) => {
    const at = (index + odd) >> 1;
    bytes[at] = ((bytes[at] ?? 0) << 4) | nibble;
  });
  return bytes;
}

/** Layout of a trie: V1 (state version 1) stores long values by hash, V0 never does. */
export type TrieLayout = "V0" | "V1";

/** Layout V1 stores values of this many bytes and more by hash (sp-trie: TRIE_VALUE_NODE_THRESHOLD). */
export const HASHED_VALUE_MIN_BYTES = 33;

/**
 * Byte form of a node.
 * @throws {RangeError} for a path over 65,535 nibbles.
 */
export function encodeSubstrateNode(node: SubstrateTrieNode): Uint8Array {
  switch (node.kind) {
    case "empty":
      return EMPTY_TRIE_NODE;
    case "leaf": {
      const kind = node.value.kind === "hashed" ? "hashedLeaf" : "leaf";
      return concatBytes(
        encodeHeader(kind, node.partial),
        packNibbles(node.partial),
        encodeValue(node.value),
      );
    }
    case "branch":
      return concatBytes(
        encodeHeader(branchHeader(node.value), node.partial),
        packNibbles(node.partial),
        encodeBitmap(node.children),
        encodeValue(node.value),
        ...node.children.flatMap((child) => child === undefined ? [] : [encodeBytes(child)]),
      );
  }
}

/** Bytes with their SCALE compact length in front. */
function encodeBytes(bytes: Uint8Array): Uint8Array {
  return concatBytes(compact.enc(bytes.length), bytes);
}

function encodeValue(value: NodeValue | undefined): Uint8Array {
  if (value === undefined) return new Uint8Array();
  return value.kind === "hashed" ? value.hash : encodeBytes(value.bytes);
}

function encodeBitmap(children: readonly (Uint8Array | undefined)[]): Uint8Array {
  const bitmap = children.reduce((bits, child, index) => child === undefined ? bits : bits | (1 << index), 0);
  return Uint8Array.of(bitmap & 0xff, bitmap >> 8);
}

function branchHeader(value: NodeValue | undefined): HeaderKind {
  if (value === undefined) return "branch";
  return value.kind === "hashed" ? "hashedBranch" : "valueBranch";
}

/** Prefix and path length: the free bits hold it up to their maximum - 1, the rest follows in steps of 255. */
function encodeHeader(kind: HeaderKind, partial: Uint8Array): Uint8Array {
  if (partial.length > MAX_PATH_NIBBLES) throw new RangeError("Path of a trie node is too long");
  const { prefix, bits } = HEADERS[kind];
  const max = 0xff >> bits;
  if (partial.length < max) return Uint8Array.of(prefix | partial.length);
  const bytes = [prefix | max];
  let rest = partial.length - max;
  for (; rest >= 255; rest -= 255) bytes.push(255);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}
