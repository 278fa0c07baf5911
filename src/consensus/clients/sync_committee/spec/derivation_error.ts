/**
 * Contradictions between data of beacon nodes.
 */

/** Relation that does not hold. */
export type DerivationErrorCode =
  /** A branch has a wrong number of nodes for the fork of its state. */
  | "branch_length"
  /** The first node of a finality branch is no number, or another branch than that of a checkpoint root was given. */
  | "not_an_epoch"
  /** The execution header, or the hash of it, is not the one in the body of the beacon block. */
  | "execution_header"
  /** Two committees are not those under the branch of the finalized checkpoint. */
  | "committee_pair"
  /** The nodes beside the payload header do not lead to the state's root. */
  | "state_root"
  /** The bytes are not the start of a state of the fork and slot expected. */
  | "state_prefix"
  /** The bytes are not those of a whole state of the fork expected. */
  | "state_bytes"
  /** The node has another date or version of a fork than this program. */
  | "fork_schedule"
  /** The answer is of a fork that this program does not know; its node is not at fault. */
  | "unknown_fork";

/** Contradictory data of beacon nodes: the node is faulty or dishonest, or serves another fork. */
export class DerivationError extends Error {
  override readonly name = "DerivationError";

  constructor(readonly code: DerivationErrorCode, options?: ErrorOptions) {
    super(`Light client data refused: ${code}`, options);
  }
}
