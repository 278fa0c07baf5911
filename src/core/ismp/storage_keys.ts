/**
 * Keys of the hub's storage: main trie, ISMP child trie and the node's offchain database.
 * Source: polytope-labs/hyperbridge: modules/pallets/* (storage items and hashers), modules/pallets/ismp/src/child_trie.rs.
 */
import { Twox128, Twox64Concat } from "@polkadot-api/substrate-bindings";
import { blake2b128, concatBytes, fromHex, type Hash256 } from "../encoding/bytes.ts";
import {
  bytes,
  type Codec,
  fixedBytes,
  hash256,
  openEnum,
  Struct,
  u128,
  u32,
  u64,
  type UnknownVariant,
} from "../encoding/scale.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "./state_machine.ts";
import { consensusStateIdCodec, stateMachineCodec, stateMachineIdCodec } from "./state_machine.ts";

/** Bandwidth tiers; their SCALE indexes are 1 to 4. */
export type BandwidthTier = "TierOne" | "TierTwo" | "TierThree" | "TierFour";

/** Bytes an application may still send through the hub. */
export interface BandwidthSubscription {
  readonly tier: BandwidthTier | UnknownVariant;
  readonly remainingBytes: bigint;
  readonly expiresAtSec: bigint;
  readonly purchasedAtSec: bigint;
}

/** SCALE `H160`. */
export const hostAddressCodec: Codec<Uint8Array> = fixedBytes(20);

/** SCALE of {@link BandwidthTier}. */
export const bandwidthTierCodec: Codec<BandwidthTier | UnknownVariant> = openEnum(
  ["TierOne", "TierTwo", "TierThree", "TierFour"],
  1,
);

/** SCALE of {@link BandwidthSubscription}. */
export const subscriptionCodec: Codec<BandwidthSubscription> = Struct({
  tier: bandwidthTierCodec,
  remainingBytes: u128,
  expiresAtSec: u64,
  purchasedAtSec: u64,
});

const encoder = new TextEncoder();

function ascii(text: string): Uint8Array {
  return encoder.encode(text);
}

/** `Blake2_128Concat` of an encoded key. */
export function blake2Concat(key: Uint8Array): Uint8Array {
  return concatBytes(blake2b128(key), key);
}

/** `Twox64Concat` of an encoded key. */
export function twoxConcat(key: Uint8Array): Uint8Array {
  return Twox64Concat(key);
}

/** Prefixes that were asked for: there are as many as names in this program. */
const prefixes = new Map<string, Uint8Array>();

/** First 32 bytes of every key of a storage item: the key of a plain value, the prefix of a map. Not to be changed. */
export function storagePrefix(pallet: string, item: string): Uint8Array {
  const name = `${pallet}.${item}`;
  const prefix = prefixes.get(name) ?? concatBytes(Twox128(ascii(pallet)), Twox128(ascii(item)));
  prefixes.set(name, prefix);
  return prefix;
}

type Hasher = (key: Uint8Array) => Uint8Array;

const identity: Hasher = (key) => key;

function plain(pallet: string, item: string): () => Uint8Array {
  return () => storagePrefix(pallet, item);
}

/** Key of a map: how it is hashed and encoded. */
type MapKey<A> = readonly [hasher: Hasher, codec: Codec<A>];

function map<A>(pallet: string, item: string, [hasher, codec]: MapKey<A>): (key: A) => Uint8Array {
  return (value) => concatBytes(storagePrefix(pallet, item), hasher(codec.enc(value)));
}

function doubleMap<A, B>(
  pallet: string,
  item: string,
  [first, second]: readonly [MapKey<A>, MapKey<B>],
): (a: A, b: B) => Uint8Array {
  return (a, b) =>
    concatBytes(storagePrefix(pallet, item), first[0](first[1].enc(a)), second[0](second[1].enc(b)));
}

type ById = (id: StateMachineId) => Uint8Array;
type ByIdAndHeight = (id: StateMachineId, height: bigint) => Uint8Array;
type ByConsensusState = (id: ConsensusStateId) => Uint8Array;
type ByChain = (chain: StateMachine) => Uint8Array;
type ByChainAndBytes = (chain: StateMachine, account: Uint8Array) => Uint8Array;
type ByCommitment = (commitment: Hash256) => Uint8Array;
type Plain = () => Uint8Array;

function byId(pallet: string, item: string): ById {
  return map(pallet, item, [blake2Concat, stateMachineIdCodec]);
}

function byIdAndHeight(item: string, heightHasher: Hasher): ByIdAndHeight {
  return doubleMap("Ismp", item, [[blake2Concat, stateMachineIdCodec], [heightHasher, u64]]);
}

