/**
 * Update of the hub's sync committee client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/consensus/sync-committee/primitives/src/{types,consensus_types}.rs; Bitvector: polytope-labs/ssz-rs:
 * src/bitvector.rs.
 */
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  bool,
  bytes,
  type Codec,
  Enum,
  fixedBytes,
  hash256,
  list,
  Option,
  pair,
  ScaleError,
  Struct,
  u32,
  u64,
} from "../../../../core/encoding/scale.ts";
import { type HeaderCommitment, readHeaderCommitment } from "../../../../core/evm/block_header.ts";
import { stateMachineMap } from "../../../../core/ismp/state_machine.ts";
import { type CodecType, createCodec, createDecoder, enhanceCodec } from "scale-ts";

/** The committee of the period after the attested header's, with its proof in the attested state. */
export interface SyncCommitteeUpdate {
  readonly nextSyncCommittee: SyncCommittee;
  /** Bottom up. */
  readonly nextSyncCommitteeBranch: readonly Hash256[];
}

/** Before Gloas: proved by the payload header in the finalized state. */
export interface LegacyPayloadProof extends HeaderCommitment {
  /** Sibling nodes of state root, number and time in the payload header, by descending index. */
  readonly multiProof: readonly Hash256[];
  /** Branch of the payload header in the finalized state, bottom up. */
  readonly executionPayloadBranch: readonly Hash256[];
}

/** From Gloas on: proved by the hash of the execution block in the finalized state. */
export interface GloasPayloadProof extends HeaderCommitment {
  /** RLP of the header with this hash. */
  readonly executionHeader: Uint8Array;
  /** Branch of the hash in the finalized state, bottom up. */
  readonly executionPayloadBranch: readonly Hash256[];
}

/** Proof of the execution block, by the fork of the finalized header. */
export type ExecutionPayloadProof = LegacyPayloadProof | GloasPayloadProof;

/** Place of the finalized checkpoint in the attested state. */
export interface CheckpointProof {
  readonly epoch: bigint;
  /** Branch of the checkpoint as a whole (not of its root, as beacon nodes give it), bottom up. */
  readonly finalityBranch: readonly Hash256[];
}

/** Signers of the attested header, and the signature. */
export interface SyncAggregate {
  /** 64 bytes as in SSZ: bit `i & 7` of byte `i >> 3` is member i. */
  readonly bits: Uint8Array;
  /** Compressed point of 96 bytes. */
  readonly signature: Uint8Array;
}

/** One step of the light client. */
export interface StateUpdate {
  readonly attestedHeader: BeaconBlockHeader;
  /** Needed when the update enters the next period; otherwise checked and ignored by the hub. */
  readonly syncCommitteeUpdate: SyncCommitteeUpdate | undefined;
  readonly finalizedHeader: BeaconBlockHeader;
  readonly executionPayload: ExecutionPayloadProof;
  readonly finalityProof: CheckpointProof;
  readonly syncAggregate: SyncAggregate;
  /** Slot of the block that carries the aggregate. */
  readonly signatureSlot: bigint;
}

/** An update without its part of the finalized state: what the committee's signature proves. */
export type SignedUpdate = Omit<StateUpdate, "executionPayload">;

/** True when member `index` signed. */
export function isSigner(bits: Uint8Array, index: number): boolean {
  return (((bits[index >> 3] ?? 0) >> (index & 7)) & 1) === 1;
}

/** Number of members that signed. */
export function countSigners(bits: Uint8Array): number {
  let count = 0;
  for (let index = 0; index < SYNC_COMMITTEE_SIZE; index++) if (isSigner(bits, index)) count++;
  return count;
}

/** `Vec<u8>` of one length only; the hub refuses any other since the length check of its `ByteVector`. */
function sizedBytes(length: number): Codec<Uint8Array> {
  const checked = (value: Uint8Array): Uint8Array => {
    if (value.length !== length) throw new ScaleError("invalid", `ByteVector<${length}>`);
    return value;
  };
  return enhanceCodec(bytes, checked, checked);
}

