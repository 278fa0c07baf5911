/**
 * SSZ hash tree roots of the objects of the sync committee client. Source: ethereum/consensus-specs:
 * specs/{phase0,altair,deneb}/beacon-chain.md, ssz/simple-serialize.md.
 */
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";
import type { BeaconBlockHeader, SyncCommittee } from "./update.ts";
import {
  concatBytes,
  fromHex,
  type Hash256,
  type Hex,
  toHash256,
  toHex,
} from "../../../../core/encoding/bytes.ts";
import { createNodeFromProof, createProof, type Node, ProofType } from "@chainsafe/persistent-merkle-tree";
import { ByteVectorType, ContainerType, type ValueOf, VectorCompositeType } from "@chainsafe/ssz";
import { ssz } from "@lodestar/types";
import { sha256 } from "@noble/hashes/sha2.js";

/** Parent of two nodes. */
export function sha256Pair(left: Hash256, right: Hash256): Hash256 {
  return toHex(sha256(concatBytes(fromHex(left), fromHex(right))));
}

/** Nodes between a leaf and its root. */
export function depthOf(generalizedIndex: number): number {
  return Math.floor(Math.log2(generalizedIndex));
}

/** Root of the tree that has `leaf` at the index and `branch` (bottom up) as siblings of the path. */
export function branchRoot(leaf: Hash256, branch: readonly Hash256[], generalizedIndex: number): Hash256 {
  let index = generalizedIndex;
  let node = leaf;
  for (const sibling of branch) {
    node = index % 2 === 0 ? sha256Pair(node, sibling) : sha256Pair(sibling, node);
    index = Math.floor(index / 2);
  }
  return node;
}

/** Node of zeros. */
export const ZERO_NODE: Hash256 = `0x${"00".repeat(32)}`;

/**
 * A branch of an older fork without the zero nodes in front of it, by which nodes lengthen it after a later fork
 * (consensus-specs: specs/electra/light-client/fork.md, normalize_merkle_branch).
 */
export function withoutPadding(branch: readonly Hash256[], generalizedIndex: number): readonly Hash256[] {
  const surplus = branch.length - depthOf(generalizedIndex);
  const isPadded = surplus > 0 && branch.slice(0, surplus).every((node) => node === ZERO_NODE);
  return isPadded ? branch.slice(surplus) : branch;
}

/** Nodes beside the paths of several leaves, by descending index, as a proof of them lists them. */
export function multiProofOf(tree: Node, leaves: readonly number[]): Hash256[] {
  const proof = createProof(tree, { type: ProofType.multi, gindices: leaves.map(BigInt) });
  if (proof.type !== ProofType.multi) throw new Error("The library made another proof");
  return proof.witnesses.map(toHash256);
}

/**
 * Root of the tree with these leaves, which are at one level. @param nodes of {@link multiProofOf}. @returns undefined
 * when there are too few or too many.
 */
export function multiProofRoot(
  leaves: ReadonlyMap<number, Hash256>,
  nodes: readonly Hash256[],
): Hash256 | undefined {
  try {
    const tree = createNodeFromProof({
      type: ProofType.multi,
      gindices: [...leaves.keys()].map(BigInt),
      leaves: [...leaves.values()].map(fromHex),
      witnesses: nodes.map(fromHex),
    });
    return toHash256(tree.root);
  } catch {
    return undefined; // the library's error has no code
  }
}

const { Root: root, UintBn64: uint64 } = ssz;

/** All of its numbers keep their 64 bits, as they are signed. */
const headerType = new ContainerType({
  slot: uint64,
  proposerIndex: uint64,
  parentRoot: root,
  stateRoot: root,
  bodyRoot: root,
});
const { ForkData: forkDataType, SigningData: signingDataType } = ssz.phase0;
const publicKey = new ByteVectorType(48);

/** SSZ of a committee. */
export const committeeType = new ContainerType({
  publicKeys: new VectorCompositeType(publicKey, SYNC_COMMITTEE_SIZE),
  aggregatePublicKey: publicKey,
});

