/**
 * Beacon chains with a sync committee client on the hub: time, forks and state layout. Source:
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/constants.rs; fork versions and epochs of
 * the networks: ethereum/consensus-specs: configs/mainnet.yaml, eth-clients/sepolia, gnosischain/configs.
 */
import type { Hash256, Hex } from "../../../../core/encoding/bytes.ts";
import { consensusClientIds } from "../../../../core/ismp/consensus_clients.ts";
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

/** Electra (37 fields) and Fulu (38 fields): depth 6. Used for all forks before Gloas. */
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

/** Layout of a state of this slot, Electra's for all earlier ones, as the hub has it. */
export function stateIndicesAt(network: BeaconNetwork, slot: bigint): StateIndices {
  return isGloasAt(network, slot) ? gloasStateIndices : electraStateIndices;
}

/** True from the first slot of Gloas on. */
export function isGloasAt(network: BeaconNetwork, slot: bigint): boolean {
  const { name } = forkAtEpoch(network, epochOfSlot(network, slot));
  return forkNames.findIndex((known) => known === name) >= forkNames.indexOf("gloas");
}

/**
 * True in the first epoch of Gloas. The checkpoint at its start refers to an execution block of before, which hubs refuse
 * (docs/protocol/evm-consensus.md section 5.11).
 */
export function isStartOfGloas(network: BeaconNetwork, slot: bigint): boolean {
  const epoch = epochOfSlot(network, slot);
  return isGloasAt(network, slot) && forkAtEpoch(network, epoch).epoch === epoch;
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

/** Epoch and version of Altair and the forks after it, as far as they have a date. */
type ForkSchedule = readonly (readonly [bigint, Hex])[];

function forks(genesisVersion: Hex, schedule: ForkSchedule): [Fork, ...Fork[]] {
  return [
    { name: "phase0", epoch: 0n, version: genesisVersion },
    ...schedule.map(([epoch, version], index): Fork => ({
      name: forkNames[index + 1] ?? "phase0",
      epoch,
      version,
    })),
  ];
}

/** Ethereum. */
export const ethereumMainnet: BeaconNetwork = {
  chainId: 1,
  clientId: consensusClientIds.ethereum,
  slotsPerEpoch: 32n,
  epochsPerPeriod: 256n,
  slotSec: 12,
  genesisValidatorsRoot: "0x4b363db94e286120d76eb905340fdd4e54bfe9f06bf33ff6cf5ad27f511bfe95",
  forks: forks("0x00000000", [
    [74240n, "0x01000000"],
    [144896n, "0x02000000"],
    [194048n, "0x03000000"],
    [269568n, "0x04000000"],
    [364032n, "0x05000000"],
    [411392n, "0x06000000"],
  ]),
};

/** Ethereum's public test network. */
export const sepolia: BeaconNetwork = {
  chainId: 11155111,
  clientId: consensusClientIds.ethereum,
  slotsPerEpoch: 32n,
  epochsPerPeriod: 256n,
  slotSec: 12,
  genesisValidatorsRoot: "0xd8ea171f3c94aea21ebc42a1ed61052acf3f9209c00e4efbaaddac09ed9b8078",
  forks: forks("0x90000069", [
    [50n, "0x90000070"],
    [100n, "0x90000071"],
    [56832n, "0x90000072"],
    [132608n, "0x90000073"],
    [222464n, "0x90000074"],
    [272640n, "0x90000075"],
    [353024n, "0x90000076"],
  ]),
};

/** Gnosis chain. */
export const gnosisMainnet: BeaconNetwork = {
  chainId: 100,
  clientId: consensusClientIds.gnosis,
  slotsPerEpoch: 16n,
  epochsPerPeriod: 512n,
  slotSec: 5,
  genesisValidatorsRoot: "0xf5dcb5564e829aab27264b9becd5dfaa017085611224cb3036f573368dbb9d47",
  forks: forks("0x00000064", [
    [512n, "0x01000064"],
    [385536n, "0x02000064"],
    [648704n, "0x03000064"],
    [889856n, "0x04000064"],
    [1337856n, "0x05000064"],
    [1714688n, "0x06000064"],
  ]),
};

/** Gnosis chain's test network. */
export const chiado: BeaconNetwork = {
  chainId: 10200,
  clientId: consensusClientIds.gnosis,
  slotsPerEpoch: 16n,
  epochsPerPeriod: 512n,
  slotSec: 5,
  genesisValidatorsRoot: "0x9d642dac73058fbf39c0ae41ab1e34e4d889043cb199851ded7095bc99eb4c1e",
  forks: forks("0x0000006f", [
    [90n, "0x0100006f"],
    [180n, "0x0200006f"],
    [244224n, "0x0300006f"],
    [516608n, "0x0400006f"],
    [948224n, "0x0500006f"],
    [1353216n, "0x0600006f"],
  ]),
};

const known: readonly BeaconNetwork[] = [ethereumMainnet, sepolia, gnosisMainnet, chiado];

/** The beacon chain of an execution chain; undefined for chains that the hub has no such client for. */
export function beaconNetworkOf(chainId: number): BeaconNetwork | undefined {
  return known.find((network) => network.chainId === chainId);
}
