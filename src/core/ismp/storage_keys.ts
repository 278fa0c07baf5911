/**
 * Keys of the hub's storage: main trie, ISMP child trie and the node's offchain database.
 * Source: polytope-labs/hyperbridge: modules/pallets/* (storage items and hashers), modules/pallets/ismp/src/child_trie.rs.
 */
import { Twox128, Twox64Concat } from "@polkadot-api/substrate-bindings";
import { blake2b128, concatBytes, fromHex, type Hash256 } from "../encoding/bytes.ts";
import {
  bool,
  bytes,
  type Codec,
  compareIntegers,
  fixedBytes,
  hash256,
  list,
  nothing,
  openEnum,
  orderedMap,
  Struct,
  u128,
  u256,
  u64,
  type UnknownVariant,
} from "../encoding/scale.ts";
import {
  consensusClientIdCodec,
  consensusStateIdCodec,
  stateCommitmentCodec,
  stateMachineCodec,
  stateMachineHeightCodec,
  stateMachineIdCodec,
} from "./state_machine.ts";

/** Bandwidth tiers; their SCALE indexes are 1 to 4. */
export type BandwidthTier = "TierOne" | "TierTwo" | "TierThree" | "TierFour";

/** SCALE `H160`. */
export const hostAddressCodec: Codec<Uint8Array> = fixedBytes(20);

/** SCALE of {@link BandwidthTier}. */
const bandwidthTierCodec: Codec<BandwidthTier | UnknownVariant> = openEnum(
  ["TierOne", "TierTwo", "TierThree", "TierFour"],
  1,
);

