/**
 * Objects of the beacon nodes' light client routes, and the reading of their JSON.
 * Source: ethereum/consensus-specs: specs/{altair,capella,electra,gloas}/light-client/sync-protocol.md;
 * ethereum/beacon-APIs: apis/beacon/light_client, types.
 */
import * as z from "zod";
import { fromHex, type Hash256, toHash256 } from "../../../../core/encoding/bytes.ts";
import { ExecutionPayloadHeader } from "./ssz_roots.ts";
import type { BeaconBlockHeader, SyncAggregate, SyncCommittee } from "./update.ts";

/** A beacon header with the execution header of its block, in the body of the block. */
export interface LightClientHeader {
  readonly beacon: BeaconBlockHeader;
  /**
   * The execution header; in objects of Gloas a hash: of the parent's execution block, and of the block's own for a
   * header of before.
   */
  readonly execution: ExecutionPayloadHeader | Hash256;
  /** Branch of the execution header, or of the hash, in the block body, bottom up. */
  readonly executionBranch: readonly Hash256[];
}

/** The newest header that a committee signed, with the newest one it makes final. */
export interface FinalityUpdate {
  readonly attestedHeader: BeaconBlockHeader;
  readonly finalizedHeader: LightClientHeader;
  /**
   * Branch of the ROOT of the finalized checkpoint in the attested state: one node more than the hub expects. It may be
   * lengthened by zero nodes, as all branches of states may: see `withoutPadding`.
   */
  readonly finalityBranch: readonly Hash256[];
  readonly syncAggregate: SyncAggregate;
  readonly signatureSlot: bigint;
}

/** The best update of a period: a finality update that also carries the next committee. */
export interface LightClientUpdate extends FinalityUpdate {
  readonly nextSyncCommittee: SyncCommittee;
  /** Branch of the committee in the attested state, bottom up. */
  readonly nextSyncCommitteeBranch: readonly Hash256[];
}

/** Start of a light client: a header with the committee of its own period. */
export interface LightClientBootstrap {
  readonly header: LightClientHeader;
  readonly currentSyncCommittee: SyncCommittee;
  /** Branch of the committee in the state of the header, bottom up. */
  readonly currentSyncCommitteeBranch: readonly Hash256[];
}

/** The required part of a block, not verified against its root: the signers of its parent. */
export interface SigningBlock {
  readonly slot: bigint;
  readonly parentRoot: Hash256;
  /** Signatures over the parent. */
  readonly syncAggregate: SyncAggregate;
}

function sized(minLength: number, maxLength = minLength): z.ZodType<Uint8Array> {
  return z.string().regex(/^0x([0-9a-fA-F]{2})*$/).max(2 + 2 * maxLength).transform(fromHex)
    .refine((bytes) => bytes.length >= minLength && bytes.length <= maxLength);
}

const uint64 = z.string().regex(/^[0-9]{1,20}$/).transform(BigInt).refine((value) => value >> 64n === 0n);
const hash = sized(32).transform(toHash256);
const branch = z.array(hash).max(64);

/** JSON of a beacon header, as `header.message` of `/eth/v1/beacon/headers/{id}`. */
export const beaconHeaderJson: z.ZodType<BeaconBlockHeader> = z.object({
  slot: uint64,
  proposer_index: uint64,
  parent_root: hash,
  state_root: hash,
  body_root: hash,
}).transform((json): BeaconBlockHeader => ({
  slot: json.slot,
  proposerIndex: json.proposer_index,
  parentRoot: json.parent_root,
  stateRoot: json.state_root,
  bodyRoot: json.body_root,
}));

const lightClientHeader = z.object({
  beacon: beaconHeaderJson,
  execution: z.unknown().optional(),
  execution_block_hash: hash.optional(),
  execution_branch: branch,
}).transform((json, context): LightClientHeader => {
  const { beacon, execution_block_hash: blockHash, execution_branch: executionBranch } = json;
  try {
    const execution = json.execution === undefined && blockHash !== undefined
      ? blockHash
      : ExecutionPayloadHeader.fromJson(json.execution);
    return { beacon, execution, executionBranch };
  } catch {
    // The codec library's errors have no code.
    context.addIssue({ code: "custom", path: ["execution"] });
    return z.NEVER;
  }
});

const committee = z.object({ pubkeys: z.array(sized(48)).length(512), aggregate_pubkey: sized(48) })
  .transform((json): SyncCommittee => ({
    publicKeys: json.pubkeys,
    aggregatePublicKey: json.aggregate_pubkey,
  }));

const syncAggregate = z.object({ sync_committee_bits: sized(64), sync_committee_signature: sized(96) })
  .transform((json): SyncAggregate => ({
    bits: json.sync_committee_bits,
    signature: json.sync_committee_signature,
  }));

const finalityUpdateShape = z.object({
  attested_header: z.object({ beacon: beaconHeaderJson }),
  finalized_header: lightClientHeader,
  finality_branch: branch,
  sync_aggregate: syncAggregate,
  signature_slot: uint64,
});

function toFinalityUpdate(json: z.output<typeof finalityUpdateShape>): FinalityUpdate {
  return {
    attestedHeader: json.attested_header.beacon,
    finalizedHeader: json.finalized_header,
    finalityBranch: json.finality_branch,
    syncAggregate: json.sync_aggregate,
    signatureSlot: json.signature_slot,
  };
}

/** JSON of `/eth/v1/beacon/light_client/finality_update`. */
export const finalityUpdateJson: z.ZodType<FinalityUpdate> = finalityUpdateShape.transform(toFinalityUpdate);

/** JSON of an item of `/eth/v1/beacon/light_client/updates`. */
export const lightClientUpdateJson: z.ZodType<LightClientUpdate> = finalityUpdateShape.extend({
  next_sync_committee: committee,
  next_sync_committee_branch: branch,
}).transform((json): LightClientUpdate => ({
  ...toFinalityUpdate(json),
  nextSyncCommittee: json.next_sync_committee,
  nextSyncCommitteeBranch: json.next_sync_committee_branch,
}));

/** JSON of `/eth/v1/beacon/light_client/bootstrap/{root}`. */
export const bootstrapJson: z.ZodType<LightClientBootstrap> = z.object({
  header: lightClientHeader,
  current_sync_committee: committee,
  current_sync_committee_branch: branch,
}).transform((json): LightClientBootstrap => ({
  header: json.header,
  currentSyncCommittee: json.current_sync_committee,
  currentSyncCommitteeBranch: json.current_sync_committee_branch,
}));

/** JSON of `/eth/v2/beacon/blocks/{id}` and `/eth/v1/beacon/blinded_blocks/{id}`. */
export const signingBlockJson: z.ZodType<SigningBlock> = z.object({
  message: z.object({ slot: uint64, parent_root: hash, body: z.object({ sync_aggregate: syncAggregate }) }),
}).transform(({ message }): SigningBlock => ({
  slot: message.slot,
  parentRoot: message.parent_root,
  syncAggregate: message.body.sync_aggregate,
}));
