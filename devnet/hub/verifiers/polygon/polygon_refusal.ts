/** Why the hub's own client of Polygon refuses an update. */

/**
 * Names of the network's errors, without what belongs to a library: polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/error.rs; cometbft/cometbft-rs: light-client-verifier/src/errors.rs.
 */
export type PolygonRefusalCode =
  | "DecodeConsensusUpdate"
  | "DecodeConsensusState"
  | "ConvertTendermintProof"
  | "ConvertTrustedState"
  /** A part that every update has is not there, or zero. */
  | "Incomplete"
  /** The power of a set is more than CometBFT can count. */
  | "TotalVotingPowerOverflow"
  | "UnknownValidatorSet"
  | "InvalidTrustThreshold"
  | "InvalidNextValidatorSet"
  | "InvalidCommitValue"
  | "NoSignatureForCommit"
  | "MismatchPreCommitLength"
  | "FaultySigner"
  | "NotWithinTrustPeriod"
  | "NonMonotonicBftTime"
  | "ChainIdMismatch"
  | "NonIncreasingHeight"
  | "HeaderFromTheFuture"
  | "MissingSignature"
  | "DuplicateValidator"
  | "InvalidSignature"
  | "NotEnoughTrust"
  | "InsufficientSignersOverlap"
  /** The next set has an address twice. */
  | "DuplicateAddress"
  | "EvmHeaderHashMismatch"
  | "MilestoneEndBlockMismatch"
  | "EvmHeaderBehindFinalized"
  | "ConstructMerkleProof"
  | "MembershipProofFailed";

/** An update that the client does not accept. */
export class PolygonRefusal extends Error {
  override readonly name = "PolygonRefusal";

  constructor(readonly code: PolygonRefusalCode, options?: ErrorOptions) {
    super(`Polygon update refused: ${code}`, options);
  }
}

/** @throws {PolygonRefusal} unless it is so. */
export function require(isMet: boolean, code: PolygonRefusalCode): asserts isMet {
  if (!isMet) throw new PolygonRefusal(code);
}
