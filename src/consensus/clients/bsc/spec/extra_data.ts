/**
 * Extra data of BSC headers: announced validators, vote attestation, seal.
 * Source: polytope-labs/hyperbridge: modules/consensus/bsc/verifier/src/primitives.rs (parse_extra);
 * bnb-chain/bsc: consensus/parlia/parlia.go, core/types/vote.go.
 */
import { type BlsPublicKey, isBlsSignature, NO_KEYS, parseBlsPublicKey } from "../../../spec/bls.ts";
import { ClientError, mapError } from "../../../spec/client_error.ts";
import { concatBytes, fromHex, type Hash256, keccak256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { compareHex } from "../../../../core/encoding/scale.ts";
import { type Address, toAddress } from "../../../../core/evm/address.ts";
import type { EvmBlockHeader } from "../../../../core/evm/block_header.ts";
import { RLP } from "@ethereumjs/rlp";

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

/** A validator as an epoch header announces it. */
export interface BscValidator {
  readonly address: Address;
  /** Compressed point of 48 bytes: the key of its votes. */
  readonly voteKey: Uint8Array;
}

/** Announcement in an epoch header. */
export interface EpochAnnouncement {
  /** By ascending address: bit i of a vote is the i-th. */
  readonly validators: readonly BscValidator[];
  /** Consecutive blocks of one validator; undefined before Bohr. */
  readonly turnLength: number | undefined;
}

/** Content of a vote: the source is final when the target is its child. */
export interface VoteData {
  readonly sourceNumber: bigint;
  readonly sourceHash: Hash256;
  readonly targetNumber: bigint;
  readonly targetHash: Hash256;
}

/** Votes for one pair of blocks, collected by the producer of a later block. */
export interface VoteAttestation {
  /** 64 bits: bit i (the lowest is 0) is the i-th validator by address. */
  readonly voters: bigint;
  /** Aggregate signature, compressed point of 96 bytes. */
  readonly signature: Uint8Array;
  readonly vote: VoteData;
  /** Reserved by the chain; empty. */
  readonly extra: Uint8Array;
}

/** The parts of extra data. */
export interface BscExtraData {
  /** 32 bytes. */
  readonly vanity: Uint8Array;
  /** In the first header of an epoch. */
  readonly announcement: EpochAnnouncement | undefined;
  readonly attestation: VoteAttestation | undefined;
  /** Signature of the block's producer, 65 bytes. */
  readonly seal: Uint8Array;
}

/** Reason that extra data is malformed. */
export type ExtraDataErrorCode =
  /** Shorter than vanity and seal. */
  | "too_short"
  /** Fewer bytes than the announced number of validators needs. */
  | "validators_truncated"
  /** The rest is not the RLP form of an attestation. */
  | "malformed_attestation";

/** Extra data that cannot be read. */
export class ExtraDataError extends ClientError<ExtraDataErrorCode> {
  override readonly name = "ExtraDataError";
}

const VANITY_LENGTH = 32;
const SEAL_LENGTH = 65;
const ADDRESS_LENGTH = 20;
const VOTE_KEY_LENGTH = 48;
const VALIDATOR_LENGTH = ADDRESS_LENGTH + VOTE_KEY_LENGTH;
const SIGNATURE_LENGTH = 96;

/** First byte of every attestation: a list of 56 to 255 bytes. Anything else is a number of validators. */
const ATTESTATION_PREFIX = 0xf8;

/**
 * Parses the extra data of a header. Like the hub it ignores bytes between attestation and seal. @throws
 * {ExtraDataError}
 */
export function parseExtraData(
  network: BscNetwork,
  header: Pick<EvmBlockHeader, "extraData" | "timestampSec">,
): BscExtraData {
  const whole = header.extraData;
  if (whole.length < VANITY_LENGTH + SEAL_LENGTH) throw new ExtraDataError("too_short");
  const body = whole.subarray(VANITY_LENGTH, whole.length - SEAL_LENGTH);
  const isAnnouncing = body.length > 0 && body[0] !== ATTESTATION_PREFIX;
  const { announcement, rest } = isAnnouncing
    ? parseAnnouncement(body, header.timestampSec >= network.bohrTimestampSec)
    : { announcement: undefined, rest: body };
  return {
    vanity: whole.slice(0, VANITY_LENGTH),
    announcement,
    attestation: rest.length === 0 ? undefined : parseAttestation(rest),
    seal: whole.slice(whole.length - SEAL_LENGTH),
  };
}

function parseAnnouncement(
  body: Uint8Array,
  hasTurnLength: boolean,
): { readonly announcement: EpochAnnouncement; readonly rest: Uint8Array } {
  const end = 1 + (body[0] ?? 0) * VALIDATOR_LENGTH;
  const restAt = end + (hasTurnLength ? 1 : 0);
  if (body.length < restAt) throw new ExtraDataError("validators_truncated");
  const validators: BscValidator[] = [];
  for (let at = 1; at < end; at += VALIDATOR_LENGTH) {
    validators.push({
      address: toAddress(body.subarray(at, at + ADDRESS_LENGTH)),
      voteKey: body.slice(at + ADDRESS_LENGTH, at + VALIDATOR_LENGTH),
    });
  }
  validators.sort((a, b) => compareHex(a.address, b.address));
  const turnLength = hasTurnLength ? body[end] : undefined;
  return { announcement: { validators, turnLength }, rest: body.subarray(restAt) };
}

type RlpItem = ReturnType<typeof RLP.decode>["data"];

function parseAttestation(rest: Uint8Array): VoteAttestation {
  const [voters, signature, vote, extra] = listOf(decodeFirst(rest), 4);
  const [sourceNumber, sourceHash, targetNumber, targetHash] = listOf(vote, 4);
  return {
    voters: integerOf(voters),
    signature: bytesOf(signature, SIGNATURE_LENGTH),
    vote: {
      sourceNumber: integerOf(sourceNumber),
      sourceHash: toHash256(bytesOf(sourceHash, 32)),
      targetNumber: integerOf(targetNumber),
      targetHash: toHash256(bytesOf(targetHash, 32)),
    },
    extra: bytesOf(extra),
  };
}

/** The library's errors have no codes: whatever it cannot decode is malformed. */
function decodeFirst(input: Uint8Array): RlpItem {
  try {
    return RLP.decode(input, true).data;
  } catch (cause) {
    throw new ExtraDataError("malformed_attestation", { cause });
  }
}

function listOf(item: RlpItem | undefined, length: number): readonly RlpItem[] {
  if (!Array.isArray(item) || item.length !== length) throw new ExtraDataError("malformed_attestation");
  return item;
}

function bytesOf(item: RlpItem | undefined, length?: number): Uint8Array {
  const isFitting = item instanceof Uint8Array && (length === undefined || item.length === length);
  if (!isFitting) throw new ExtraDataError("malformed_attestation");
  return Uint8Array.from(item);
}

/** At most 64 bits, without leading zeros. */
function integerOf(item: RlpItem | undefined): bigint {
  const digits = bytesOf(item);
  if (digits.length > 8 || digits[0] === 0) throw new ExtraDataError("malformed_attestation");
  return digits.reduce((value, digit) => (value << 8n) | BigInt(digit), 0n);
}

function voteFields(
  { sourceNumber, sourceHash, targetNumber, targetHash }: VoteData,
): (bigint | Uint8Array)[] {
  return [sourceNumber, fromHex(sourceHash), targetNumber, fromHex(targetHash)];
}

/** Message that the voters sign: Keccak-256 of the RLP form of the vote. */
export function voteMessage(vote: VoteData): Hash256 {
  return toHash256(keccak256(RLP.encode(voteFields(vote))));
}

/** Encodes extra data, validators in the given order (the chain sorts them by ascending address). */
export function encodeExtraData({ vanity, announcement, attestation, seal }: BscExtraData): Uint8Array {
  const announced = announcement === undefined ? [] : [
    Uint8Array.of(announcement.validators.length),
    ...announcement.validators.flatMap(({ address, voteKey }) => [fromHex(address), voteKey]),
    announcement.turnLength === undefined ? new Uint8Array(0) : Uint8Array.of(announcement.turnLength),
  ];
  const attested = attestation === undefined ? [] : [
    RLP.encode([
      attestation.voters,
      attestation.signature,
      voteFields(attestation.vote),
      attestation.extra,
    ]),
  ];
  return concatBytes(vanity, ...announced, ...attested, seal);
}

/**
 * True when exactly the holders of these keys signed `message`. Never true for an empty list. @throws {BscError}
 * `public_key` when a key is not a point of the group.
 */
export function isSignedByVoters(
  keys: readonly Uint8Array[],
  signature: Uint8Array,
  message: Hash256,
): boolean {
  const sum = keys.map(parsePublicKey).reduce((total, key) => total.add(key), NO_KEYS);
  // Keys that cancel each other out would make the empty signature valid.
  return !sum.is0() && isBlsSignature(signature, sum, message);
}

function parsePublicKey(compressed: Uint8Array): BlsPublicKey {
  const refuse = (cause: Error): Error => new BscError("public_key", { cause });
  return mapError(Error, () => parseBlsPublicKey(compressed), refuse);
}

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
