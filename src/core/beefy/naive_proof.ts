/**
 * Proofs of the hub for EVM hosts, in the form of the consensus router: a byte for the kind, then ABI parameters.
 * Source: polytope-labs/hyperbridge: evm/src/consensus/{Types,ConsensusRouter,SP1Beefy}.sol.
 */
import { type AbiParameter, decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from "viem";
import type { Hash256, Hex } from "../encoding/bytes.ts";
import { concatBytes, fromByteText, fromHex, toByteText, toHash256, toHex } from "../encoding/bytes.ts";
import { mapError } from "../encoding/coded_error.ts";
import { type BeefyCommitment, BeefyError, type BeefyMmrLeaf, type BeefySignature } from "./commitment.ts";

/** The relay chain's part of a naive proof. */
export interface RelayChainProof {
  readonly commitment: BeefyCommitment;
  /** By ascending index; recovery ids are 27 and 28. */
  readonly votes: readonly BeefySignature[];
  readonly leaf: BeefyMmrLeaf;
  readonly leafIndex: bigint;
  readonly mmrProof: readonly Hash256[];
  /** Proof of the voters' membership. */
  readonly authoritiesProof: readonly Hash256[];
}

/** A parachain's head at its place in the tree of heads. */
export interface ProvenHead {
  readonly index: number;
  readonly paraId: number;
  /** SCALE header. */
  readonly header: Uint8Array;
}

/** The parachains' part of a naive proof. */
export interface ParachainProof {
  /** By ascending index; may be empty. */
  readonly heads: readonly ProvenHead[];
  readonly proof: readonly Hash256[];
  /** Heads in the tree. */
  readonly leafCount: number;
}

/** A proof by signatures. */
export interface NaiveProof {
  readonly relay: RelayChainProof;
  readonly parachain: ParachainProof;
}

/** First byte of a proof by signatures. */
export const ECDSA_PROOF = 0;
/** First byte of a zero-knowledge proof. */
const SP1_PROOF = 1;

const structs = [
  "struct Payload { bytes2 id; bytes data; }",
  "struct Commitment { Payload[] payload; uint32 blockNumber; uint64 validatorSetId; }",
  "struct Vote { bytes signature; uint256 authorityIndex; }",
  "struct SignedCommitment { Commitment commitment; Vote[] votes; }",
  "struct AuthoritySet { uint64 id; uint32 len; bytes32 root; }",
  "struct MmrLeaf { uint8 version; uint32 parentNumber; bytes32 parentHash; AuthoritySet nextAuthoritySet; bytes32 extra; uint256 leafIndex; }",
  "struct RelayChainProof { SignedCommitment signedCommitment; MmrLeaf latestMmrLeaf; bytes32[] mmrProof; bytes32[] proof; }",
  "struct Parachain { uint256 index; uint256 id; bytes header; }",
  "struct ParachainProof { Parachain[] parachains; bytes32[] proof; uint256 leafCount; }",
  "struct MiniCommitment { uint256 blockNumber; uint256 validatorSetId; }",
  "struct PartialMmrLeaf { uint8 version; uint32 parentNumber; bytes32 parentHash; AuthoritySet nextAuthoritySet; bytes32 extra; }",
  "struct ParachainHeader { uint256 id; bytes header; }",
] as const;

const naiveParameters = parseAbiParameters([
  "RelayChainProof relay, ParachainProof parachain",
  ...structs,
]);

const sp1Parameters = parseAbiParameters([
  "MiniCommitment commitment, PartialMmrLeaf leaf, ParachainHeader[] headers, bytes groth16, bytes32 nonce",
  ...structs,
]);

/** Encodes the proof in the form of the hosts. */
export function encodeNaiveProof({ relay, parachain }: NaiveProof): Uint8Array {
  const parameters = encodeAbiParameters(naiveParameters, [
    {
      signedCommitment: {
        commitment: {
          ...relay.commitment,
          payload: relay.commitment.payload.map(({ id, data }) => ({
            id: toHex(fromByteText(id)),
            data: toHex(data),
          })),
        },
        votes: relay.votes.map(({ index, signature }) => ({
          signature: toHex(signature),
          authorityIndex: BigInt(index),
        })),
      },
      latestMmrLeaf: {
        ...relay.leaf,
        nextAuthoritySet: { ...relay.leaf.nextAuthoritySet, len: relay.leaf.nextAuthoritySet.length },
        leafIndex: relay.leafIndex,
      },
      mmrProof: relay.mmrProof,
      proof: relay.authoritiesProof,
    },
    {
      parachains: parachain.heads.map(({ index, paraId, header }) => ({
        index: BigInt(index),
        id: BigInt(paraId),
        header: toHex(header),
      })),
      proof: parachain.proof,
      leafCount: BigInt(parachain.leafCount),
    },
  ]);
  return concatBytes(Uint8Array.of(ECDSA_PROOF), fromHex(parameters));
}

/** Decodes ABI parameters; the library's errors have no codes: any failure is malformed. */
function decodeParameters<const P extends readonly AbiParameter[]>(
  parameters: P,
  proof: Uint8Array,
): ReturnType<typeof decodeAbiParameters<P>> {
  const read = (): ReturnType<typeof decodeAbiParameters<P>> =>
    decodeAbiParameters(parameters, toHex(proof.subarray(1)));
  return mapError(Error, read, (cause) => new BeefyError("undecodable_proof", { cause }));
}

/** Numbers that JavaScript counts exactly; trees of proofs have far fewer leaves. */
function toCount(value: bigint): number {
  if (value > 0xffff_ffffn) throw new BeefyError("leaf_index_out_of_bounds");
  return Number(value);
}

/** A number of a Solidity type with so many bits: contracts refuse larger ones, the library decodes them. */
function withinBits<N extends number | bigint>(value: N, bits: 8 | 32 | 64): N {
  if (BigInt(value) >> BigInt(bits) !== 0n) throw new BeefyError("undecodable_proof");
  return value;
}

/** A leaf as the library decodes it. */
interface AbiLeaf {
  readonly version: number;
  readonly parentNumber: number;
  readonly parentHash: Hex;
  readonly nextAuthoritySet: { readonly id: bigint; readonly len: number; readonly root: Hex };
  readonly extra: Hex;
}

function toLeaf({ version, parentNumber, parentHash, nextAuthoritySet, extra }: AbiLeaf): BeefyMmrLeaf {
  const { id, len, root } = nextAuthoritySet;
  return {
    version: withinBits(version, 8),
    parentNumber: withinBits(parentNumber, 32),
    parentHash: toHash256(parentHash),
    nextAuthoritySet: { id: withinBits(id, 64), length: withinBits(len, 32), root: toHash256(root) },
    extra: toHash256(extra),
  };
}

/** Reads a proof by signatures. @throws {BeefyError} `empty_proof`, `invalid_proof_type`, `undecodable_proof` */
export function decodeNaiveProof(proof: Uint8Array): NaiveProof {
  if (proofKind(proof) !== "ecdsa") throw new BeefyError("invalid_proof_type");
  const [relay, parachain] = decodeParameters(naiveParameters, proof);
  const { signedCommitment, latestMmrLeaf } = relay;
  const { commitment, votes } = signedCommitment;
  const { leafIndex, ...leaf } = latestMmrLeaf;
  return {
    relay: {
      commitment: {
        blockNumber: withinBits(commitment.blockNumber, 32),
        validatorSetId: withinBits(commitment.validatorSetId, 64),
        payload: commitment.payload.map(({ id, data }) => ({
          id: toByteText(fromHex(id)),
          data: fromHex(data),
        })),
      },
      votes: votes.map(({ signature, authorityIndex }) => ({
        index: toCount(authorityIndex),
        signature: fromHex(signature),
      })),
      leaf: toLeaf(leaf),
      leafIndex,
      mmrProof: relay.mmrProof.map(toHash256),
      authoritiesProof: relay.proof.map(toHash256),
    },
    parachain: {
      heads: parachain.parachains.map(({ index, id, header }) => ({
        index: toCount(index),
        paraId: toCount(id),
        header: fromHex(header),
      })),
      proof: parachain.proof.map(toHash256),
      leafCount: toCount(parachain.leafCount),
    },
  };
}

/** Subject of a proof, which decides whether it is new to a host. */
export interface ProofSubject {
  /** Relay chain block. */
  readonly blockNumber: bigint;
  readonly validatorSetId: bigint;
}

/** True for a proof of a kind that this version can read; later runtimes may accept others. */
export function hasKnownKind([kind]: Uint8Array): boolean {
  return kind === ECDSA_PROOF || kind === SP1_PROOF;
}

/** The kind of a proof. @throws {BeefyError} `empty_proof`, `invalid_proof_type` */
export function proofKind(proof: Uint8Array): "ecdsa" | "sp1" {
  const [kind] = proof;
  if (kind === undefined) throw new BeefyError("empty_proof");
  if (kind === ECDSA_PROOF) return "ecdsa";
  if (kind === SP1_PROOF) return "sp1";
  throw new BeefyError("invalid_proof_type");
}

/** Zero-knowledge proof, as far as it can be read without its circuit. */
export interface Sp1Proof {
  readonly blockNumber: bigint;
  readonly validatorSetId: bigint;
  readonly leaf: BeefyMmrLeaf;
  readonly heads: readonly Pick<ProvenHead, "paraId" | "header">[];
}

/** Reads a zero-knowledge proof. @throws {BeefyError} `empty_proof`, `invalid_proof_type`, `undecodable_proof` */
export function decodeSp1Proof(proof: Uint8Array): Sp1Proof {
  if (proofKind(proof) !== "sp1") throw new BeefyError("invalid_proof_type");
  const [commitment, leaf, headers] = decodeParameters(sp1Parameters, proof);
  return {
    ...commitment,
    leaf: toLeaf(leaf),
    heads: headers.map(({ id, header }) => ({ paraId: toCount(id), header: fromHex(header) })),
  };
}

/** Reads the subject of a proof of either kind without verifying it. @throws {BeefyError} */
export function readProofSubject(proof: Uint8Array): ProofSubject {
  if (proofKind(proof) === "sp1") return decodeSp1Proof(proof);
  const { blockNumber, validatorSetId } = decodeNaiveProof(proof).relay.commitment;
  return { blockNumber: BigInt(blockNumber), validatorSetId };
}
