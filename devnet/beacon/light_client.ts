/** Light client objects of blocks that the chain knows (ethereum/consensus-specs: specs/{electra,gloas}/light-client). */
import { type electra, type gloas, ssz } from "@lodestar/types";
import type { BeaconRecord } from "./block_builder.ts";
import type { UpdateRecords } from "./chain.ts";
import { branchOf, isGloasState, valueOf } from "./state_tree.ts";

/** Generalized indices in Electra and Fulu. */
export const earlierIndices = {
  payloadInBody: 25,
  blockHashInBody: 812,
  finalizedRoot: 169,
  currentSyncCommittee: 86,
  nextSyncCommittee: 87,
} as const;
/** The same of Gloas. */
export const gloasIndices = {
  parentHashInBody: 2856,
  finalizedRoot: 735,
  currentSyncCommittee: 2945,
  nextSyncCommittee: 2946,
} as const;

/** Length of the branch of an execution block hash in objects of Gloas. */
const gloasBranchLength = 11;

/** An object in both forms. */
export interface LightClientForms {
  json(): unknown;
  serialize(): Uint8Array;
}

/** Both forms of a value. */
export function formsOf<T>(
  type: { toJson(value: T): unknown; serialize(value: T): Uint8Array },
  value: T,
): LightClientForms {
  return { json: () => type.toJson(value), serialize: () => type.serialize(value) };
}

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
export function finalityUpdateOf(update: UpdateRecords): LightClientForms {
  return isGloasState(update.attested.state)
    ? formsOf(ssz.gloas.LightClientFinalityUpdate, gloasFinality(update))
    : formsOf(ssz.electra.LightClientFinalityUpdate, earlierFinality(update));
}

/** The same with the next committee. */
export function updateOf(update: UpdateRecords): LightClientForms {
  const { state } = update.attested;
  const nextSyncCommittee = valueOf(state, "nextSyncCommittee");
  const next = (index: number): Pick<
    gloas.LightClientUpdate,
    "nextSyncCommittee" | "nextSyncCommitteeBranch"
  > => ({ nextSyncCommittee, nextSyncCommitteeBranch: branchOf(state, index) });
  return isGloasState(state)
    ? formsOf(ssz.gloas.LightClientUpdate, {
      ...gloasFinality(update),
      ...next(gloasIndices.nextSyncCommittee),
    })
    : formsOf(ssz.electra.LightClientUpdate, {
      ...earlierFinality(update),
      ...next(earlierIndices.nextSyncCommittee),
    });
}

/** What a light client starts from. */
export function bootstrapOf(record: BeaconRecord): LightClientForms {
  const { state } = record;
  const currentSyncCommittee = valueOf(state, "currentSyncCommittee");
  return isGloasState(state)
    ? formsOf(ssz.gloas.LightClientBootstrap, {
      header: gloasHeader(record),
      currentSyncCommittee,
      currentSyncCommitteeBranch: branchOf(state, gloasIndices.currentSyncCommittee),
    })
    : formsOf(ssz.electra.LightClientBootstrap, {
      header: earlierHeader(record),
      currentSyncCommittee,
      currentSyncCommitteeBranch: branchOf(state, earlierIndices.currentSyncCommittee),
    });
}
