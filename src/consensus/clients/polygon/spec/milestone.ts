/**
 * Milestones: blocks of Bor that Heimdall has made final, as its state holds them. Source: 0xPolygon/heimdall-v2:
 * proto/heimdallv2/milestone/milestone.proto, x/milestone/types/keys.go; polytope-labs/hyperbridge:
 * modules/ismp/clients/polygon/src/lib.rs (Milestone).
 */
import { BinaryReader } from "cosmjs-types/binary";
import { concatBytes, equalBytes, fromHex, toHash256 } from "../../../../core/encoding/bytes.ts";
import { Struct, u64, utf8Text } from "../../../../core/encoding/scale.ts";
import { sizedHash } from "./comet_header.ts";
import { dataField, fieldTag, integerField } from "./protobuf.ts";
import type { CodecType } from "scale-ts";

/** SCALE of {@link Milestone}. */
export const milestoneCodec = Struct({
  proposer: utf8Text,
  startBlock: u64,
  /** Height of the Bor block that it makes final. */
  endBlock: u64,
  /** Hash of that block. */
  hash: sizedHash,
  borChainId: utf8Text,
  milestoneId: utf8Text,
  /** Unix time in seconds. */
  timestampSec: u64,
  totalDifficulty: u64,
});

/** A milestone. */
export type Milestone = Readonly<CodecType<typeof milestoneCodec>>;

/** Store of Heimdall's state that has the milestones. */
export const MILESTONE_STORE = "milestone";

/** Key of the number of milestones, which is that of the newest one. */
export const MILESTONE_COUNT_KEY: Uint8Array = Uint8Array.of(0x83);

/** Key of a milestone. */
export function milestoneKey(number: bigint): Uint8Array {
  const key = new Uint8Array(9);
  const view = new DataView(key.buffer);
  view.setUint8(0, 0x81);
  view.setBigUint64(1, number);
  return key;
}

/** Reads the number of milestones, as the store has it. @throws {RangeError} unless it has 8 bytes. */
export function readMilestoneCount(stored: Uint8Array): bigint {
  if (stored.length !== 8) throw new RangeError(`Expected 8 bytes, found ${stored.length}`);
  return new DataView(stored.buffer, stored.byteOffset, 8).getBigUint64(0);
}

const HASH_TAG = fieldTag(4, "bytes");

/** Protobuf of a milestone: the value in the store. */
export function encodeMilestone(milestone: Milestone): Uint8Array {
  return concatBytes(
    dataField(1, milestone.proposer),
    integerField(2, milestone.startBlock),
    integerField(3, milestone.endBlock),
    dataField(4, fromHex(milestone.hash)),
    dataField(5, milestone.borChainId),
    dataField(6, milestone.milestoneId),
    integerField(7, milestone.timestampSec),
    integerField(8, milestone.totalDifficulty),
  );
}

/**
 * Reads the value in the store. @throws {RangeError} when it is not the one Protobuf form of a milestone: the hub makes
 * it from the fields again.
 */
export function decodeMilestone(stored: Uint8Array): Milestone {
  const milestone = readFields(stored);
  if (!equalBytes(encodeMilestone(milestone), stored)) {
    throw new RangeError("A milestone with fields that the hub does not know");
  }
  return milestone;
}

function readFields(stored: Uint8Array): Milestone {
  try {
    const texts = new Map<number, string>();
    const numbers = new Map<number, bigint>();
    let hash: Uint8Array = new Uint8Array(0);
    const reader = new BinaryReader(stored);
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const field = tag >>> 3;
      if (tag === HASH_TAG) hash = reader.bytes();
      else if (tag === fieldTag(field, "bytes")) texts.set(field, reader.string());
      else if (tag === fieldTag(field, "varint")) numbers.set(field, reader.uint64());
      else throw new RangeError(`Field ${field} is of another type`);
    }
    return {
      proposer: texts.get(1) ?? "",
      startBlock: numbers.get(2) ?? 0n,
      endBlock: numbers.get(3) ?? 0n,
      hash: toHash256(hash),
      borChainId: texts.get(5) ?? "",
      milestoneId: texts.get(6) ?? "",
      timestampSec: numbers.get(7) ?? 0n,
      totalDifficulty: numbers.get(8) ?? 0n,
    };
  } catch (cause) {
    // The library throws plain errors at the end of the bytes.
    throw new RangeError("Not the Protobuf form of a milestone", { cause });
  }
}
