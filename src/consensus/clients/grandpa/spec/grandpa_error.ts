/**
 * Refusals of the GRANDPA client, one code per rule.
 */
import { ClientError } from "../../../spec/client_error.ts";

/**
 * Rule that a message breaks. Source: polytope-labs/hyperbridge: modules/consensus/grandpa/verifier/src/{lib,error}.rs.
 */
export type GrandpaErrorCode =
  /** The consensus proof is not the SCALE form of a message. */
  | "undecodable_message"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The kind of message is not the one for the tracked state machine. */
  | "wrong_variant"
  /** The message has no headers. */
  | "headers_empty"
  /** The highest header is not the block that is said to be final. */
  | "target_mismatch"
  /** The justification is not the SCALE form of one, or bytes follow it. */
  | "undecodable_justification"
  /** The justification is for another block. */
  | "justification_mismatch"
  /** The headers do not lead from the final block to the trusted one. */
  | "ancestry"
  /** The trusted set has no weight at all, or more than fits into 64 bits: no message can be accepted. */
  | "invalid_authorities"
  /** A voter is not in the set, or has no weight in it. */
  | "unknown_voter"
  /** A voter voted twice. */
  | "duplicate_vote"
  /** A vote is for a block that does not descend from the others'. */
  | "vote_ancestry"
  /** The votes for the block have too little weight. */
  | "too_few_votes"
  /** The votes make a block final that is not the one which the justification names, in hash and number. */
  | "target_not_final"
  | "signature"
  /** The votes are for different blocks, as happens in good justifications, too. */
  | "votes_differ"
  /** The justification has headers between votes that are all for one block. */
  | "unused_headers"
  /** Heads are proved at a block on the route whose header is missing in the message. */
  | "relay_header_missing"
  /** The nodes do not prove the heads. */
  | "heads_proof"
  /** The relay chain has no head of a listed parachain. */
  | "parachain_missing"
  /** A head is not a header. */
  | "undecodable_header"
  /** A header has no timestamp. */
  | "timestamp_missing"
  /** The verifying chain does not follow the standalone chain. */
  | "not_supported"
  /** The verifying chain has no hub, so the family of its parachains is not known. */
  | "coprocessor_missing";

/** A message that the verifier refuses. */
export class GrandpaError extends ClientError<GrandpaErrorCode> {
  override readonly name = "GrandpaError";
}
