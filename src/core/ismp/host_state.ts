/**
 * Values that a Substrate host keeps about requests (child trie) and puts into its headers (digest items).
 * Source: polytope-labs/hyperbridge: modules/pallets/ismp/src/{child_trie,dispatcher}.rs, modules/ismp/clients/parachain.
 */
import { equalBytes } from "../encoding/bytes.ts";
import {
  bool,
  bytes,
  type Codec,
  decodePrefix,
  decodeStrict,
  fixedBytes,
  hash256,
  Struct,
  u128,
  u64,
  u8,
} from "../encoding/scale.ts";
import { leafIndexAndPosCodec } from "./proof.ts";
import type { CodecType } from "scale-ts";

/** SCALE of {@link RequestMetadata}. */
export const requestMetadataCodec = Struct({
  offchain: leafIndexAndPosCodec,
  /** Relayer fee; 0 on the hub for requests that it only routes. */
  fee: Struct({ payer: hash256, fee: u128 }),
  /** True once the fee was accumulated. */
  claimed: bool,
});

/** Value under `RequestCommitments` and `ResponseCommitments`. */
export type RequestMetadata = Readonly<CodecType<typeof requestMetadataCodec>>;

/** SCALE of the value under `RequestReceipts`: the relayer. */
export const requestReceiptCodec: Codec<Uint8Array> = bytes;

/** Value under `ResponseReceipts`, stored by the commitment of the request. */
export const responseReceiptCodec = Struct({
  /** Commitment of the response. */
  response: hash256,
  relayer: bytes,
});

/** SCALE of {@link ConsensusDigest}. */
export const consensusDigestCodec = Struct({
  mmrRoot: hash256,
  childTrieRoot: hash256,
});

/** Data of the header digest item `Consensus("ISMP", ..)`. */
export type ConsensusDigest = Readonly<CodecType<typeof consensusDigestCodec>>;

/** Data of the header digest item `Consensus("ISTM", ..)`. */
export const timestampDigestCodec = Struct({ timestampSec: u64 });

const digestItemCodec = Struct({ kind: u8, engine: fixedBytes(4), data: bytes });
/** First bytes of the item: kind `Consensus` (paritytech/polkadot-sdk: digest.rs) and the engine `ISMP`. */
const CONSENSUS_ITEM = Uint8Array.of(4, 0x49, 0x53, 0x4d, 0x50);

/**
 * The ISMP roots that a header announces, from its SCALE digest items; `undefined` when it has no such item.
 * @throws {ScaleError} when the item does not hold two roots.
 */
export function findConsensusDigest(items: readonly Uint8Array[]): ConsensusDigest | undefined {
  const item = items.find((each) => equalBytes(each.subarray(0, CONSENSUS_ITEM.length), CONSENSUS_ITEM));
  if (item === undefined) return undefined;
  const { data } = decodeStrict(digestItemCodec, item, "DigestItem");
  // As the hub does: what a newer runtime appends is ignored.
  return decodePrefix(consensusDigestCodec, data, "ConsensusDigest");
}
