/**
 * Errors of reading a trie from proof nodes, shared by the Ethereum and the Substrate trie.
 */

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
export class TrieError extends Error {
  override readonly name = "TrieError";

  constructor(readonly code: TrieErrorCode, options?: ErrorOptions) {
    super(`Trie proof refused: ${code}`, options);
  }
}
