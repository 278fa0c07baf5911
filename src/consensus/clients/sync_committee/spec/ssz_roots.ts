/**
 * SSZ hash tree roots of the objects of the sync committee client. Source: ethereum/consensus-specs:
 * specs/{phase0,altair,deneb}/beacon-chain.md, ssz/simple-serialize.md.
 */
import { getNode } from "@chainsafe/persistent-merkle-tree";
import {
  ByteListType,
  ByteVectorType,
  ContainerType,
  UintBigintType,
  type ValueOf,
  VectorCompositeType,
} from "@chainsafe/ssz";
import { fromHex, type Hash256, type Hex, toHash256 } from "../../../../core/encoding/bytes.ts";
import { SYNC_COMMITTEE_SIZE } from "./beacon_network.ts";
import type { BeaconBlockHeader, SyncCommittee } from "./update.ts";

/**
 * Header of an execution block inside of the beacon chain; the 17 fields of Deneb, Electra and Fulu.
 * Capella's has no blob gas: clients of ours never read it.
 */
export interface ExecutionPayloadHeader {
  readonly parentHash: Hash256;
  /** 20 bytes. */
  readonly feeRecipient: Uint8Array;
  readonly stateRoot: Hash256;
  readonly receiptsRoot: Hash256;
  /** 256 bytes. */
  readonly logsBloom: Uint8Array;
  readonly prevRandao: Hash256;
  readonly blockNumber: bigint;
  readonly gasLimit: bigint;
  readonly gasUsed: bigint;
  /** Unix time in seconds. */
  readonly timestampSec: bigint;
  /** At most 32 bytes. */
  readonly extraData: Uint8Array;
  readonly baseFeePerGasWei: bigint;
  readonly blockHash: Hash256;
  readonly transactionsRoot: Hash256;
  readonly withdrawalsRoot: Hash256;
  readonly blobGasUsed: bigint;
  readonly excessBlobGas: bigint;
}

const uint64 = new UintBigintType(8);
const root = new ByteVectorType(32);
const publicKey = new ByteVectorType(48);

const headerType = new ContainerType({
  slot: uint64,
  proposerIndex: uint64,
  parentRoot: root,
  stateRoot: root,
  bodyRoot: root,
});

const committeeType = new ContainerType({
  publicKeys: new VectorCompositeType(publicKey, SYNC_COMMITTEE_SIZE),
  aggregatePublicKey: publicKey,
});

const payloadType = new ContainerType({
  parentHash: root,
  feeRecipient: new ByteVectorType(20),
  stateRoot: root,
  receiptsRoot: root,
  logsBloom: new ByteVectorType(256),
  prevRandao: root,
  blockNumber: uint64,
  gasLimit: uint64,
  gasUsed: uint64,
  timestampSec: uint64,
  extraData: new ByteListType(32),
  baseFeePerGasWei: new UintBigintType(32),
  blockHash: root,
  transactionsRoot: root,
  withdrawalsRoot: root,
  blobGasUsed: uint64,
  excessBlobGas: uint64,
});

const checkpointType = new ContainerType({ epoch: uint64, root });
const forkDataType = new ContainerType({ version: new ByteVectorType(4), genesisValidatorsRoot: root });
const signingDataType = new ContainerType({ objectRoot: root, domain: root });

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

/**
 * Nodes of the tree of a payload header by their generalized indices, index 1 being its root.
 * @throws when a field has a wrong length.
 */
export function payloadNodes(header: ExecutionPayloadHeader, indices: readonly number[]): Hash256[] {
  const tree = payloadType.value_toTree(toPayloadValue(header));
  return indices.map((index) => toHash256(getNode(tree, BigInt(index)).root));
}

/** Root of a payload header of these SSZ bytes. @throws when they are no payload header. */
export function payloadHeaderRootOf(bytes: Uint8Array): Uint8Array {
  return payloadType.hashTreeRoot(payloadType.deserialize(bytes));
}

function toPayloadValue(header: ExecutionPayloadHeader): ValueOf<typeof payloadType> {
  return {
    ...header,
    parentHash: fromHex(header.parentHash),
    stateRoot: fromHex(header.stateRoot),
    receiptsRoot: fromHex(header.receiptsRoot),
    prevRandao: fromHex(header.prevRandao),
    blockHash: fromHex(header.blockHash),
    transactionsRoot: fromHex(header.transactionsRoot),
    withdrawalsRoot: fromHex(header.withdrawalsRoot),
  };
}

/** A payload header from its SSZ bytes. @throws when they are none. */
export function readPayloadHeader(bytes: Uint8Array): ExecutionPayloadHeader {
  const header = payloadType.deserialize(bytes);
  return {
    ...header,
    parentHash: toHash256(header.parentHash),
    stateRoot: toHash256(header.stateRoot),
    receiptsRoot: toHash256(header.receiptsRoot),
    prevRandao: toHash256(header.prevRandao),
    blockHash: toHash256(header.blockHash),
    transactionsRoot: toHash256(header.transactionsRoot),
    withdrawalsRoot: toHash256(header.withdrawalsRoot),
  };
}

/** Domain type of sync committee signatures (consensus-specs: specs/altair/beacon-chain.md). */
const DOMAIN_SYNC_COMMITTEE = Uint8Array.of(7, 0, 0, 0);

/** Signature domain of a fork of a network: domain type and 28 bytes of a root. */
export function syncCommitteeDomain(forkVersion: Hex, genesisValidatorsRoot: Hash256): Hash256 {
  const forkData = forkDataType.hashTreeRoot({
    version: fromHex(forkVersion),
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
