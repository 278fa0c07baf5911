/**
 * Required part of a beacon block: the signers of its parent. Source: ethereum/beacon-APIs:
 * types/{deneb,electra}/block.yaml.
 */
import * as z from "zod";
import { fromHex, type Hash256, toHash256 } from "../../../core/encoding/bytes.ts";
import type { SyncAggregate } from "./spec/update.ts";

/** Data of a block, not verified against the block's root. */
export interface BlockFacts {
  readonly slot: bigint;
  readonly parentRoot: Hash256;
  /** Signatures over the parent. */
  readonly syncAggregate: SyncAggregate;
}

const hexBytes = z.string().regex(/^0x([0-9a-fA-F]{2})*$/).transform(fromHex);
const uint64 = z.string().regex(/^[0-9]{1,20}$/).transform(BigInt);
const sized = (length: number): z.ZodType<Uint8Array> => hexBytes.refine((bytes) => bytes.length === length);

const blockShape = z.object({
  message: z.object({
    slot: uint64,
    parent_root: sized(32),
    body: z.object({
      sync_aggregate: z.object({
        sync_committee_bits: sized(64),
        sync_committee_signature: sized(96),
      }),
    }),
  }),
});

/**
 * Reads the `data` of `/eth/v2/beacon/blocks/{id}` or `/eth/v1/beacon/blinded_blocks/{id}`.
 * @throws {z.ZodError}
 */
export function parseBlock(json: unknown): BlockFacts {
  const { slot, parent_root: parentRoot, body } = blockShape.parse(json).message;
  return {
    slot,
    parentRoot: toHash256(parentRoot),
    syncAggregate: {
      bits: body.sync_aggregate.sync_committee_bits,
      signature: body.sync_aggregate.sync_committee_signature,
    },
  };
}