/** Keys of pallet `Ismp`. Heights and indexes are u64. */
export const ismpKeys: {
  readonly consensusStates: ByConsensusState;
  readonly consensusStateClient: ByConsensusState;
  readonly unbondingPeriod: ByConsensusState;
  readonly consensusClientUpdateTime: ByConsensusState;
  readonly frozenConsensusClients: ByConsensusState;
  readonly challengePeriod: ById;
  readonly latestStateMachineHeight: ById;
  readonly previousStateMachineHeight: ById;
  readonly boundedStateCommitments: ByIdAndHeight;
  readonly boundedStateMachineUpdateTime: ByIdAndHeight;
  readonly stateCommitmentQueue: ByIdAndHeight;
  readonly commitmentQueueStates: ById;
  readonly stateMachineCommitmentCap: ById;
  readonly responded: ByCommitment;
  readonly nonce: Plain;
  readonly childTrieRoot: Plain;
} = {
  consensusStates: map("Ismp", "ConsensusStates", [twoxConcat, consensusStateIdCodec]),
  consensusStateClient: map("Ismp", "ConsensusStateClient", [blake2Concat, consensusStateIdCodec]),
  unbondingPeriod: map("Ismp", "UnbondingPeriod", [blake2Concat, consensusStateIdCodec]),
  consensusClientUpdateTime: map("Ismp", "ConsensusClientUpdateTime", [twoxConcat, consensusStateIdCodec]),
  frozenConsensusClients: map("Ismp", "FrozenConsensusClients", [blake2Concat, consensusStateIdCodec]),
  challengePeriod: byId("Ismp", "ChallengePeriod"),
  latestStateMachineHeight: byId("Ismp", "LatestStateMachineHeight"),
  previousStateMachineHeight: byId("Ismp", "PreviousStateMachineHeight"),
  boundedStateCommitments: byIdAndHeight("BoundedStateCommitments", blake2Concat),
  boundedStateMachineUpdateTime: byIdAndHeight("BoundedStateMachineUpdateTime", blake2Concat),
  stateCommitmentQueue: byIdAndHeight("StateCommitmentQueue", twoxConcat),
  commitmentQueueStates: byId("Ismp", "CommitmentQueueStates"),
  stateMachineCommitmentCap: byId("Ismp", "StateMachineCommitmentCap"),
  responded: map("Ismp", "Responded", [identity, hash256]),
  nonce: plain("Ismp", "Nonce"),
  childTrieRoot: plain("Ismp", "ChildTrieRoot"),
};

/**
 * Keys of pallet `Relayer`. Note the order: `fees` is (chain where the fee was paid, address), `nonce` the reverse.
 */
export const relayerKeys: {
  readonly fees: ByChainAndBytes;
  readonly nonce: (address: Uint8Array, chain: StateMachine) => Uint8Array;
  readonly minimumWithdrawalAmount: ByChain;
  readonly outboundConsensusDeliveryReward: ByChain;
  readonly outboundConsensusRotationsClaimed: (chain: StateMachine, setId: bigint) => Uint8Array;
  readonly outboundRequestDeliveryReward: (moduleId: Uint8Array) => Uint8Array;
  readonly outboundRequestsClaimed: ByCommitment;
} = {
  fees: doubleMap("Relayer", "Fees", [[blake2Concat, stateMachineCodec], [blake2Concat, bytes]]),
  nonce: doubleMap("Relayer", "Nonce", [[blake2Concat, bytes], [blake2Concat, stateMachineCodec]]),
  minimumWithdrawalAmount: map("Relayer", "MinimumWithdrawalAmount", [blake2Concat, stateMachineCodec]),
  outboundConsensusDeliveryReward: map("Relayer", "OutboundConsensusDeliveryReward", [
    blake2Concat,
    stateMachineCodec,
  ]),
  outboundConsensusRotationsClaimed: doubleMap("Relayer", "OutboundConsensusRotationsClaimed", [[
    blake2Concat,
    stateMachineCodec,
  ], [blake2Concat, u64]]),
  outboundRequestDeliveryReward: map("Relayer", "OutboundRequestDeliveryReward", [blake2Concat, bytes]),
  outboundRequestsClaimed: map("Relayer", "OutboundRequestsClaimed", [blake2Concat, hash256]),
};

/** Keys of pallet `HostExecutive`. */
export const hostExecutiveKeys: {
  readonly hostParams: ByChain;
  readonly evmHosts: ByChain;
  readonly feeTokenDecimals: ByChain;
} = {
  hostParams: map("HostExecutive", "HostParams", [twoxConcat, stateMachineCodec]),
  evmHosts: map("HostExecutive", "EvmHosts", [twoxConcat, stateMachineCodec]),
  feeTokenDecimals: map("HostExecutive", "FeeTokenDecimals", [blake2Concat, stateMachineCodec]),
};

