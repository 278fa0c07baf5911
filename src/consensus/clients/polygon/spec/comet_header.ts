/**
 * Headers of Heimdall blocks, with their hash and SCALE form. Source: cometbft/cometbft-rs:
 * cometbft/src/block/header.rs (hash_with); polytope-labs/hyperbridge:
 * modules/consensus/tendermint/primitives/src/verifier.rs (TendermintCodecHeader).
 */
import { PolygonError } from "./polygon_error.ts";
import { dataField, fixed64Field, integerField, lengthPrefixed, messageField } from "./protobuf.ts";
import { concatBytes, fromHex, type Hash256, keccak256, toHash256 } from "../../../../core/encoding/bytes.ts";
import {
  bytes,
  type Codec,
  Enum,
  list,
  nothing,
  Option,
  Struct,
  u32,
  u64,
  utf8Text,
} from "../../../../core/encoding/scale.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { type CodecType, enhanceCodec } from "scale-ts";

/** 32 bytes with their length. */
export const sizedHash: Codec<Hash256> = enhanceCodec(bytes, fromHex, (value) => toHash256(value));

/** 20 bytes with their length. */
const sizedAddress: Codec<Address> = enhanceCodec(bytes, fromHex, (value) => toAddress(value));

/** SCALE of {@link CometBlockId}: 70 bytes. */
const cometBlockIdCodec = Struct({
  hash: sizedHash,
  partSetHeader: Struct({ total: u32, hash: sizedHash }),
});

/** Names a block: by its hash, and by the parts in which it is gossiped. */
export type CometBlockId = Readonly<CodecType<typeof cometBlockIdCodec>>;

/** SCALE of {@link CometHeader}: about 450 bytes. */
export const cometHeaderCodec = Struct({
  version: Struct({ block: u64, app: u64 }),
  chainId: utf8Text,
  height: u64,
  /** RFC 3339 in UTC. */
  time: utf8Text,
  /** `undefined` in the first block. */
  lastBlockId: Option(cometBlockIdCodec),
  lastCommitHash: Option(sizedHash),
  dataHash: Option(sizedHash),
  validatorsHash: sizedHash,
  /** Validators of the next block. */
  nextValidatorsHash: sizedHash,
  consensusHash: sizedHash,
  /** State after the block before. */
  appHash: sizedHash,
  lastResultsHash: Option(sizedHash),
  evidenceHash: Option(sizedHash),
  proposerAddress: sizedAddress,
});

/** A header. */
export type CometHeader = Readonly<CodecType<typeof cometHeaderCodec>>;

/** Bytes of a hash in the wrapper `BytesValue`; none for one that is absent. */
function wrapped(hash: Hash256 | Address | undefined): Uint8Array {
  return hash === undefined ? new Uint8Array(0) : dataField(1, fromHex(hash));
}

/** Protobuf of a block's name; that of none is the name without hashes. */
function encodeBlockId(id: CometBlockId | undefined): Uint8Array {
  if (id === undefined) return messageField(2);
  const { total, hash } = id.partSetHeader;
  return concatBytes(
    dataField(1, fromHex(id.hash)),
    messageField(2, integerField(1, total), dataField(2, fromHex(hash))),
  );
}

/** Hash of a header that has a height and a chain: the root over its fields, each in Protobuf. @throws {PolygonError} `time` */
export function hashCometHeader(header: CometHeader): Hash256 {
  return cometMerkleRoot([
    concatBytes(integerField(1, header.version.block), integerField(2, header.version.app)),
    dataField(1, header.chainId),
    integerField(1, header.height),
    encodeCometTime(parseCometTime(header.time)),
    encodeBlockId(header.lastBlockId),
    wrapped(header.lastCommitHash),
    wrapped(header.dataHash),
    wrapped(header.validatorsHash),
    wrapped(header.nextValidatorsHash),
    wrapped(header.consensusHash),
    wrapped(header.appHash),
    wrapped(header.lastResultsHash),
    wrapped(header.evidenceHash),
    wrapped(header.proposerAddress),
  ]);
}

const LEAF = Uint8Array.of(0);
const INNER = Uint8Array.of(1);

/**
 * Root of CometBFT's tree over `leaves`, header fields or validators: RFC 6962 with SHA-256; without leaves the hash of
 * nothing. Source: cometbft/cometbft-rs: cometbft/src/merkle.rs.
 */
export function cometMerkleRoot(leaves: readonly Uint8Array[]): Hash256 {
  return toHash256(rootOf(leaves));
}

function rootOf(leaves: readonly Uint8Array[]): Uint8Array {
  const [first] = leaves;
  if (first === undefined) return sha256(new Uint8Array(0));
  if (leaves.length === 1) return sha256(concatBytes(LEAF, first));
  const split = largestPowerBelow(leaves.length);
  return sha256(concatBytes(INNER, rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split))));
}

/** Largest power of two below `count`, which is at least two. */
function largestPowerBelow(count: number): number {
  return 2 ** (Math.ceil(Math.log2(count)) - 1);
}

/** A moment; in updates and in answers of nodes it is text. Source: cometbft/cometbft-rs: cometbft/src/time.rs. */
export interface CometTime {
  /** Unix time in seconds. */
  readonly seconds: bigint;
  readonly nanos: number;
}

const RFC_3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z$/;

