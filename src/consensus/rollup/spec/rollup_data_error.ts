/**
 * Contradictions between data of an L1 and of a rollup node.
 */

/** Relation that does not hold. */
export type RollupDataErrorCode =
  /** A log has the topic of the event but does not match its ABI. */
  | "malformed_event"
  /** The result of a contract call does not match its ABI. */
  | "malformed_result"
  /** The block is not the one that the claim is about. */
  | "wrong_block"
  /** The claim does not follow from the rollup's own block. */
  | "false_claim";

/** Contradictory data: a false claim, or a faulty or dishonest node. */
export class RollupDataError extends Error {
  override readonly name = "RollupDataError";

  constructor(readonly code: RollupDataErrorCode, options?: ErrorOptions) {
    super(`Rollup data refused: ${code}`, options);
  }
}
