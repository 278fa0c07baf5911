/**
 * Parameters of the BSC networks, and the arithmetic of epochs. Source: polytope-labs/hyperbridge:
 * modules/consensus/bsc/verifier/src/primitives.rs.
 */

/** A network that the hub's client is built for. */
export interface BscNetwork {
  readonly chainId: number;
  /** Unix time of the Bohr fork in seconds: from it on epoch headers name a turn length. */
  readonly bohrTimestampSec: bigint;
}

const networks: readonly BscNetwork[] = [
  { chainId: 56, bohrTimestampSec: 1_727_317_200n },
  { chainId: 97, bohrTimestampSec: 1_724_116_996n },
];

/** Returns the network with this chain id; undefined when there is none. */
export function findBscNetwork(chainId: number): BscNetwork | undefined {
  return networks.find((network) => network.chainId === chainId);
}

/** Epoch of a block. Epoch lengths are positive throughout. */
export function epochOfBlock(block: bigint, epochLength: bigint): bigint {
  return block / epochLength;
}

/** First block of an epoch: its header announces the validators that take over later in the epoch. */
export function epochBlock(epoch: bigint, epochLength: bigint): bigint {
  return epoch * epochLength;
}

/** Minimum number of votes that the hub accepts from a set: two thirds, rounded down. */
export function voteThreshold(validatorCount: number): number {
  return Math.floor(2 * validatorCount / 3);
}

/** First attested block that enacts the staged set on the hub, with `validatorCount` members of the previous set. */
export function rotationBlock(epochFirstBlock: bigint, validatorCount: number): bigint {
  return epochFirstBlock + BigInt(Math.floor(validatorCount / 2));
}

/**
 * First target whose votes the new set signs on the chain itself, which is later than {@link rotationBlock}.
 * In between no update verifies when the sets differ.
 * Source: bnb-chain/bsc: consensus/parlia/{parlia,snapshot}.go (the snapshot switches at
 * `turnLength * (n / 2 + 1) - 1`; votes are checked with the snapshot of the target's parent).
 * @param validatorCount members of the previous set. @param turnLength consecutive blocks of one validator, 1 before
 * Bohr.
 */
export function firstTargetOfNewSet(
  epochFirstBlock: bigint,
  validatorCount: number,
  turnLength: number,
): bigint {
  return epochFirstBlock + BigInt(turnLength * (Math.floor(validatorCount / 2) + 1));
}

/**
 * First block that may hold votes of the new set: targets are 1 block older than the block with the votes, since Fermi up
 * to 3 (BEP-590).
 */
export function firstBlockOfNewSet(
  epochFirstBlock: bigint,
  validatorCount: number,
  turnLength: number,
): bigint {
  return firstTargetOfNewSet(epochFirstBlock, validatorCount, turnLength) + 1n;
}