/** Keys of pallet `Bandwidth`; the pallet truncates the application's id to 32 bytes. */
export const bandwidthKeys: {
  readonly allowance: ByChainAndBytes;
  readonly allowlist: ByChainAndBytes;
  readonly bandwidthManager: ByChain;
  readonly tiers: (tier: BandwidthTier) => Uint8Array;
} = {
  allowance: doubleMap("Bandwidth", "Allowance", [[twoxConcat, stateMachineCodec], [blake2Concat, bytes]]),
  allowlist: doubleMap("Bandwidth", "Allowlist", [[twoxConcat, stateMachineCodec], [blake2Concat, bytes]]),
  bandwidthManager: map("Bandwidth", "BandwidthManager", [twoxConcat, stateMachineCodec]),
  tiers: map("Bandwidth", "Tiers", [twoxConcat, bandwidthTierCodec]),
};

/** Keys of pallet `Mmr`; `nodes` by position. */
export const mmrKeys: {
  readonly rootHash: Plain;
  readonly numberOfLeaves: Plain;
  readonly nodes: (position: bigint) => Uint8Array;
} = {
  rootHash: plain("Mmr", "RootHash"),
  numberOfLeaves: plain("Mmr", "NumberOfLeaves"),
  nodes: map("Mmr", "Nodes", [identity, u64]),
};

/** Keys of pallet `BeefyConsensusProofs`. */
export const beefyProofsKeys: {
  readonly messagingProofs: Plain;
  readonly rotationProofs: Plain;
  readonly sp1VkeyHash: Plain;
} = {
  messagingProofs: plain("BeefyConsensusProofs", "MessagingProofs"),
  rotationProofs: plain("BeefyConsensusProofs", "RotationProofs"),
  sp1VkeyHash: plain("BeefyConsensusProofs", "Sp1VkeyHash"),
};

/** Keys of the remaining pallets that relayers read. */
export const otherKeys: {
  readonly parachains: (paraId: number) => Uint8Array;
  readonly currentRelayChainStateRoots: (relayHeight: number) => Uint8Array;
  readonly stateMachinesCostPerBlock: ById;
  readonly mintPerByte: Plain;
  readonly systemEvents: Plain;
  readonly timestampNow: Plain;
} = {
  parachains: map("IsmpParachain", "Parachains", [identity, u32]),
  currentRelayChainStateRoots: map("IsmpParachain", "CurrentRelayChainStateRoots", [blake2Concat, u32]),
  stateMachinesCostPerBlock: byId("ConsensusIncentives", "StateMachinesCostPerBlock"),
  mintPerByte: plain("MessagingIncentives", "MintPerByte"),
  systemEvents: plain("System", "Events"),
  timestampNow: plain("Timestamp", "Now"),
};

/** Names of the ISMP child trie: `ISMPv2` at HEAD, `ISMP` in releases up to July 2025. */
export type ChildTrieName = "ISMPv2" | "ISMP";

/** Key of the child trie's root in the main trie, also the first argument of `childstate_getStorage`. */
export function childTrieKey(name: ChildTrieName = "ISMPv2"): Uint8Array {
  return ascii(`:child_storage:default:${name}`);
}

function childKey(prefix: string): ByCommitment {
  return (commitment) => concatBytes(ascii(prefix), fromHex(commitment));
}

/** Keys inside the ISMP child trie: the plain prefix and the raw commitment, unhashed. */
export const childTrieKeys: {
  readonly requestCommitment: ByCommitment;
  readonly requestReceipt: ByCommitment;
  /** By the commitment of the response. */
  readonly responseCommitment: ByCommitment;
  /** By the commitment of the request. */
  readonly responseReceipt: ByCommitment;
} = {
  requestCommitment: childKey("RequestCommitments"),
  requestReceipt: childKey("RequestReceipts"),
  responseCommitment: childKey("ResponseCommitments"),
  responseReceipt: childKey("ResponseReceipts"),
};

function bigEndian(value: bigint): Uint8Array {
  return u64.enc(value).reverse();
}

/** Keys of the node's offchain database (kind PERSISTENT). */
export const offchainKeys: {
  /** Consensus proof about the hub by the height it proves. */
  readonly beefyMessagingProof: (height: bigint) => Uint8Array;
  /** Consensus proof that rotates to this authority set. */
  readonly beefyRotationProof: (setId: bigint) => Uint8Array;
  /** Leaf before finality. */
  readonly leafByCommitment: ByCommitment;
  /** MMR node after finality, by position. */
  readonly mmrCanonNode: (position: bigint) => Uint8Array;
} = {
  beefyMessagingProof: (height) => concatBytes(ascii("beefy_consensus_proofs::"), bigEndian(height)),
  beefyRotationProof: (setId) => concatBytes(ascii("beefy_consensus_proofs::rotation::"), bigEndian(setId)),
  leafByCommitment: childKey("no_op"),
  mmrCanonNode: (position) => concatBytes(bytes.enc(ascii("ISMP-mmr-v2")), u64.enc(position)),
};
