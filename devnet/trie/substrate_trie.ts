/**
 * An immutable Substrate trie: every change gives a new trie that shares all untouched nodes with the old one,
 * so a snapshot is a reference and the root after a change hashes the changed paths only.
 */
import { equalBytes, type Hash256, toHash256, toHex } from "../../src/core/encoding/bytes.ts";
import type { HashAlgorithm } from "../../src/core/ismp/proof.ts";
import { nibbleAt, sharedLength, toNibbles } from "../../src/core/merkle/trie_nodes.ts";
import type { NodeValue } from "../../src/core/merkle/substrate_proof.ts";
import { EMPTY_TRIE_NODE, HASH_BYTES, hashFunction } from "../../src/core/merkle/substrate_proof.ts";
import {
  encodeSubstrateNode,
  HASHED_VALUE_MIN_BYTES,
  packNibbles,
  type TrieLayout,
} from "./substrate_node.ts";

/** Which tries a chain has; the hub: V1 and Keccak. */
export interface TrieKind {
  readonly layout: TrieLayout;
  readonly hasher: HashAlgorithm;
}

/** One node; a leaf has no children, a branch has 16 slots of which at least one is taken. */
class TrieNode {
  /** Cache: what the parent holds for this node, its hash or its byte form when under 32 bytes. */
  reference: Uint8Array | undefined;

  constructor(
    readonly partial: Uint8Array,
    readonly value: Uint8Array | undefined,
    readonly children: readonly (TrieNode | undefined)[] | undefined,
  ) {}
}

/** A map from byte keys to byte values with a Substrate trie root and read proofs. */
export class SubstrateTrie {
  readonly kind: TrieKind;
  /** Number of keys. */
  readonly size: number;
  readonly #root: TrieNode | undefined;
  readonly #hash: (data: Uint8Array) => Uint8Array;
  #rootHash: Hash256 | undefined;

  private constructor(kind: TrieKind, root: TrieNode | undefined, size: number) {
    this.kind = kind;
    this.size = size;
    this.#root = root;
    this.#hash = hashFunction(kind.hasher);
  }

  /** A trie without keys. */
  static empty(kind: TrieKind): SubstrateTrie {
    return new SubstrateTrie(kind, undefined, 0);
  }

  /** A trie of these entries; a later entry replaces an earlier one with the same key. */
  static from(kind: TrieKind, entries: Iterable<readonly [Uint8Array, Uint8Array]>): SubstrateTrie {
    let trie = SubstrateTrie.empty(kind);
    for (const [key, value] of entries) trie = trie.set(key, value);
    return trie;
  }

  /** The value under `key`; not to be changed by the caller. */
  get(key: Uint8Array): Uint8Array | undefined {
    let node = this.#root;
    let path = toNibbles(key);
    while (node !== undefined) {
      const shared = sharedLength(node.partial, path);
      if (shared < node.partial.length) return undefined;
      if (shared === path.length) return node.value;
      node = node.children?.[nibbleAt(path, shared)];
      path = path.subarray(shared + 1);
    }
    return undefined;
  }

