/**
 * The nodes of a proof, found by their hash: order, repetitions and unused nodes do not matter.
 */
import { toHex } from "../encoding/bytes.ts";
import { TrieError } from "./trie_error.ts";

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
