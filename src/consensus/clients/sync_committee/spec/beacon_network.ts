/**
 * Beacon chains with a sync committee client on the hub: time, forks and state layout. Source:
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/constants.rs; fork versions and epochs of
 * the networks: ethereum/consensus-specs: configs/mainnet.yaml, eth-clients/sepolia, gnosischain/configs.
 */
import type { Hash256, Hex } from "../../../../core/encoding/bytes.ts";
import type { ConsensusClientId } from "../../../../core/ismp/state_machine.ts";

/** Forks of the beacon chain in their order. */
export const forkNames = [
  "phase0",
  "altair",
  "bellatrix",
  "capella",
  "deneb",
  "electra",
  "fulu",
] as const;

/** Name of a fork, as beacon nodes write it in `version`. */
export type ForkName = typeof forkNames[number];

/** A change of the rules at the start of an epoch. */
export interface Fork {
  readonly name: ForkName;
  readonly epoch: bigint;
  /** Four bytes. */
  readonly version: Hex;
}

/** Parameters of a beacon chain. */
export interface BeaconNetwork {
  /** Chain id of the execution chain. */
  readonly chainId: number;
  /** Client of the hub that follows it. */
  readonly clientId: ConsensusClientId;
  readonly slotsPerEpoch: bigint;
  readonly epochsPerPeriod: bigint;
  readonly slotSec: number;
  readonly genesisValidatorsRoot: Hash256;
  /** By ascending epoch; the first is in force from epoch 0. */
  readonly forks: readonly [Fork, ...Fork[]];
}

/** Members of a sync committee (ethereum/consensus-specs: presets/{mainnet,gnosis}/altair.yaml). */
export const SYNC_COMMITTEE_SIZE = 512;

/** Minimum number of signers of an update: more than two thirds. */
export const SIGNER_THRESHOLD: number = Math.floor((2 * SYNC_COMMITTEE_SIZE) / 3) + 1;

/** Generalized indices in the tree of the beacon state (consensus-specs: ssz/merkle-proofs.md). */
export interface StateIndices {
  /** The finalized checkpoint as a whole. */
  readonly finalizedCheckpoint: number;
  readonly currentSyncCommittee: number;
  readonly nextSyncCommittee: number;
  readonly executionPayloadHeader: number;
}

/** Capella and Deneb: 28 fields, depth 5. */
export const capellaStateIndices: StateIndices = {
  finalizedCheckpoint: 52,
  currentSyncCommittee: 54,
  nextSyncCommittee: 55,
  executionPayloadHeader: 56,
};

/** Electra (37 fields) and Fulu (38 fields): depth 6. The only ones that the hub knows, whatever the slot. */
export const electraStateIndices: StateIndices = {
  finalizedCheckpoint: 84,
  currentSyncCommittee: 86,
  nextSyncCommittee: 87,
  executionPayloadHeader: 88,
};

/** Epoch of a slot. */
export function epochOfSlot(network: BeaconNetwork, slot: bigint): bigint {
  return slot / network.slotsPerEpoch;
}

/** Sync committee period of a slot. */
export function periodOfSlot(network: BeaconNetwork, slot: bigint): bigint {
  return epochOfSlot(network, slot) / network.epochsPerPeriod;
}

/** First slot of a sync committee period. */
export function firstSlotOfPeriod(network: BeaconNetwork, period: bigint): bigint {
  return period * network.epochsPerPeriod * network.slotsPerEpoch;
}

/** The fork in force at an epoch. */
export function forkAtEpoch(network: BeaconNetwork, epoch: bigint): Fork {
  return network.forks.findLast((fork) => fork.epoch <= epoch) ?? network.forks[0];
}

/**
 * Layout of a state of this slot. Needed for states before Electra, which nodes may still serve; the hub always uses
 * {@link electraStateIndices}. @returns undefined before Capella, whose states are not supported.
 */
export function stateIndicesAt(network: BeaconNetwork, slot: bigint): StateIndices | undefined {
  const { name } = forkAtEpoch(network, epochOfSlot(network, slot));
  if (isAtLeast(name, "electra")) return electraStateIndices;
  return isAtLeast(name, "capella") ? capellaStateIndices : undefined;
}

function isAtLeast(fork: ForkName, other: ForkName): boolean {
  return forkNames.indexOf(fork) >= forkNames.indexOf(other);
}

/**
 * True for the first slot of a fork's first epoch. The hub takes the fork version of the signature slot, signers that
 * of the slot before, so that an update signed in such a slot cannot be verified on the hub.
 */
export function isFirstSlotOfFork(network: BeaconNetwork, slot: bigint): boolean {
  if (slot === 0n) return false;
  const before = forkAtEpoch(network, epochOfSlot(network, slot - 1n));
  return forkAtEpoch(network, epochOfSlot(network, slot)).version !== before.version;
}
