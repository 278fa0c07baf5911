/** Why the hub's own readers of proofs take one not. */

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
      /** A value that must be there is not. */
      | "no_value"
      /** Keys are of a wrong length, or twice there. */
      | "wrong_keys",
    options?: ErrorOptions,
  ) {
    super(`Proof refused: ${code}`, options);
  }
}