/**
 * Reads RFC 3339 in UTC, as nodes write it: nodes and the hub omit zeros at the end. @throws {PolygonError} `time`
 */
export function parseCometTime(text: string): CometTime {
  const [, whole, fraction = ""] = RFC_3339.exec(text) ?? [];
  const ms = whole === undefined ? NaN : Date.parse(`${whole}Z`);
  // The runtime reads the 30th of February as the 2nd of March.
  const isDate = !Number.isNaN(ms) && ms >= 0 && new Date(ms).toISOString().startsWith(`${whole}.`);
  if (!isDate) throw new PolygonError("time");
  return { seconds: BigInt(ms) / 1_000n, nanos: Number(fraction.padEnd(9, "0")) };
}

/** Protobuf of a moment. */
export function encodeCometTime({ seconds, nanos }: CometTime): Uint8Array {
  return concatBytes(integerField(1, seconds), integerField(2, nanos));
}

/** Negative when `a` is before `b`, 0 for the same moment. */
export function compareCometTimes(a: CometTime, b: CometTime): number {
  if (a.seconds !== b.seconds) return a.seconds < b.seconds ? -1 : 1;
  return a.nanos - b.nanos;
}

const voteCodec = Struct({
  validatorAddress: sizedAddress,
  /** RFC 3339 in UTC. */
  timestamp: utf8Text,
  /** 64 bytes: r and s. */
  signature: Option(bytes),
});

/** A vote, for the block or for none. */
export type CometVote = Readonly<CodecType<typeof voteCodec>>;

const commitSigCodec = Enum({
  /** No vote was received. */
  absent: nothing,
  /** A vote for the block. */
  commit: voteCodec,
  /** A vote for no block. */
  nil: voteCodec,
});

/** Entry of a validator in a commit. */
export type CometCommitSig = Readonly<CodecType<typeof commitSigCodec>>;

/** SCALE of {@link CometCommit}: about 120 bytes per vote. */
export const cometCommitCodec = Struct({
  height: u64,
  round: u32,
  blockId: cometBlockIdCodec,
  /** An entry per validator, in the order of the set. */
  signatures: list(commitSigCodec),
});

/** What makes a block final. */
export type CometCommit = Readonly<CodecType<typeof cometCommitCodec>>;

/** Type of a vote that makes a block final. */
const PRECOMMIT = 2;

/**
 * Bytes that a validator signs who votes for the commit's block: the length of `CanonicalVote`, and its Protobuf form,
 * in which numbers that are zero are omitted. @throws {PolygonError} `time`
 */
export function voteSignBytes(
  chainId: string,
  { height, round, blockId }: Omit<CometCommit, "signatures">,
  timestamp: string,
): Uint8Array {
  return lengthPrefixed(concatBytes(
    integerField(1, PRECOMMIT),
    fixed64Field(2, height),
    fixed64Field(3, BigInt(round)),
    messageField(4, encodeBlockId(blockId)),
    messageField(5, encodeCometTime(parseCometTime(timestamp))),
    dataField(6, chainId),
  ));
}

/** SCALE of {@link HeimdallValidator}: 97 bytes without a name. */
export const heimdallValidatorCodec = Struct({
  address: sizedAddress,
  /** Heimdall has keys of secp256k1 alone: 65 bytes, uncompressed. */
  publicKey: Enum({ ed25519: bytes, secp256k1: bytes }),
  power: u64,
  name: Option(utf8Text),
});

/** A validator. */
export type HeimdallValidator = Readonly<CodecType<typeof heimdallValidatorCodec>>;

/** Address of an uncompressed key, as accounts of Ethereum have it. */
function heimdallAddress(key: Uint8Array): Address {
  return toAddress(keccak256(key.subarray(1)).subarray(12));
}

/**
 * Uncompressed key of a validator, which must have its address. @throws {PolygonError} `public_key`,
 * `validator_address`
 */
export function requireOwnKey({ publicKey, address }: HeimdallValidator): Uint8Array {
  const { tag, value } = publicKey;
  const isPoint = tag === "secp256k1" && value.length === 65 &&
    secp256k1.utils.isValidPublicKey(value, false);
  if (!isPoint) throw new PolygonError("public_key");
  if (heimdallAddress(value) !== address) throw new PolygonError("validator_address");
  return value;
}

/** Sorts a set: by descending power, then by address. */
export function sortValidators(validators: readonly HeimdallValidator[]): readonly HeimdallValidator[] {
  return validators.toSorted((a, b) => {
    if (a.power !== b.power) return a.power > b.power ? -1 : 1;
    return a.address < b.address ? -1 : Number(a.address > b.address);
  });
}

/** Protobuf of `SimpleValidator`. Field 3 of a key, for uncompressed ones, is Heimdall's own. */
function encodeSimple({ publicKey, power }: HeimdallValidator): Uint8Array {
  const key = dataField(3, publicKey.value);
  return concatBytes(messageField(1, key), integerField(2, power));
}

/** Hash of a set, in any order. */
export function hashValidators(validators: readonly HeimdallValidator[]): Hash256 {
  return cometMerkleRoot(sortValidators(validators).map(encodeSimple));
}

/** True when the holder of the key signed the Keccak-256 hash of `message`. @param signature 64 bytes. */
export function isSignedBy(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  // The hub recovers the key from the signature, which leaves s unrestricted.
  return secp256k1.verify(signature, keccak256(message), key, { prehash: false, lowS: false });
}
