/**
 * Reads the sync committee vectors into the types of the client, and signs with the known keys of the synthetic one.
 */
import { fromHex, type Hash256 } from "../../../../../src/core/encoding/bytes.ts";
import { blsSignature } from "../../../../../devnet/bls_signer.ts";
import {
  isSigner,
  type LegacyPayloadProof,
  type StateUpdate,
  type SyncAggregate,
  type SyncCommittee,
  type VerifierState,
} from "../../../../../src/consensus/clients/sync_committee/spec/update.ts";
import {
  beaconHeaderJson,
  finalityUpdateJson,
  type LightClientHeader,
} from "../../../../../src/consensus/clients/sync_committee/spec/light_client_data.ts";
import type { ExecutionPayloadHeader } from "../../../../../src/consensus/clients/sync_committee/spec/ssz_roots.ts";
import { readVector as readAnyVector, type VectorNode } from "../../../vector_node.ts";

export { flipByte, flipHash } from "../../../rollup/spec/vectors.ts";

export function readVector(name: string): VectorNode {
  return readAnyVector(`sync-committee-${name}`);
}

/** JSON of the last block of Prague and of the first of Amsterdam, of a chain that went through the fork. */
export function readAmsterdamBlocks(): { readonly prague: unknown; readonly amsterdam: unknown } {
  const blocks = readAnyVector("real/amsterdam-blocks");
  return { prague: blocks.at("prague").json, amsterdam: blocks.at("amsterdam").json };
}

/** An execution payload header of a vector, read as part of a finality update that is real otherwise. */
export function parsePayloadHeader(json: unknown): ExecutionPayloadHeader {
  const update = Object(readVector("sepolia-electra-lightclient").at("finality_updates.0.update").json);
  const finalized = { ...update.finalized_header, execution: json };
  return payloadOf(finalityUpdateJson.parse({ ...update, finalized_header: finalized }).finalizedHeader);
}

/** The execution header in a light client header of before Gloas. */
export function payloadOf({ execution }: Pick<LightClientHeader, "execution">): ExecutionPayloadHeader {
  if (typeof execution === "string") throw new Error("The header is of Gloas");
  return execution;
}

export function aggregateOf(node: VectorNode): SyncAggregate {
  return {
    bits: fromHex(node.text("sync_committee_bits")),
    signature: fromHex(node.text("sync_committee_signature")),
  };
}

/** An update with a finalized header of before Gloas. */
export interface LegacyUpdate extends StateUpdate {
  readonly executionPayload: LegacyPayloadProof;
}

/** An update of a vector; `committee` finds the committee that it carries. */
export function updateOf(node: VectorNode, committee?: SyncCommittee): LegacyUpdate {
  const payload = node.at("execution_payload");
  return {
    attestedHeader: beaconHeaderJson.parse(node.at("attested_header").json),
    syncCommitteeUpdate: committee === undefined ? undefined : {
      nextSyncCommittee: committee,
      nextSyncCommitteeBranch: node.hashes("sync_committee_update.next_sync_committee_branch"),
    },
    finalizedHeader: beaconHeaderJson.parse(node.at("finalized_header").json),
    executionPayload: {
      stateRoot: payload.hash("state_root"),
      blockNumber: payload.integer("block_number"),
      multiProof: payload.hashes("multi_proof"),
      executionPayloadBranch: payload.hashes("execution_payload_branch"),
      timestampSec: payload.integer("timestamp"),
    },
    finalityProof: {
      epoch: node.integer("finality_proof.epoch"),
      finalityBranch: node.hashes("finality_proof.finality_branch"),
    },
    syncAggregate: aggregateOf(node.at("sync_aggregate")),
    signatureSlot: node.integer("signature_slot"),
  };
}

function trustedOf(node: VectorNode, current: SyncCommittee, next: SyncCommittee): VerifierState {
  return {
    finalizedHeader: beaconHeaderJson.parse(node.at("finalized_header").json),
    latestFinalizedEpoch: node.integer("latest_finalized_epoch"),
    currentSyncCommittee: current,
    nextSyncCommittee: next,
    statePeriod: node.integer("state_period"),
  };
}

/** A sync committee in the JSON of the beacon API. */
export function readSyncCommittee(node: VectorNode): SyncCommittee {
  return {
    publicKeys: node.list("pubkeys").map(({ json }) => fromHex(String(json))),
    aggregatePublicKey: node.bytes("aggregate_pubkey"),
  };
}

/** Two chained updates in the hub's layout; the second enters the next period. */
export interface SyntheticVector {
  readonly node: VectorNode;
  readonly trusted: VerifierState;
  readonly first: LegacyUpdate;
  readonly second: LegacyUpdate;
}

export function readSynthetic(): SyntheticVector {
  const node = readVector("head-layout-synthetic");
  const committee = (name: string): SyncCommittee => readSyncCommittee(node.at(`committees.${name}`));
  return {
    node,
    trusted: trustedOf(
      node.at("trusted_state"),
      committee("c0_period_1100"),
      committee("c1_period_1101"),
    ),
    first: updateOf(node.at("update_1")),
    second: updateOf(node.at("update_2"), committee("c2_period_1102")),
  };
}

/** Bits of the first `count` members. */
export function firstBits(count: number): Uint8Array {
  return Uint8Array.from({ length: 64 }, (_, byte) => {
    let value = 0;
    for (let bit = 0; bit < 8; bit++) if (byte * 8 + bit < count) value |= 1 << bit;
    return value;
  });
}

/**
 * Signature of the members of a synthetic committee whose bits are set. Its secret keys are consecutive numbers.
 * @param firstKey 1 for the committee of period 1100, 1001 for 1101, 2001 for 1102.
 */
export function signAs(firstKey: number, bits: Uint8Array, message: Hash256): SyncAggregate {
  let sum = 0;
  for (let index = 0; index < 512; index++) if (isSigner(bits, index)) sum += firstKey + index;
  return { bits, signature: blsSignature(sum, fromHex(message)) };
}