/** A `Vec` of one length only (the hub's `Vector<T, N>`). */
function sizedList<T>(item: Codec<T>, length: number): Codec<readonly T[]> {
  const checked = (values: readonly T[]): readonly T[] => {
    if (values.length !== length) throw new ScaleError("invalid", `Vector<${length}>`);
    return values;
  };
  const inner = list(item);
  return createCodec(
    (values) => inner.enc(checked(values)),
    createDecoder((input) => checked(inner.dec(input))),
  );
}

/** `Vec<bool>`, one byte for each member. The hub also accepts shorter ones, which no relayer sends. */
const signerBits: Codec<Uint8Array> = enhanceCodec(
  sizedList(bool, SYNC_COMMITTEE_SIZE),
  (bits) => {
    if (bits.length !== SYNC_COMMITTEE_SIZE / 8) throw new ScaleError("invalid", "Bitvector<512>");
    return Array.from({ length: SYNC_COMMITTEE_SIZE }, (_, index) => isSigner(bits, index));
  },
  (flags) => {
    const bits = new Uint8Array(SYNC_COMMITTEE_SIZE / 8);
    flags.forEach((flag, index) =>
      bits[index >> 3] = (bits[index >> 3] ?? 0) | (Number(flag) << (index & 7))
    );
    return bits;
  },
);

const publicKey = sizedBytes(48);

/** SCALE of {@link BeaconBlockHeader}, 112 bytes. */
const beaconBlockHeaderCodec = Struct({
  slot: u64,
  proposerIndex: u64,
  parentRoot: hash256,
  stateRoot: hash256,
  bodyRoot: hash256,
});

/** Header of a beacon block. */
export type BeaconBlockHeader = Readonly<CodecType<typeof beaconBlockHeaderCodec>>;

/** SCALE of {@link SyncCommittee}, 25 139 bytes. */
export const syncCommitteeCodec = Struct({
  /** 512 compressed points of 48 bytes. */
  publicKeys: sizedList(publicKey, SYNC_COMMITTEE_SIZE),
  /** Sum of them, 48 bytes. */
  aggregatePublicKey: publicKey,
});

/** The validators that sign headers for one period. */
export type SyncCommittee = Readonly<CodecType<typeof syncCommitteeCodec>>;

/**
 * Layouts of an update in runtimes of the hub, which differ in the proof of the execution block; metadata does not tell
 * them apart. `flat` is that of August 2026 and carries no state of Gloas; `split` came to a branch in July, `variant`
 * in September. Source: polytope-labs/hyperbridge: modules/consensus/sync-committee/primitives/src/types.rs;
 * docs/protocol/evm-consensus.md section 5.11.
 */
export const updateLayouts = ["flat", "split", "variant"] as const;

/** Name of a layout. */
export type UpdateLayout = typeof updateLayouts[number];

/** True when updates of this layout can hold the proof. */
export function canCarry(layout: UpdateLayout, proof: ExecutionPayloadProof): boolean {
  return layout !== "flat" || "multiProof" in proof;
}

const commitment = { stateRoot: hash256, blockNumber: u64, timestampSec: u64 };
const multiProof = list(hash256);
const executionPayloadBranch = list(hash256);
const gloasVariant = Struct({ executionHeader: bytes });

const payloadProofCodecs: Readonly<Record<UpdateLayout, Codec<ExecutionPayloadProof>>> = {
  flat: enhanceCodec(
    Struct({ stateRoot: hash256, blockNumber: u64, multiProof, executionPayloadBranch, timestampSec: u64 }),
    (proof: ExecutionPayloadProof) => {
      if ("multiProof" in proof) return proof;
      throw new ScaleError("invalid", "ExecutionPayloadProof");
    },
    (proof): ExecutionPayloadProof => proof,
  ),
  split: enhanceCodec(
    Struct({
      ...commitment,
      executionPayloadBranch,
      proof: Enum({ Legacy: Struct({ multiProof }), Gloas: gloasVariant }),
    }),
    (proof: ExecutionPayloadProof) => ({ ...proof, proof: toVariant(proof) }),
    ({ proof: { value }, ...shared }) => ({ ...shared, ...value }),
  ),
  variant: enhanceCodec(
    Struct({
      executionPayloadBranch,
      proof: Enum({ Legacy: Struct({ ...commitment, multiProof }), Gloas: gloasVariant }),
    }),
    (proof: ExecutionPayloadProof) => ({ ...proof, proof: toVariant(proof) }),
    ({ proof, executionPayloadBranch }) => ({
      executionPayloadBranch,
      ...(proof.tag === "Legacy"
        ? proof.value
        : { ...proof.value, ...commitmentOf(proof.value.executionHeader) }),
    }),
  ),
};

