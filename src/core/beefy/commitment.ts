/**
 * Commitments that BEEFY authorities sign, and leaves of the relay chain's mountain range. Source:
 * paritytech/polkadot-sdk: substrate/primitives/consensus/beefy/src/{commitment,payload,mmr}.rs.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import { concatBytes, fromByteText, keccak256, toByteText, toHash256 } from "../encoding/bytes.ts";
import { CodedError, mapError } from "../encoding/coded_error.ts";
import {
  bytes,
  type Codec,
  decodeStrict,
  fixedBytes,
  hash256,
  list,
  pair,
  ScaleError,
  Struct,
  u32,
  u64,
  u8,
} from "../encoding/scale.ts";
import type { BeefyAuthoritySet } from "../evm/beefy_client_state.ts";
import type { CodecType } from "scale-ts";

/**
 * Rule that a proof breaks. The codes are the names of the reverts, in words. Source: polytope-labs/hyperbridge:
 * evm/src/consensus/{ConsensusRouter,EcdsaBeefy,Codec}.sol; `@polytope-labs/solidity-merkle-trees` 1.1.0.
 */
export type BeefyErrorCode =
  | "empty_proof"
  /** The first byte names no kind of proof. */
  | "invalid_proof_type"
  /** Not the ABI form of a proof: the contract reverts without data. */
  | "undecodable_proof"
  /** Malformed bytes of the relay chain or of the client. */
  | "undecodable_data"
  /** Signed by a set that the client does not know (any more, or yet). */
  | "unknown_authority_set"
  | "super_majority_required"
  /** The commitment names no root of the mountain range. */
  | "mmr_root_hash_missing"
  /** A signature without a recoverable signer. */
  | "invalid_signature"
  | "invalid_authorities_proof"
  /** Indexes are not ascending. */
  | "unsorted_leaves"
  | "leaf_index_out_of_bounds"
  /** A tree's proof has too few nodes, or there is nothing to prove. */
  | "proof_exhausted"
  | "invalid_mmr_proof"
  | "out_of_bounds_leaves"
  | "unconsumed_proof"
  /** The leaf is not that of the block that was signed. */
  | "stale_mmr_leaf"
  /** A head is that of a genesis block. */
  | "illegal_genesis_block"
  /** A wanted head is not among those that the leaf commits to. */
  | "head_missing"
  /** A head has no timestamp. */
  | "timestamp_not_found"
  /** A head is not a header. */
  | "undecodable_header";

/** Proof that the client refuses, or incomplete parts of one. */
export class BeefyError extends CodedError<BeefyErrorCode> {
  override readonly name = "BeefyError";
}

/** One entry of a commitment's payload; `id` has two characters, one for each byte. */
export interface PayloadEntry {
  readonly id: string;
  readonly data: Uint8Array;
}

/** A statement about a relay chain block. */
export interface BeefyCommitment {
  readonly payload: readonly PayloadEntry[];
  readonly blockNumber: number;
  readonly validatorSetId: bigint;
}

/** Signature of one authority. */
export interface BeefySignature {
  /** Index in the set. */
  readonly index: number;
  /** r, s and the recovery id 0 or 1. */
  readonly signature: Uint8Array;
}

/** A commitment with signatures, as blocks carry it. */
export interface BeefyJustification {
  readonly commitment: BeefyCommitment;
  /** Members of the set. */
  readonly setLength: number;
  /** By ascending index. */
  readonly signatures: readonly BeefySignature[];
}

/** Engine of BEEFY in justifications. */
export const BEEFY_ENGINE = "BEEF";

/** Payload entry that holds the root of the mountain range. */
export const MMR_ROOT_ID = "mh";

const VERSION_1 = 1;

const payloadId: Codec<Uint8Array> = fixedBytes(2);
const commitmentCodec = Struct({
  payload: list(pair(payloadId, bytes)),
  blockNumber: u32,
  validatorSetId: u64,
});

/** SCALE of a set as the relay chain stores it. */
export const authoritySetCodec: Codec<BeefyAuthoritySet> = Struct({ id: u64, length: u32, root: hash256 });

