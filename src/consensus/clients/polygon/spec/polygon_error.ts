/**
 * Refusals of the Polygon client, one code per rule.
 */
import { ClientError } from "../../../spec/client_error.ts";

/**
 * Rule that an update breaks, in the order of checks. Source: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs, modules/consensus/tendermint/{primitives,verifier}/src/verifier.rs;
 * cometbft/cometbft-rs: light-client-verifier/src/{verifier,predicates}.rs,
 * light-client-verifier/src/operations/{commit_validator,voting_power}.rs.
 */
export type PolygonErrorCode =
  /** The consensus proof is not the SCALE form of an update. */
  | "undecodable_update"
  /** The stored consensus state is not the SCALE form of a state. */
  | "undecodable_state"
  /** A time is not RFC 3339 in UTC with at most nine digits of a second, or before 1970. */
  | "time"
  /** A name of the Heimdall chain is empty, longer than 50 characters, or has others than letters, digits, - _ and . */
  | "chain_name"
  /** A height or a voting power does not fit into 63 bits, or the power of a set into 60. */
  | "number_range"
  /** A signature does not have 64 bytes. */
  | "signature_length"
  /** The commit is for another height than the header. */
  | "commit_height"
  /** The key of a validator is not a point of secp256k1. */
  | "public_key"
  /** The address of a validator is not that of its key. */
  | "validator_address"
  /** The update brings no next validators, which every header names. */
  | "next_validators_missing"
  /** The header is of height zero or of the first second of 1970. */
  | "empty_header"
  /** The header's validators are neither of the two sets that the client trusts. */
  | "unknown_validators"
  /** The next validators of the update are not those that the header names. */
  | "next_validators"
  /** The part of the trusted set that must sign is less than a third, or more than all. */
  | "trust_threshold"
  /** The commit is for another header. */
  | "commit_block"
  /** Nobody signed. */
  | "commit_empty"
  /** The commit does not have one entry per validator. */
  | "commit_length"
  /** A signer is not in the set. */
  | "unknown_signer"
  /** The trusted header is older than the trusting period: the client has expired. */
  | "trust_expired"
  /** The header is not younger than the trusted one. */
  | "stale_time"
  /** The header is of another Heimdall chain. */
  | "other_chain"
  /** The header follows the trusted one, and its validators are not the next ones of that. */
  | "adjacent_validators"
  /** The header is not higher than the trusted one. */
  | "stale_height"
  /** The header is from the future. */
  | "future_header"
  /** A vote for the block has no signature. */
  | "signature_missing"
  /** A validator voted twice. */
  | "duplicate_signer"
  /** A validator did not sign its vote. */
  | "signature"
  /** Too few of the trusted next validators signed. */
  | "too_little_trust"
  /** Validators with two thirds of the power or less signed. */
  | "too_few_signers"
  /** A validator is twice in the next set. */
  | "duplicate_validator"
  /** The milestone is for another Bor block than the header. */
  | "bor_hash"
  /** The milestone ends at another height than the Bor header's. */
  | "milestone_end"
  /** The Bor header is older than the newest one that the client knows. */
  | "stale_bor_header"
  /** The proof of the milestone is not the one Protobuf form of a commitment proof. */
  | "undecodable_proof"
  /** The proof does not lead from the milestone to the header's state. */
  | "milestone_proof";

/** An update that the hub would refuse. */
export class PolygonError extends ClientError<PolygonErrorCode> {
  override readonly name = "PolygonError";
}
