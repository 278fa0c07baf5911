/**
 * Reasons why a BEEFY client on an EVM chain refuses a proof, one code per revert.
 */

/**
 * Rule that a proof breaks. The codes are the names of the reverts, in words. Source: polytope-labs/hyperbridge:
 * evm/src/consensus/{ConsensusRouter,EcdsaBeefy,Codec}.sol; `@polytope-labs/solidity-merkle-trees` 1.1.0.
 */
export type BeefyErrorCode =
  | "empty_proof"
  /** The first byte names no kind of proof. */
  | "invalid_proof_type"
  /** Not the ABI form of a proof: the contract reverts without data. */
  | "undecodable_proof"
  /** Malformed bytes of the relay chain or of the client. */
  | "undecodable_data"
  /** Signed by a set that the client does not know (any more, or yet). */
  | "unknown_authority_set"
  | "super_majority_required"
  /** The commitment names no root of the mountain range. */
  | "mmr_root_hash_missing"
  /** A signature without a recoverable signer. */
  | "invalid_signature"
  | "invalid_authorities_proof"
  /** Indexes are not ascending. */
  | "unsorted_leaves"
  | "leaf_index_out_of_bounds"
  /** A tree's proof has too few nodes, or there is nothing to prove. */
  | "proof_exhausted"
  | "invalid_mmr_proof"
  | "out_of_bounds_leaves"
  | "unconsumed_proof"
  /** The leaf is not that of the block that was signed. */
  | "stale_mmr_leaf"
  /** A head is that of a genesis block. */
  | "illegal_genesis_block"
  /** A wanted head is not among those that the leaf commits to. */
  | "head_missing"
  /** A head has no timestamp. */
  | "timestamp_not_found"
  /** A head is not a header. */
  | "undecodable_header";

/** Proof that the client refuses, or incomplete parts of one. */
export class BeefyError extends Error {
  override readonly name = "BeefyError";

  constructor(readonly code: BeefyErrorCode, options?: ErrorOptions) {
    super(`BEEFY proof refused: ${code}`, options);
  }
}
