/**
 * Update of the hub's sync committee client, with its SCALE form. Source: polytope-labs/hyperbridge:
 * modules/consensus/sync-committee/primitives/src/{types,consensus_types}.rs; Bitvector: polytope-labs/ssz-rs:
 * src/bitvector.rs.
 */
import { createCodec, createDecoder, enhanceCodec } from "scale-ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  bool,
  bytes,
  type Codec,
  Enum,
  hash256,
  list,
  Option,
  ScaleError,
  Struct,
  u64,
} from "../../../../core/encoding/scale.ts";
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";

/** Header of a beacon block. */
export interface BeaconBlockHeader {
  readonly slot: bigint;
  readonly proposerIndex: bigint;
  readonly parentRoot: Hash256;
  readonly stateRoot: Hash256;
  readonly bodyRoot: Hash256;
}

/** The validators that sign headers for one period. */
export interface SyncCommittee {
  /** 512 compressed points of 48 bytes. */
  readonly publicKeys: readonly Uint8Array[];
  /** Sum of them, 48 bytes. */
  readonly aggregatePublicKey: Uint8Array;
}

/** The committee of the period after the attested header's, with its proof in the attested state. */
export interface SyncCommitteeUpdate {
  readonly nextSyncCommittee: SyncCommittee;
  /** Bottom up. */
  readonly nextSyncCommitteeBranch: readonly Hash256[];
}

/** Fields of the execution payload header of the finalized state, with their proof. */
export interface ExecutionPayloadProof {
  readonly stateRoot: Hash256;
  readonly blockNumber: bigint;
  /** Sibling nodes of state root, number and time in the payload header, by descending index. */
  readonly multiProof: readonly Hash256[];
  /** Branch of the payload header in the finalized state, bottom up. */
  readonly executionPayloadBranch: readonly Hash256[];
  /** Unix time of the execution block in seconds. */
  readonly timestampSec: bigint;
}

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
export const beaconBlockHeaderCodec: Codec<BeaconBlockHeader> = Struct({
  slot: u64,
  proposerIndex: u64,
  parentRoot: hash256,
  stateRoot: hash256,
  bodyRoot: hash256,
});

/** SCALE of {@link SyncCommittee}, 25 139 bytes. */
export const syncCommitteeCodec: Codec<SyncCommittee> = Struct({
  publicKeys: sizedList(publicKey, SYNC_COMMITTEE_SIZE),
  aggregatePublicKey: publicKey,
});

/**
 * Layout of an update in the hub's runtime. `glamsterdam` is a layout that the hub has in preparation: it comes with a
 * runtime upgrade, before the beacon chain forks, and other fields stay as they are. Metadata does not tell them apart.
 * Source: polytope-labs/hyperbridge, branch dami/glamsterdam-upgrade:
 * modules/consensus/sync-committee/primitives/src/types.rs.
 */
export type UpdateLayout = "current" | "glamsterdam";

const currentPayloadProof: Codec<ExecutionPayloadProof> = Struct({
  stateRoot: hash256,
  blockNumber: u64,
  multiProof: list(hash256),
  executionPayloadBranch: list(hash256),
  timestampSec: u64,
});

/** The variant of states of before the Gloas fork, which is the only one that exists. */
const glamsterdamPayloadProof: Codec<ExecutionPayloadProof> = enhanceCodec(
  Struct({
    stateRoot: hash256,
    blockNumber: u64,
    timestampSec: u64,
    executionPayloadBranch: list(hash256),
    proof: Enum({ Legacy: Struct({ multiProof: list(hash256) }) }),
  }),
  ({ multiProof, ...shared }) => ({ ...shared, proof: { tag: "Legacy" as const, value: { multiProof } } }),
  ({ proof, ...shared }) => ({ ...shared, multiProof: proof.value.multiProof }),
);

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
 * holds nothing else, so its bytes are the same. `current`: 1 544 bytes, with a committee 26 876.
 */
export const stateUpdateCodecs: Readonly<Record<UpdateLayout, Codec<StateUpdate>>> = {
  current: updateCodec(currentPayloadProof),
  glamsterdam: updateCodec(glamsterdamPayloadProof),
};