function toVariant(
  proof: ExecutionPayloadProof,
): { readonly tag: "Legacy"; readonly value: LegacyPayloadProof } | {
  readonly tag: "Gloas";
  readonly value: GloasPayloadProof;
} {
  return "multiProof" in proof ? { tag: "Legacy", value: proof } : { tag: "Gloas", value: proof };
}

function commitmentOf(executionHeader: Uint8Array): HeaderCommitment {
  const read = readHeaderCommitment(executionHeader);
  if (read === undefined) throw new ScaleError("invalid", "execution_header");
  return read;
}

function updateCodec(executionPayload: Codec<ExecutionPayloadProof>): Codec<StateUpdate> {
  return Struct({
    attestedHeader: beaconBlockHeaderCodec,
    syncCommitteeUpdate: Option(Struct({
      nextSyncCommittee: syncCommitteeCodec,
      nextSyncCommitteeBranch: list(hash256),
    })),
    finalizedHeader: beaconBlockHeaderCodec,
    executionPayload,
    finalityProof: Struct({ epoch: u64, finalityBranch: list(hash256) }),
    syncAggregate: Struct({ bits: signerBits, signature: sizedBytes(96) }),
    signatureSlot: u64,
  });
}

/**
 * SCALE of {@link StateUpdate} by layout. The hub's `BeaconClientUpdate`, which is the consensus proof of a message,
 * holds nothing else, so its bytes are the same. `flat`: 1 544 bytes, with a committee 26 876.
 */
export const stateUpdateCodecs: Readonly<Record<UpdateLayout, Codec<StateUpdate>>> = {
  flat: updateCodec(payloadProofCodecs.flat),
  split: updateCodec(payloadProofCodecs.split),
  variant: updateCodec(payloadProofCodecs.variant),
};

/** SCALE of {@link VerifierState}, 50 406 bytes. */
export const verifierStateCodec = Struct({
  finalizedHeader: beaconBlockHeaderCodec,
  latestFinalizedEpoch: u64,
  /** Signs in `statePeriod`. */
  currentSyncCommittee: syncCommitteeCodec,
  /** Signs in the period after it. */
  nextSyncCommittee: syncCommitteeCodec,
  statePeriod: u64,
});

/** State that the next update is verified against. */
export type VerifierState = Readonly<CodecType<typeof verifierStateCodec>>;

const address = fixedBytes(20);

const l2ConsensusCodec = Enum({
  ArbitrumOrbit: address,
  OpL2Oracle: address,
  /** Factory and respected game type. */
  OpFaultProofs: pair(address, u32),
  /** Factory and respected game types. */
  OpFaultProofGames: pair(address, list(u32)),
  ArbitrumBold: address,
});

/** SCALE of {@link BeaconConsensusState}; 50 412 bytes with an empty map. */
export const beaconConsensusStateCodec = Struct({
  /** Never set by the client itself: every update writes undefined. */
  frozenHeight: Option(u64),
  lightClientState: verifierStateCodec,
  l2Consensus: stateMachineMap(l2ConsensusCodec),
  /** Chain id of the execution chain: commitments are stored for `EVM-<chainId>`. */
  chainId: u32,
});

/** Consensus state of a sync committee client. */
export type BeaconConsensusState = Readonly<CodecType<typeof beaconConsensusStateCodec>>;