/** SSZ of a checkpoint. */
export const checkpointType = ssz.phase0.CheckpointBigint;

/** That of Deneb, Electra and Fulu. Capella's has no blob gas: clients of ours never read it. */
const payloadType = ssz.deneb.ExecutionPayloadHeader;

/** Header of an execution block inside of the beacon chain, with its tree. */
export class ExecutionPayloadHeader {
  readonly stateRoot: Hash256;
  readonly blockNumber: bigint;
  readonly timestampSec: bigint;
  readonly tree: Node;

  constructor(value: ValueOf<typeof payloadType>) {
    this.stateRoot = toHash256(value.stateRoot);
    this.blockNumber = BigInt(value.blockNumber);
    this.timestampSec = BigInt(value.timestamp);
    this.tree = payloadType.value_toTree(value);
  }

  /** From the JSON of a node. @throws errors of the codec library, without a code. */
  static fromJson(json: unknown): ExecutionPayloadHeader {
    return new ExecutionPayloadHeader(payloadType.fromJson(json));
  }

  /** From SSZ bytes. @throws errors of the codec library, without a code. */
  static fromBytes(bytes: Uint8Array): ExecutionPayloadHeader {
    return new ExecutionPayloadHeader(payloadType.deserialize(bytes));
  }

  get root(): Hash256 {
    return toHash256(this.tree.root);
  }
}

/** Leaf of a number: eight bytes little endian and zeros. @throws when it is not below 2^64. */
export function uint64Root(value: bigint): Hash256 {
  return toHash256(uint64.hashTreeRoot(value));
}

/** The number of a leaf made by {@link uint64Root}; undefined when the other bytes are not zero. */
export function uint64OfRoot(leaf: Hash256): bigint | undefined {
  const data = fromHex(leaf);
  const value = new DataView(data.buffer, data.byteOffset).getBigUint64(0, true);
  return uint64Root(value) === leaf ? value : undefined;
}

/** Root of a beacon block, which is that of its header. */
export function headerRoot(header: BeaconBlockHeader): Hash256 {
  return toHash256(headerType.hashTreeRoot({
    ...header,
    parentRoot: fromHex(header.parentRoot),
    stateRoot: fromHex(header.stateRoot),
    bodyRoot: fromHex(header.bodyRoot),
  }));
}

/** Root of a sync committee. @throws when it does not have 512 keys. */
export function committeeRoot(committee: SyncCommittee): Hash256 {
  return toHash256(committeeType.hashTreeRoot({
    publicKeys: [...committee.publicKeys],
    aggregatePublicKey: committee.aggregatePublicKey,
  }));
}

/** Root of a finalized checkpoint. */
export function checkpointRoot(epoch: bigint, blockRoot: Hash256): Hash256 {
  return toHash256(checkpointType.hashTreeRoot({ epoch, root: fromHex(blockRoot) }));
}

/** Domain type of sync committee signatures (consensus-specs: specs/altair/beacon-chain.md). */
const DOMAIN_SYNC_COMMITTEE = Uint8Array.of(7, 0, 0, 0);

/** Signature domain of a fork of a network: domain type and 28 bytes of a root. */
export function syncCommitteeDomain(forkVersion: Hex, genesisValidatorsRoot: Hash256): Hash256 {
  const forkData = forkDataType.hashTreeRoot({
    currentVersion: fromHex(forkVersion),
    genesisValidatorsRoot: fromHex(genesisValidatorsRoot),
  });
  const domain = new Uint8Array(32);
  domain.set(DOMAIN_SYNC_COMMITTEE);
  domain.set(forkData.subarray(0, 28), 4);
  return toHash256(domain);
}

/** The 32 bytes that the committee signs. */
export function signingRoot(header: BeaconBlockHeader, domain: Hash256): Hash256 {
  return toHash256(
    signingDataType.hashTreeRoot({ objectRoot: fromHex(headerRoot(header)), domain: fromHex(domain) }),
  );
}
