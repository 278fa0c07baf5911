/**
 * Envelopes of proofs: `Proof` and the formats of its opaque bytes. `core/merkle` verifies them. Source:
 * polytope-labs/hyperbridge: modules/ismp/core/src/messaging.rs, modules/ismp/state-machines, modules/trees/mmr.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import {
  bytes,
  bytesAsHex,
  type Codec,
  compareHex,
  hash256,
  list,
  orderedMap,
  Struct,
  u32,
  u64,
  unitEnum,
} from "../encoding/scale.ts";
import { stateMachineHeightCodec } from "./state_machine.ts";
import type { CodecType } from "scale-ts";

/** Hash function of a Substrate chain's tries. */
export type HashAlgorithm = "Keccak" | "Blake2";

/** Subject of an MMR proof: commitments of requests or of responses. */
export type ProofKeys =
  | { readonly tag: "Requests"; readonly value: readonly Hash256[] }
  | { readonly tag: "Responses"; readonly value: readonly Hash256[] };

/** SCALE of {@link Proof}. */
export const proofCodec = Struct({ height: stateMachineHeightCodec, proof: bytes });

/** Bytes that prove something at a height of a chain; the format depends on the chain that is proven. */
export type Proof = Readonly<CodecType<typeof proofCodec>>;

/** SCALE of {@link HashAlgorithm}. */
const hashAlgorithmCodec: Codec<HashAlgorithm> = unitEnum(["Keccak", "Blake2"]);

/** Nodes of a Substrate trie, for every Substrate chain including the hub. */
export const stateMachineProofCodec = Struct({
  hasher: hashAlgorithmCodec,
  storageProof: list(bytes),
});

const nodesByKey = orderedMap(bytesAsHex, list(bytes), compareHex);

/** SCALE of {@link EvmStateProof}. */
export const evmStateProofCodec = Struct({
  contractProof: list(bytes),
  storageProof: nodesByKey,
});

/** RLP nodes of an EVM chain's account trie and of storage tries, keyed by the 20-byte address in hex. */
export type EvmStateProof = Readonly<CodecType<typeof evmStateProofCodec>>;

/** SCALE of {@link SubstrateEvmProof}. */
export const substrateEvmProofCodec = Struct({
  mainProof: list(bytes),
  storageProof: nodesByKey,
});

/**
 * Nodes of a Substrate chain's main trie, which prove the records of EVM contracts and the roots of their child tries,
 * and nodes of those child tries, keyed by the 20-byte address in hex.
 */
export type SubstrateEvmProof = Readonly<CodecType<typeof substrateEvmProofCodec>>;

/** Location of a leaf in the hub's MMR. */
export const leafIndexAndPosCodec = Struct({
  leafIndex: u64,
  /** Position among all nodes: 2 * index - popcount(index). */
  pos: u64,
});

/** SCALE of {@link MmrProof}. */
export const mmrProofCodec = Struct({
  leafIndicesAndPos: list(leafIndexAndPosCodec),
  leafCount: u64,
  items: list(hash256),
});

/** Answer of `mmr_queryProof`: leaves in the order requested, items in canonical order. */
export type MmrProof = Readonly<CodecType<typeof mmrProofCodec>>;

/** SCALE of {@link ParachainConsensusProof}. */
export const parachainConsensusProofCodec = Struct({
  /** A block of the relay chain whose state root the verifying chain knows. */
  relayHeight: u32,
  /** Nodes of that block's state that prove heads. */
  storageProof: list(bytes),
});

/** Proof of parachain headers under a relay chain's state root, in the form of the hub's parachain client. */
export type ParachainConsensusProof = Readonly<CodecType<typeof parachainConsensusProofCodec>>;