/** Bytes an application may still send through the hub. */
export const subscriptionCodec = Struct({
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

/** How a part of a key is hashed, as metadata names it. */
export type StorageHasher = "Blake2128Concat" | "Twox64Concat" | "Identity";

const hashers: Readonly<Record<StorageHasher, (key: Uint8Array) => Uint8Array>> = {
  Blake2128Concat: blake2Concat,
  Twox64Concat: twoxConcat,
  Identity: (key) => key,
};

/** What this program assumes of a storage item: its name as `Pallet.Item`, and codecs of key and value. */
export interface KnownItem {
  readonly item: string;
  /** None: a plain value. */
  readonly keys: readonly { readonly hasher: StorageHasher; readonly codec: object }[];
  readonly value: object;
}

/** A value to be read. */
export interface Stored<Value> {
  readonly item: string;
  readonly key: Uint8Array;
  readonly codec: Codec<Value>;
}

/** A {@link KnownItem} that makes the key of a value, and says how the value is read. */
export interface StoredItem<Key extends readonly unknown[], Value> extends KnownItem {
  (...key: Key): Uint8Array;
  of(...key: Key): Stored<Value>;
  readonly value: Codec<Value>;
  /** First 32 bytes of every key. */
  readonly prefix: Uint8Array;
}

/** Part of a key with its hasher. */
export interface KeyPart<Part> {
  readonly hasher: StorageHasher;
  readonly codec: Codec<Part>;
}

/** Part of a key by its hasher, here `Blake2_128Concat`. */
export function blake<Part>(codec: Codec<Part>): KeyPart<Part> {
  return { hasher: "Blake2128Concat", codec };
}

/** Part of a key, hashed by `Twox64Concat`. */
export function twox<Part>(codec: Codec<Part>): KeyPart<Part> {
  return { hasher: "Twox64Concat", codec };
}

/** Part of a key as it is. */
export function identity<Part>(codec: Codec<Part>): KeyPart<Part> {
  return { hasher: "Identity", codec };
}

/** An item of a runtime's storage by its name, the parts of its key and its value. */
export function stored<Value, const Key extends readonly unknown[]>(
  item: `${string}.${string}`,
  value: Codec<Value>,
  ...keys: { readonly [At in keyof Key]: KeyPart<Key[At]> }
): StoredItem<Key, Value> {
  const [pallet = "", name = ""] = item.split(".");
  const prefix = storagePrefix(pallet, name);
  const keyOf = (...key: Key): Uint8Array =>
    concatBytes(prefix, ...keys.map(({ hasher, codec }, at) => hashers[hasher](codec.enc(key[at]))));
  return Object.assign(keyOf, {
    item,
    keys,
    value,
    prefix,
    of: (...key: Key): Stored<Value> => ({ item, key: keyOf(...key), codec: value }),
  });
}

const id = blake(stateMachineIdCodec);
const height = blake(stateMachineHeightCodec);
const chain = blake(stateMachineCodec);
const state = blake(consensusStateIdCodec);

/** Storage of pallet `Ismp`. Heights and times in seconds are u64. */
export const ismpKeys = {
  consensusStates: stored("Ismp.ConsensusStates", bytes, twox(consensusStateIdCodec)),
  consensusStateClient: stored("Ismp.ConsensusStateClient", consensusClientIdCodec, state),
  unbondingPeriod: stored("Ismp.UnbondingPeriod", u64, state),
  consensusClientUpdateTime: stored("Ismp.ConsensusClientUpdateTime", u64, twox(consensusStateIdCodec)),
  frozenConsensusClients: stored("Ismp.FrozenConsensusClients", bool, state),
  challengePeriod: stored("Ismp.ChallengePeriod", u64, id),
  latestStateMachineHeight: stored("Ismp.LatestStateMachineHeight", u64, id),
  boundedStateCommitments: stored("Ismp.BoundedStateCommitments", stateCommitmentCodec, id, blake(u64)),
  boundedStateMachineUpdateTime: stored("Ismp.BoundedStateMachineUpdateTime", u64, id, blake(u64)),
  /** Where releases up to July 2025 have commitments and their times: docs/protocol/hub.md section 6. */
  stateCommitments: stored("Ismp.StateCommitments", stateCommitmentCodec, height),
  stateMachineUpdateTime: stored("Ismp.StateMachineUpdateTime", u64, twox(stateMachineHeightCodec)),
  nonce: stored("Ismp.Nonce", u64),
};

/**
 * Storage of pallet `Relayer`. Note the order: `fees` is by (chain where the fee was paid, address), `nonce` the
 * reverse.
 */
export const relayerKeys = {
  fees: stored("Relayer.Fees", u256, chain, blake(bytes)),
  nonce: stored("Relayer.Nonce", u64, blake(bytes), chain),
  minimumWithdrawalAmount: stored("Relayer.MinimumWithdrawalAmount", u256, chain),
  outboundConsensusDeliveryReward: stored("Relayer.OutboundConsensusDeliveryReward", u128, chain),
  outboundConsensusRotationsClaimed: stored(
    "Relayer.OutboundConsensusRotationsClaimed",
    nothing,
    chain,
    blake(u64),
  ),
  outboundRequestDeliveryReward: stored("Relayer.OutboundRequestDeliveryReward", u128, blake(bytes)),
  outboundRequestsClaimed: stored("Relayer.OutboundRequestsClaimed", nothing, blake(hash256)),
};

/** Storage of pallet `HostExecutive`. */
export const hostExecutiveKeys = {
  evmHosts: stored("HostExecutive.EvmHosts", hostAddressCodec, twox(stateMachineCodec)),
};

/** Storage of pallet `Bandwidth`; the pallet truncates the application's id to 32 bytes. */
export const bandwidthKeys = {
  allowance: stored("Bandwidth.Allowance", list(subscriptionCodec), twox(stateMachineCodec), blake(bytes)),
  allowlist: stored("Bandwidth.Allowlist", nothing, twox(stateMachineCodec), blake(bytes)),
  bandwidthManager: stored("Bandwidth.BandwidthManager", hostAddressCodec, twox(stateMachineCodec)),
};

/** Storage of pallet `Mmr`. */
export const mmrKeys = { numberOfLeaves: stored("Mmr.NumberOfLeaves", u64) };

/** Storage of pallet `BeefyConsensusProofs`: heights, and heights by authority set. */
export const beefyProofsKeys = {
  messagingProofs: stored("BeefyConsensusProofs.MessagingProofs", list(u64)),
  rotationProofs: stored("BeefyConsensusProofs.RotationProofs", orderedMap(u64, u64, compareIntegers)),
};

/** Storage of the remaining pallets that relayers read; events are decoded by the metadata. */
export const otherKeys = {
  systemEvents: (): Uint8Array => storagePrefix("System", "Events"),
  /** Unix milliseconds. */
  timestampNow: stored("Timestamp.Now", u64),
};

/** Names of the ISMP child trie: `ISMPv2` at HEAD, `ISMP` in releases up to July 2025. */
export type ChildTrieName = "ISMPv2" | "ISMP";

/** Key of the child trie's root in the main trie, also the first argument of `childstate_getStorage`. */
export function childTrieKey(name: ChildTrieName = "ISMPv2"): Uint8Array {
  return ascii(`:child_storage:default:${name}`);
}

function childKey(prefix: string): (commitment: Hash256) => Uint8Array {
  return (commitment) => concatBytes(ascii(prefix), fromHex(commitment));
}

/** Keys inside the ISMP child trie: the plain prefix and the raw commitment, unhashed. */
export const childTrieKeys = {
  requestCommitment: childKey("RequestCommitments"),
  requestReceipt: childKey("RequestReceipts"),
  /** By the commitment of the response. */
  responseCommitment: childKey("ResponseCommitments"),
  /** By the commitment of the request. */
  responseReceipt: childKey("ResponseReceipts"),
};

function bigEndian(value: bigint): Uint8Array {
  return u64.enc(value).reverse();
}

/** Keys of the node's offchain database (kind PERSISTENT). */
export const offchainKeys = {
  /** Consensus proof about the hub by the height it proves. */
  beefyMessagingProof: (height: bigint): Uint8Array =>
    concatBytes(ascii("beefy_consensus_proofs::"), bigEndian(height)),
  /** Consensus proof that rotates to this authority set. */
  beefyRotationProof: (setId: bigint): Uint8Array =>
    concatBytes(ascii("beefy_consensus_proofs::rotation::"), bigEndian(setId)),
  /** Leaf before finality. */
  leafByCommitment: childKey("no_op"),
  /** MMR node after finality, by position. */
  mmrCanonNode: (position: bigint): Uint8Array =>
    concatBytes(bytes.enc(ascii("ISMP-mmr-v2")), u64.enc(position)),
};
