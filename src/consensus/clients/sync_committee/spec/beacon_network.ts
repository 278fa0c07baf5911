/**
 * Beacon chains with a sync committee client on the hub: time, forks and state layout. Source:
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/constants.rs; fork versions and epochs of
 * the networks: ethereum/consensus-specs: configs/mainnet.yaml, eth-clients/sepolia, gnosischain/configs.
 */
import type { Hash256, Hex } from "../../../../core/encoding/bytes.ts";
import type { ConsensusClientId } from "../../../../core/ismp/state_machine.ts";

/** Forks of the beacon chain that this program knows, in their order, as beacon nodes write them in `version`. */
export const forkNames = [
  "phase0",
  "altair",
  "bellatrix",
  "capella",
  "deneb",
  "electra",
  "fulu",
  "gloas",
] as const;

/** A change of the rules at the start of an epoch. */
export interface Fork {
  /** One of {@link forkNames}, or a later one that only the nodes know. */
  readonly name: string;
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
  /** The execution payload header; from Gloas on the hash of the last execution block. */
  readonly execution: number;
}

/** Capella and Deneb: 28 fields, depth 5. */
export const capellaStateIndices: StateIndices = {
  finalizedCheckpoint: 52,
  currentSyncCommittee: 54,
  nextSyncCommittee: 55,
  execution: 56,
};

/** Electra (37 fields) and Fulu (38 fields): depth 6. The hub uses them for all forks before Gloas. */
export const electraStateIndices: StateIndices = {
  finalizedCheckpoint: 84,
  currentSyncCommittee: 86,
  nextSyncCommittee: 87,
  execution: 88,
};

/** Gloas: a progressive container of 46 fields. */
export const gloasStateIndices: StateIndices = {
  finalizedCheckpoint: 367,
  currentSyncCommittee: 2945,
  nextSyncCommittee: 2946,
  execution: 2947,
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
 * Layout of a state of this slot. Nodes may still serve states of before Electra. @returns undefined before Capella,
 * whose states are not supported, and for forks that this program does not know.
 */
export function stateIndicesAt(network: BeaconNetwork, slot: bigint): StateIndices | undefined {
  const { name } = forkAtEpoch(network, epochOfSlot(network, slot));
  const order = orderOf(name);
  if (order >= orderOf("gloas")) return gloasStateIndices;
  if (order >= orderOf("electra")) return electraStateIndices;
  return order >= orderOf("capella") ? capellaStateIndices : undefined;
}

/** Layout that the hub takes a state of this slot to have. */
export function hubIndicesAt(network: BeaconNetwork, slot: bigint): StateIndices {
  return isGloasAt(network, slot) ? gloasStateIndices : electraStateIndices;
}

/** True from the first slot of Gloas on. */
export function isGloasAt(network: BeaconNetwork, slot: bigint): boolean {
  return stateIndicesAt(network, slot) === gloasStateIndices;
}

/**
 * True in the first epoch of Gloas. The checkpoint at its start refers to an execution block of before, which hubs refuse
 * (docs/protocol/evm-consensus.md section 5.11).
 */
export function isStartOfGloas(network: BeaconNetwork, slot: bigint): boolean {
  const epoch = epochOfSlot(network, slot);
  return isGloasAt(network, slot) && forkAtEpoch(network, epoch).epoch === epoch;
}

/** Place of a fork in {@link forkNames}; -1: unknown. */
function orderOf(name: string): number {
  return forkNames.findIndex((known) => known === name);
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