  /** A trie in which `key` has `value` (copied; may be empty); this trie itself when it already has. */
  set(key: Uint8Array, value: Uint8Array): SubstrateTrie {
    const previous = this.get(key);
    if (previous !== undefined && equalBytes(previous, value)) return this;
    const root = insert(this.#root, toNibbles(key), value.slice());
    return new SubstrateTrie(this.kind, root, previous === undefined ? this.size + 1 : this.size);
  }

  /** A trie without `key`; this trie itself when there is no such key. */
  delete(key: Uint8Array): SubstrateTrie {
    if (this.#root === undefined || this.get(key) === undefined) return this;
    return new SubstrateTrie(this.kind, remove(this.#root, toNibbles(key)), this.size - 1);
  }

  /** Keys that start with `prefix` and their values, keys rising. */
  *entries(prefix: Uint8Array = new Uint8Array()): Generator<[key: Uint8Array, value: Uint8Array]> {
    const wanted = toNibbles(prefix);
    if (this.#root !== undefined) yield* walk(this.#root, new Uint8Array(), wanted);
  }

  /** Hash of the root node; for no keys the hash of the byte 0. */
  root(): Hash256 {
    this.#rootHash ??= toHash256(this.#hash(this.#encodeRoot()));
    return this.#rootHash;
  }

  /**
   * Read proof of keys, present or absent: the nodes on each path, root first, and the raw bytes of values that
   * are stored by hash; each once. Children inside their parent are no elements of their own.
   */
  prove(keys: Iterable<Uint8Array>): Uint8Array[] {
    const proof = new Map<string, Uint8Array>();
    const add = (bytes: Uint8Array): unknown => proof.set(toHex(bytes), bytes);
    const seen = new Set<TrieNode>();
    add(this.#encodeRoot());
    for (const key of keys) this.#visit(toNibbles(key), seen, add);
    return [...proof.values()];
  }

  /** Hands `add` what the proof of one path needs below the root. */
  #visit(key: Uint8Array, seen: Set<TrieNode>, add: (bytes: Uint8Array) => unknown): void {
    let node = this.#root;
    let path = key;
    while (node !== undefined) {
      if (node !== this.#root && !seen.has(node) && this.#reference(node).length === HASH_BYTES) {
        add(this.#encode(node));
      }
      seen.add(node);
      const shared = sharedLength(node.partial, path);
      if (shared < node.partial.length) return;
      if (shared === path.length) {
        if (node.value !== undefined && this.#isHashed(node.value)) add(node.value);
        return;
      }
      node = node.children?.[nibbleAt(path, shared)];
      path = path.subarray(shared + 1);
    }
  }

  #encodeRoot(): Uint8Array {
    return this.#root === undefined ? EMPTY_TRIE_NODE : this.#encode(this.#root);
  }

  #encode(node: TrieNode): Uint8Array {
    const { partial } = node;
    const value = node.value === undefined ? undefined : this.#nodeValue(node.value);
    if (node.children !== undefined) {
      const children = node.children.map((child) => child === undefined ? undefined : this.#reference(child));
      return encodeSubstrateNode({ kind: "branch", partial, value, children });
    }
    if (value === undefined) throw new Error("A leaf of the trie has no value");
    return encodeSubstrateNode({ kind: "leaf", partial, value });
  }

  #reference(node: TrieNode): Uint8Array {
    if (node.reference === undefined) {
      const bytes = this.#encode(node);
      node.reference = bytes.length < HASH_BYTES ? bytes : this.#hash(bytes);
    }
    return node.reference;
  }

  #nodeValue(bytes: Uint8Array): NodeValue {
    return this.#isHashed(bytes) ? { kind: "hashed", hash: this.#hash(bytes) } : { kind: "inline", bytes };
  }

  #isHashed(value: Uint8Array): boolean {
    return this.kind.layout === "V1" && value.length >= HASHED_VALUE_MIN_BYTES;
  }
}

function insert(node: TrieNode | undefined, path: Uint8Array, value: Uint8Array): TrieNode {
  if (node === undefined) return new TrieNode(path, value, undefined);
  const shared = sharedLength(node.partial, path);
  if (shared < node.partial.length) return split(node, shared, path, value);
  if (shared === path.length) return new TrieNode(node.partial, value, node.children);
  const index = nibbleAt(path, shared);
  const child = insert(node.children?.[index], path.subarray(shared + 1), value);
  return new TrieNode(node.partial, node.value, withChild(node.children, index, child));
}

/** Puts a branch where `path` leaves the way to `node` after `shared` nibbles. */
function split(node: TrieNode, shared: number, path: Uint8Array, value: Uint8Array): TrieNode {
  const lower = new TrieNode(node.partial.subarray(shared + 1), node.value, node.children);
  const children = withChild(undefined, nibbleAt(node.partial, shared), lower);
  if (shared === path.length) return new TrieNode(path, value, children);
  const leaf = new TrieNode(path.subarray(shared + 1), value, undefined);
  const both = withChild(children, nibbleAt(path, shared), leaf);
  return new TrieNode(path.subarray(0, shared), undefined, both);
}

/** The node without `path`, which is there; `undefined` when nothing is left of it. */
function remove(node: TrieNode, path: Uint8Array): TrieNode | undefined {
  const depth = node.partial.length;
  if (path.length === depth) return collapse(node.partial, undefined, node.children);
  const index = nibbleAt(path, depth);
  const child = node.children?.[index];
  if (child === undefined) throw new Error("The key to remove is not in the trie");
  const children = withChild(node.children, index, remove(child, path.subarray(depth + 1)));
  return collapse(node.partial, node.value, children);
}

/** The least node for these parts: none, a leaf, a branch, or the only child moved up. */
function collapse(
  partial: Uint8Array,
  value: Uint8Array | undefined,
  children: readonly (TrieNode | undefined)[] | undefined,
): TrieNode | undefined {
  const taken = (children ?? []).flatMap((child, index) => child === undefined ? [] : [{ child, index }]);
  const [only] = taken;
  if (only === undefined) return value === undefined ? undefined : new TrieNode(partial, value, undefined);
  if (value !== undefined || taken.length > 1) return new TrieNode(partial, value, children);
  const joined = joinPath(partial, only.index, only.child.partial);
  return new TrieNode(joined, only.child.value, only.child.children);
}

function withChild(
  children: readonly (TrieNode | undefined)[] | undefined,
  index: number,
  child: TrieNode | undefined,
): (TrieNode | undefined)[] {
  const copy: (TrieNode | undefined)[] = children?.slice() ?? Array.from({ length: 16 });
  copy[index] = child;
  return copy;
}

function* walk(
  node: TrieNode,
  above: Uint8Array,
  wanted: Uint8Array,
): Generator<[key: Uint8Array, value: Uint8Array]> {
  const path = Uint8Array.of(...above, ...node.partial);
  if (sharedLength(path, wanted) < Math.min(path.length, wanted.length)) return;
  if (node.value !== undefined && path.length >= wanted.length) yield [packNibbles(path), node.value];
  for (const [index, child] of (node.children ?? []).entries()) {
    if (child !== undefined) yield* walk(child, Uint8Array.of(...path, index), wanted);
  }
}

function joinPath(above: Uint8Array, index: number, below: Uint8Array): Uint8Array {
  return Uint8Array.of(...above, index, ...below);
}
