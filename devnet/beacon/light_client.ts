/** Light client objects of blocks that the chain knows (ethereum/consensus-specs: specs/electra/light-client). */
import { type electra, ssz } from "@lodestar/types";
import type { BeaconRecord } from "./block_builder.ts";
import type { UpdateRecords } from "./chain.ts";
import { branchOf, fieldNode, fields } from "./state_tree.ts";

/** Generalized indices in Electra and Fulu. */
const payloadInBody = 25;
const indexOf = { finalizedRoot: 169, currentSyncCommittee: 86, nextSyncCommittee: 87 } as const;

function lightClientHeader(record: BeaconRecord): electra.LightClientUpdate["finalizedHeader"] {
  const body = ssz.fulu.BeaconBlockBody.value_toTree(record.signed.message.body);
  const payload = fieldNode(record.state, "latestExecutionPayloadHeader");
  return {
    beacon: record.header,
    execution: fields.latestExecutionPayloadHeader.tree_toValue(payload),
    executionBranch: branchOf(body, payloadInBody),
  };
}

/** What the newest signature says. */
export function finalityUpdateOf(update: UpdateRecords): electra.LightClientFinalityUpdate {
  return {
    attestedHeader: lightClientHeader(update.attested),
    finalizedHeader: lightClientHeader(update.finalized),
    finalityBranch: branchOf(update.attested.state, indexOf.finalizedRoot),
    syncAggregate: update.signature.signed.message.body.syncAggregate,
    signatureSlot: update.signature.slot,
  };
}

/** The same with the next committee. */
export function updateOf(update: UpdateRecords): electra.LightClientUpdate {
  const next = fieldNode(update.attested.state, "nextSyncCommittee");
  return {
    ...finalityUpdateOf(update),
    nextSyncCommittee: fields.nextSyncCommittee.tree_toValue(next),
    nextSyncCommitteeBranch: branchOf(update.attested.state, indexOf.nextSyncCommittee),
  };
}

/** What a light client starts from. */
export function bootstrapOf(record: BeaconRecord): electra.LightClientBootstrap {
  const current = fieldNode(record.state, "currentSyncCommittee");
  return {
    header: lightClientHeader(record),
    currentSyncCommittee: fields.currentSyncCommittee.tree_toValue(current),
    currentSyncCommitteeBranch: branchOf(record.state, indexOf.currentSyncCommittee),
  };
}
