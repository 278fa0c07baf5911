/**
 * The ways in which pieces of an L1 and a rollup node do not fit together.
 */

/** Which relation between the pieces does not hold. */
export type RollupDataErrorCode =
  /** A log has the topic of the event and not its shape. */
  | "malformed_event"
  /** The answer of a contract call has not its shape. */
  | "malformed_result"
  /** The block is not the one that the claim is about. */
  | "wrong_block"
  /** The claim is not true: it is not what follows from the rollup's own block. */
  | "false_claim";

/** Pieces that contradict one another: a claim that is not true, or a node that is broken or lies. */
export class RollupDataError extends Error {
  override readonly name = "RollupDataError";

  constructor(readonly code: RollupDataErrorCode, options?: ErrorOptions) {
    super(`Rollup data refused: ${code}`, options);
  }
}
