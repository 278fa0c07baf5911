/** The ways in which the parachain client refuses a proof, one code per rule. */

/** Which rule a proof breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs. */
export type ParachainErrorCode =
  /** Not the SCALE form of a proof. */
  | "undecodable_message"
  /** Polkadot Hub: stored as an EVM chain and dated by its slots, which nothing here does yet. */
  | "polkadot_hub"
  /** Only parachains know the relay chain. */
  | "not_a_parachain"
  /** The nodes are not of the relay chain's state. */
  | "heads_proof"
  /** The nodes do not lead to the head: the client passes over that parachain. */
  | "head_missing"
  /** The head is not a header. */
  | "undecodable_header"
  /** The header tells no time. */
  | "timestamp_missing";

/** A proof that the client refuses. */
export class ParachainError extends Error {
  override readonly name = "ParachainError";

  constructor(readonly code: ParachainErrorCode, options?: ErrorOptions) {
    super(`Parachain proof refused: ${code}`, options);
  }
}
