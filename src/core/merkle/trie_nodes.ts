/**
 * The nodes of a proof, found by their hash: order, repetitions and unused nodes do not matter.
 */
import { CodedError } from "../encoding/coded_error.ts";
import { toHex } from "../encoding/bytes.ts";

/** Nodes (and raw values) of one trie proof by hash. Hashes every node once when created. */
export class TrieNodes {
  readonly #byHash = new Map<string, Uint8Array>();

  /** @param hash the hash function of the trie. */
  constructor(nodes: Iterable<Uint8Array>, hash: (data: Uint8Array) => Uint8Array) {
    for (const node of nodes) this.#byHash.set(toHex(hash(node)), node);
  }

  /**
   * The bytes with this hash.
   * @param code error code for their absence.
   * @throws {TrieError} with that code.
   */
  find(hash: Uint8Array, code: "missing_root" | "missing_node" | "missing_value"): Uint8Array {
    const node = this.#byHash.get(toHex(hash));
    if (node === undefined) throw new TrieError(code);
    return node;
  }
}

/** The nibbles of `bytes`. */
export function toNibbles(bytes: Uint8Array): Uint8Array {
  const nibbles = new Uint8Array(bytes.length * 2);
  let at = 0;
  for (const byte of bytes) {
    nibbles[at++] = byte >> 4;
    nibbles[at++] = byte & 0x0f;
  }
  return nibbles;
}

/** Number of leading nibbles that `a` and `b` share. */
export function sharedLength(a: Uint8Array, b: Uint8Array): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}

/**
 * The nibble at `index`.
 * @throws {RangeError} beyond the end of the path.
 */
export function nibbleAt(path: Uint8Array, index: number): number {
  const nibble = path[index];
  if (nibble === undefined) throw new RangeError("Path is too short");
  return nibble;
}

/** Problem of the proof nodes. */
export type TrieErrorCode =
  /** No node has the root as its hash: wrong root, empty proof, or the first node was changed. */
  | "missing_root"
  /** The path leads to a node that the proof does not contain (dropped, changed or cut). */
  | "missing_node"
  /** The leaf names a value by its hash and the proof does not contain that value (Substrate layout V1). */
  | "missing_value"
  /** A node has the right hash but is not a node of this kind of trie. */
  | "malformed_node";

/** Trie proof that does not decide the value of a key. */
export class TrieError extends CodedError<TrieErrorCode> {
  override readonly name = "TrieError";
}
