/** Light client objects of blocks that the chain knows (ethereum/consensus-specs: specs/{electra,gloas}/light-client). */
import { type electra, type gloas, ssz } from "@lodestar/types";
import type { BeaconRecord } from "./block_builder.ts";
import type { UpdateRecords } from "./chain.ts";
import { branchOf, isGloasState, valueOf } from "./state_tree.ts";

/** Generalized indices in Electra and Fulu. */
const earlierIndices = {
  payloadInBody: 25,
  blockHashInBody: 812,
  finalizedRoot: 169,
  currentSyncCommittee: 86,
  nextSyncCommittee: 87,
} as const;
/** The same of Gloas. */
const gloasIndices = {
  parentHashInBody: 2856,
  finalizedRoot: 735,
  currentSyncCommittee: 2945,
  nextSyncCommittee: 2946,
} as const;

/** Length of the branch of an execution block hash in objects of Gloas. */
const gloasBranchLength = 11;

function earlierHeader(record: BeaconRecord): electra.LightClientUpdate["finalizedHeader"] {
  const { body } = record.signed.message;
  if (!("executionPayload" in body)) throw new Error("Headers of Gloas have no payload");
  return {
    beacon: record.header,
    execution: valueOf(record.state, "latestExecutionPayloadHeader"),
    executionBranch: branchOf(ssz.fulu.BeaconBlockBody.value_toTree(body), earlierIndices.payloadInBody),
  };
}

/** A header of before Gloas has the hash of its own payload, with a branch lengthened by zeros. */
function gloasHeader(record: BeaconRecord): gloas.LightClientUpdate["finalizedHeader"] {
  const { body } = record.signed.message;
  if ("executionPayload" in body) {
    const branch = branchOf(ssz.fulu.BeaconBlockBody.value_toTree(body), earlierIndices.blockHashInBody);
    const padding = Array.from({ length: gloasBranchLength - branch.length }, () => new Uint8Array(32));
    const executionBlockHash = body.executionPayload.blockHash;
    return { beacon: record.header, executionBlockHash, executionBranch: [...padding, ...branch] };
  }
  return {
    beacon: record.header,
    executionBlockHash: body.signedExecutionPayloadBid.message.parentBlockHash,
    executionBranch: branchOf(ssz.gloas.BeaconBlockBody.value_toTree(body), gloasIndices.parentHashInBody),
  };
}

function signatureOf({ signature }: UpdateRecords): Pick<
  gloas.LightClientFinalityUpdate,
  "syncAggregate" | "signatureSlot"
> {
  return { syncAggregate: signature.signed.message.body.syncAggregate, signatureSlot: signature.slot };
}

function gloasFinality(update: UpdateRecords): gloas.LightClientFinalityUpdate {
  return {
    attestedHeader: gloasHeader(update.attested),
    finalizedHeader: gloasHeader(update.finalized),
    finalityBranch: branchOf(update.attested.state, gloasIndices.finalizedRoot),
    ...signatureOf(update),
  };
}

function earlierFinality(update: UpdateRecords): electra.LightClientFinalityUpdate {
  return {
    attestedHeader: earlierHeader(update.attested),
    finalizedHeader: earlierHeader(update.finalized),
    finalityBranch: branchOf(update.attested.state, earlierIndices.finalizedRoot),
    ...signatureOf(update),
  };
}

/** What the newest signature says, in the form of the attested block's fork. */
export function finalityUpdateOf(update: UpdateRecords): unknown {
  return isGloasState(update.attested.state)
    ? ssz.gloas.LightClientFinalityUpdate.toJson(gloasFinality(update))
    : ssz.electra.LightClientFinalityUpdate.toJson(earlierFinality(update));
}

/** The same with the next committee. */
export function updateOf(update: UpdateRecords): unknown {
  const { state } = update.attested;
  const nextSyncCommittee = valueOf(state, "nextSyncCommittee");
  const next = (index: number): Pick<
    gloas.LightClientUpdate,
    "nextSyncCommittee" | "nextSyncCommitteeBranch"
  > => ({ nextSyncCommittee, nextSyncCommitteeBranch: branchOf(state, index) });
  return isGloasState(state)
    ? ssz.gloas.LightClientUpdate.toJson({
      ...gloasFinality(update),
      ...next(gloasIndices.nextSyncCommittee),
    })
    : ssz.electra.LightClientUpdate.toJson({
      ...earlierFinality(update),
      ...next(earlierIndices.nextSyncCommittee),
    });
}

/** What a light client starts from. */
export function bootstrapOf(record: BeaconRecord): unknown {
  const { state } = record;
  const currentSyncCommittee = valueOf(state, "currentSyncCommittee");
  return isGloasState(state)
    ? ssz.gloas.LightClientBootstrap.toJson({
      header: gloasHeader(record),
      currentSyncCommittee,
      currentSyncCommitteeBranch: branchOf(state, gloasIndices.currentSyncCommittee),
    })
    : ssz.electra.LightClientBootstrap.toJson({
      header: earlierHeader(record),
      currentSyncCommittee,
      currentSyncCommitteeBranch: branchOf(state, earlierIndices.currentSyncCommittee),
    });
}
