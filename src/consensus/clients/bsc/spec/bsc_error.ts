/**
 * Refusals of the BSC client, one code per rule.
 */
import { ClientError } from "../../../spec/client_error.ts";

/**
 * Rule that an update breaks, in the order of checks. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/bsc/src/lib.rs, modules/consensus/bsc/verifier/src/lib.rs.
 */
export type BscErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** The source header is not newer than the trusted one. */
  | "stale_source"
  /** The hub knows no epoch length: it refuses every update. */
  | "epoch_length_missing"
  /** The attested header enacts the staged set and the source header is of an earlier epoch. */
  | "source_epoch"
  /** The attested header's extra data is malformed; the cause is an `ExtraDataError`. */
  | "attested_extra_data"
  /** The attested header has no vote. */
  | "vote_missing"
  /** A vote of a validator outside the set. */
  | "unknown_voter"
  /** Fewer than two thirds of the set voted. */
  | "too_few_voters"
  /** The vote is for another source block. */
  | "source_hash"
  /** The vote is for another target block. */
  | "target_hash"
  /** The target is not the child of the source, so the source is not final. */
  | "not_adjacent"
  /** A voter's key is not a point of the group. */
  | "public_key"
  /** The voters did not sign the vote. */
  | "signature"
  /** The ancestry does not lead from the epoch's first block to the source, or the source needs no ancestry. */
  | "ancestry"
  /** The extra data of the epoch's first header is malformed; the cause is an `ExtraDataError`. */
  | "epoch_extra_data"
  /** The epoch's first header announces no validators. */
  | "validators_missing"
  /** The source is of an epoch whose validators the client would not know. */
  | "epoch_ahead";

/** An update that the hub would refuse. */
export class BscError extends ClientError<BscErrorCode> {
  override readonly name = "BscError";
}
