/** Refusals of the parachain client, one code per rule. */

/**
 * Rule that a proof breaks. Source: polytope-labs/hyperbridge: modules/ismp/clients/parachain/client/src/consensus.rs.
 */
export type ParachainErrorCode =
  /** Not the SCALE form of a proof. */
  | "undecodable_message"
  /** The verifying chain is not a parachain, so it knows no relay chain. */
  | "not_a_parachain"
  /** The nodes do not belong to the relay chain's state. */
  | "heads_proof"
  /** The nodes do not lead to the head: the client skips that parachain. */
  | "head_missing"
  /** The head is not a header. */
  | "undecodable_header"
  /** Polkadot Hub, whose headers are dated by their slots, without a slot duration on the verifying chain. */
  | "slot_duration_missing"
  /** The header has no timestamp, and none follows from its slot. */
  | "timestamp_missing";

/** A proof that the client refuses. */
export class ParachainError extends Error {
  override readonly name = "ParachainError";

  constructor(readonly code: ParachainErrorCode, options?: ErrorOptions) {
    super(`Parachain proof refused: ${code}`, options);
  }
}