/** SCALE of {@link BeefyMmrLeaf}: 113 bytes. */
export const mmrLeafCodec = Struct({
  version: u8,
  parentNumber: u32,
  parentHash: hash256,
  nextAuthoritySet: authoritySetCodec,
  /** Root of the tree of parachain heads. */
  extra: hash256,
});

/** A leaf of the relay chain's mountain range: one for each block. */
export type BeefyMmrLeaf = Readonly<CodecType<typeof mmrLeafCodec>>;

/** SCALE of a commitment: what is signed is its Keccak-256. */
export function encodeCommitment({ payload, blockNumber, validatorSetId }: BeefyCommitment): Uint8Array {
  return commitmentCodec.enc({
    payload: payload.map(({ id, data }) => [fromByteText(id), data] as const),
    blockNumber,
    validatorSetId,
  });
}

/** Hash that the authorities sign. */
export function commitmentHash(commitment: BeefyCommitment): Hash256 {
  return toHash256(keccak256(encodeCommitment(commitment)));
}

/** Hash of a leaf in the mountain range. */
export function beefyMmrLeafHash(leaf: BeefyMmrLeaf): Hash256 {
  return toHash256(keccak256(mmrLeafCodec.enc(leaf)));
}

/** The root of the mountain range that a commitment names, as the contract finds it: the last matching entry. */
export function findMmrRoot({ payload }: BeefyCommitment): Hash256 | undefined {
  const entry = payload.findLast(({ id, data }) => id === MMR_ROOT_ID && data.length === 32);
  return entry === undefined || entry.data.every((byte) => byte === 0) ? undefined : toHash256(entry.data);
}

/** Maximum number of authorities that a justification has a bit for: relay chains have some hundred. */
const MAX_AUTHORITIES = 65_536;

const justificationCodec = Struct({
  version: u8,
  commitment: commitmentCodec,
  signaturesFrom: bytes,
  setLength: u32,
  signatures: list(fixedBytes(65)),
});

/** Reads a justification of a relay chain block. @throws {BeefyError} `undecodable_data` */
export function decodeBeefyJustification(encoded: Uint8Array): BeefyJustification {
  const read = decoded(() => decodeStrict(justificationCodec, encoded, "VersionedFinalityProof"));
  const { commitment, setLength, signatures } = read;
  if (read.version !== VERSION_1) throw new BeefyError("undecodable_data");
  // The length of the set is any number; bits beyond those that are there are not set.
  const bits = Math.min(setLength, read.signaturesFrom.length * 8);
  if (bits > MAX_AUTHORITIES) throw new BeefyError("undecodable_data");
  const indexes = Array.from({ length: bits }, (_, index) => index)
    .filter((index) => ((read.signaturesFrom[index >> 3] ?? 0) & (0x80 >> (index & 7))) !== 0);
  if (indexes.length !== signatures.length) throw new BeefyError("undecodable_data");
  return {
    commitment: {
      ...commitment,
      payload: commitment.payload.map(([id, data]) => ({ id: toByteText(id), data })),
    },
    setLength,
    signatures: indexes.map((index, at) => ({ index, signature: signatures[at] ?? new Uint8Array(0) })),
  };
}

/** Writes a justification as the relay chain does. */
export function encodeBeefyJustification(
  { commitment, setLength, signatures }: BeefyJustification,
): Uint8Array {
  const signaturesFrom = new Uint8Array(Math.floor(setLength / 8) + 1);
  for (const { index } of signatures) {
    const at = index >> 3;
    signaturesFrom[at] = (signaturesFrom[at] ?? 0) | (0x80 >> (index & 7));
  }
  return concatBytes(
    Uint8Array.of(VERSION_1),
    encodeCommitment(commitment),
    bytes.enc(signaturesFrom),
    u32.enc(setLength),
    list(fixedBytes(65)).enc(signatures.map(({ signature }) => signature)),
  );
}

/** Runs a reader of SCALE. @throws {BeefyError} `undecodable_data` */
export function decoded<T>(read: () => T): T {
  return mapError(ScaleError, read, (cause) => new BeefyError("undecodable_data", { cause }));
}
