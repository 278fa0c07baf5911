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
import { getNode, type Node } from "@chainsafe/persistent-merkle-tree";
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

/** Indices of the nodes that a proof of several leaves needs, in the order in which it lists them: descending. */
export function helperIndices(leaves: readonly number[]): number[] {
  const paths = new Set(leaves.flatMap((leaf) => pathOf(leaf)));
  const siblings = new Set([...paths].filter((index) => index > 1).map((index) => index ^ 1));
  return [...siblings].filter((index) => !paths.has(index)).sort((a, b) => b - a);
}

function pathOf(leaf: number): number[] {
  const path: number[] = [];
  for (let index = leaf; index >= 1; index = index >> 1) path.push(index);
  return path;
}

/**
 * Root of the tree with these leaves; `helpers` are the nodes of {@link helperIndices} in that order.
 * @returns undefined when there are too few or too many helpers.
 */
export function multiproofRoot(
  leaves: ReadonlyMap<number, Hash256>,
  helpers: readonly Hash256[],
): Hash256 | undefined {
  const indices = helperIndices([...leaves.keys()]);
  if (helpers.length !== indices.length) return undefined;
  const nodes = new Map(leaves);
  indices.forEach((index, at) => {
    const helper = helpers[at];
    if (helper !== undefined) nodes.set(index, helper);
  });
  for (let index = Math.max(...nodes.keys()) & ~1; index > 1; index -= 2) {
    const [left, right] = [nodes.get(index), nodes.get(index + 1)];
    if (left !== undefined && right !== undefined) nodes.set(index >> 1, sha256Pair(left, right));
  }
  return nodes.get(1);
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
  readonly #tree: Node;

  constructor(value: ValueOf<typeof payloadType>) {
    this.stateRoot = toHash256(value.stateRoot);
    this.blockNumber = BigInt(value.blockNumber);
    this.timestampSec = BigInt(value.timestamp);
    this.#tree = payloadType.value_toTree(value);
  }

  /** From the JSON of a node. @throws errors of the codec library, without a code. */
  static fromJson(json: unknown): ExecutionPayloadHeader {
    return new ExecutionPayloadHeader(payloadType.fromJson(json));
  }

  /** From SSZ bytes. @throws errors of the codec library, without a code. */
  static fromBytes(bytes: Uint8Array): ExecutionPayloadHeader {
    return new ExecutionPayloadHeader(payloadType.deserialize(bytes));
  }

  /** The root. */
  get root(): Hash256 {
    return toHash256(this.#tree.root);
  }

  /** Nodes of the tree by their generalized indices. */
  nodes(indices: readonly number[]): Hash256[] {
    return indices.map((index) => toHash256(getNode(this.#tree, BigInt(index)).root));
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
