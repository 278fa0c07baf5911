/** Why the hub's own readers of proofs and updates refuse one, and how an error becomes another. */
import { TrieError } from "../../../src/core/merkle/trie_nodes.ts";

/** A proof that does not show what it is said to show. */
export class ProofRefusal extends Error {
  override readonly name = "ProofRefusal";

  constructor(
    readonly code:
      /** A node on the way from the root to the key did not come along. */
      | "missing_node"
      /** A node is none. */
      | "malformed_node"
      /** The proof has not exactly the contracts that the keys are of. */
      | "wrong_contracts"
      /** The contract has no account. */
      | "no_account"
      /** Keys are of a wrong length, or twice there. */
      | "wrong_keys",
    options?: ErrorOptions,
  ) {
    super(`Proof refused: ${code}`, options);
  }
}

/** Reads nodes of a proof. @throws {ProofRefusal} instead of the reader's own error. */
export function readTrie<T>(read: () => T): T {
  const refusal = (cause: TrieError): Error =>
    new ProofRefusal(cause.code === "malformed_node" ? cause.code : "missing_node", { cause });
  return converted(TrieError, refusal, read);
}

/** An update that a consensus client does not accept; `code` is the network's own name of the error. */
export class ClientRefusal<Code extends string = string> extends Error {
  override readonly name = "ClientRefusal";

  constructor(readonly code: Code, options?: ErrorOptions) {
    super(`Update refused: ${code}`, options);
  }
}

/** @throws {ClientRefusal} unless it is so. */
export function require<Code extends string>(isMet: boolean, code: Code): asserts isMet {
  if (!isMet) throw new ClientRefusal(code);
}

/** The result of `read`; an error of class `from` becomes the one that `to` makes (or throws), others stay. */
export function converted<T, E extends Error>(
  from: abstract new (...args: never[]) => E,
  to: (cause: E) => Error,
  read: () => T,
): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof from ? to(cause) : cause;
  }
}
