/**
 * Envelopes of proofs: `Proof` and the formats of its opaque bytes. `core/merkle` verifies them. Source:
 * polytope-labs/hyperbridge: modules/ismp/core/src/messaging.rs, modules/ismp/state-machines, modules/trees/mmr.
 */
import type { Hash256, Hex } from "../encoding/bytes.ts";
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
import { type StateMachineHeight, stateMachineHeightCodec } from "./state_machine.ts";

/** Bytes that prove something at a height of a chain; the format depends on the chain that is proven. */
export interface Proof {
  readonly height: StateMachineHeight;
  readonly proof: Uint8Array;
}

/** Hash function of a Substrate chain's tries. */
export type HashAlgorithm = "Keccak" | "Blake2";

/** Nodes of a Substrate trie, for every Substrate chain including the hub. */
export interface StateMachineProof {
  readonly hasher: HashAlgorithm;
  readonly storageProof: readonly Uint8Array[];
}

/** RLP nodes of an EVM chain's account trie and of storage tries, keyed by the 20-byte address in hex. */
export interface EvmStateProof {
  readonly contractProof: readonly Uint8Array[];
  readonly storageProof: ReadonlyMap<Hex, readonly Uint8Array[]>;
}

/**
 * Nodes of a Substrate chain's main trie, which prove the records of EVM contracts and the roots of their child tries,
 * and nodes of those child tries, keyed by the 20-byte address in hex.
 */
export interface SubstrateEvmProof {
  readonly mainProof: readonly Uint8Array[];
  readonly storageProof: ReadonlyMap<Hex, readonly Uint8Array[]>;
}

/** Location of a leaf in the hub's MMR. */
export interface LeafIndexAndPos {
  readonly leafIndex: bigint;
  /** Position among all nodes: 2 * index - popcount(index). */
  readonly pos: bigint;
}

/** Answer of `mmr_queryProof`: leaves in the order requested, items in canonical order. */
export interface MmrProof {
  readonly leafIndicesAndPos: readonly LeafIndexAndPos[];
  readonly leafCount: bigint;
  readonly items: readonly Hash256[];
}

/** Subject of an MMR proof: commitments of requests or of responses. */
export type ProofKeys =
  | { readonly tag: "Requests"; readonly value: readonly Hash256[] }
  | { readonly tag: "Responses"; readonly value: readonly Hash256[] };

/** Proof of parachain headers under a relay chain's state root, in the form of the hub's parachain client. */
export interface ParachainConsensusProof {
  /** A block of the relay chain whose state root the verifying chain knows. */
  readonly relayHeight: number;
  /** Nodes of that block's state that prove heads. */
  readonly storageProof: readonly Uint8Array[];
}

/** SCALE of {@link Proof}. */
export const proofCodec: Codec<Proof> = Struct({ height: stateMachineHeightCodec, proof: bytes });

/** SCALE of {@link HashAlgorithm}. */
const hashAlgorithmCodec: Codec<HashAlgorithm> = unitEnum(["Keccak", "Blake2"]);

/** SCALE of {@link StateMachineProof}. */
export const stateMachineProofCodec: Codec<StateMachineProof> = Struct({
  hasher: hashAlgorithmCodec,
  storageProof: list(bytes),
});

const nodesByKey = orderedMap(bytesAsHex, list(bytes), compareHex);

/** SCALE of {@link EvmStateProof}. */
export const evmStateProofCodec: Codec<EvmStateProof> = Struct({
  contractProof: list(bytes),
  storageProof: nodesByKey,
});

/** SCALE of {@link SubstrateEvmProof}. */
export const substrateEvmProofCodec: Codec<SubstrateEvmProof> = Struct({
  mainProof: list(bytes),
  storageProof: nodesByKey,
});

/** SCALE of {@link LeafIndexAndPos}. */
export const leafIndexAndPosCodec: Codec<LeafIndexAndPos> = Struct({ leafIndex: u64, pos: u64 });

/** SCALE of {@link MmrProof}. */
export const mmrProofCodec: Codec<MmrProof> = Struct({
  leafIndicesAndPos: list(leafIndexAndPosCodec),
  leafCount: u64,
  items: list(hash256),
});

/** SCALE of {@link ParachainConsensusProof}. */
export const parachainConsensusProofCodec: Codec<ParachainConsensusProof> = Struct({
  relayHeight: u32,
  storageProof: list(bytes),
});
