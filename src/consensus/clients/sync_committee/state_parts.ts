/**
 * Finality and the next committee from the attested state, where no light client objects with them are served: by the
 * proof route where a node has it, otherwise from the whole state.
 */
import { hubIndicesAt } from "./spec/beacon_network.ts";
import type { BeaconNetwork, StateIndices } from "./spec/beacon_network.ts";
import { DerivationError } from "./spec/sync_committee_error.ts";
import { branchOfNodes } from "./spec/merkle.ts";
import { checkpointRoot, committeeRoot } from "./spec/ssz_roots.ts";
import { readNextCommittee } from "./spec/state_prefix.ts";
import { ProvedState, stateProofFormat } from "./spec/state_proof.ts";
import type { BeaconBlockHeader, CheckpointProof, SyncCommitteeUpdate } from "./spec/update.ts";
import { RpcFault } from "../../../core/rpc/call.ts";
import type { BeaconEndpointSet } from "./beacon_endpoint_set.ts";
import { type BeaconNode, beaconRoutes, believed, type Checkpoint } from "./beacon_node.ts";
import { byRootOrSlot, fetchStatePrefix, fetchWholeState, WHOLE_STATE } from "./state_bytes.ts";

/** Proofs from an attested state. */
export interface FinalityParts {
  readonly checkpoint: Checkpoint;
  readonly finalityProof: CheckpointProof;
  readonly committee: SyncCommitteeUpdate | undefined;
  /** For the log. */
  readonly source: string;
}

/** What to prove from an attested state. */
export interface WantedFinality {
  readonly network: BeaconNetwork;
  readonly attested: BeaconBlockHeader;
  readonly withCommittee: boolean;
}

/** Name of the proof in the endpoints' capabilities; that of a finalized state has another. */
const ATTESTED_PROOF = "state proof of an attested state";

/** Fetches finality, and on demand the next committee, from the attested state. @throws {RpcFault} */
export async function fetchFinality(
  endpoints: BeaconEndpointSet,
  wanted: WantedFinality,
  signal: AbortSignal,
): Promise<FinalityParts> {
  const subject = String(wanted.attested.slot);
  let refused: RpcFault | undefined;
  try {
    return await endpoints.ask(
      { route: ATTESTED_PROOF, subject, asksAgain: false },
      (node) => byRootOrSlot(wanted.attested, (state) => finalityByProof(node, state, wanted)),
      signal,
    );
  } catch (fault) {
    if (!(fault instanceof RpcFault)) throw fault;
    if (fault.code === "malformed") refused = fault;
  }
  try {
    const question = { route: WHOLE_STATE, subject };
    return await endpoints.ask(question, (node) => finalityByState(node, wanted), signal);
  } catch (fault) {
    throw fault instanceof RpcFault && refused !== undefined ? refused : fault;
  }
}

function indicesOf({ network, attested }: WantedFinality): StateIndices {
  return hubIndicesAt(network, attested.slot);
}

async function finalityByProof(
  node: BeaconNode,
  state: string,
  wanted: WantedFinality,
): Promise<FinalityParts> {
  const { finalizedCheckpoint, nextSyncCommittee } = indicesOf(wanted);
  const checkpoint = await node.fetchFinalizedCheckpoint(state);
  const nodes = wanted.withCommittee ? [finalizedCheckpoint, nextSyncCommittee] : [finalizedCheckpoint];
  const leaves = await node.fetchStateProof(state, stateProofFormat(nodes));
  const proved = believed(node.endpoint, beaconRoutes.stateProof, () => {
    const proved = new ProvedState(wanted.attested.stateRoot, nodes, leaves);
    if (proved.node(finalizedCheckpoint) !== checkpointRoot(checkpoint.epoch, checkpoint.root)) {
      throw new DerivationError("state_root");
    }
    return proved;
  });
  return {
    checkpoint,
    finalityProof: { epoch: checkpoint.epoch, finalityBranch: proved.branch(finalizedCheckpoint) },
    committee: wanted.withCommittee ? await fetchCommittee(node, state, { wanted, proved }) : undefined,
    source: `state proof of ${node.endpoint.host}`,
  };
}

/** Reads the committee: the proof has its root, the prefix of the state its keys. */
async function fetchCommittee(
  node: BeaconNode,
  state: string,
  { wanted, proved }: { readonly wanted: WantedFinality; readonly proved: ProvedState },
): Promise<SyncCommitteeUpdate> {
  const { nextSyncCommittee } = indicesOf(wanted);
  const prefix = await fetchStatePrefix(node, state);
  return believed(node.endpoint, beaconRoutes.state, () => {
    const committee = readNextCommittee(prefix, wanted.attested.slot);
    if (committeeRoot(committee) !== proved.node(nextSyncCommittee)) {
      throw new DerivationError("committee_pair");
    }
    return { nextSyncCommittee: committee, nextSyncCommitteeBranch: proved.branch(nextSyncCommittee) };
  });
}

async function finalityByState(node: BeaconNode, wanted: WantedFinality): Promise<FinalityParts> {
  const { finalizedCheckpoint, nextSyncCommittee } = indicesOf(wanted);
  const { attested: header, network } = wanted;
  const parts = await fetchWholeState(node, { network, header });
  const committee = {
    nextSyncCommittee: parts.nextSyncCommittee,
    nextSyncCommitteeBranch: branchOfNodes(nextSyncCommittee, (index) => parts.nodes.get(index)),
  };
  const finalityBranch = branchOfNodes(finalizedCheckpoint, (index) => parts.nodes.get(index));
  return {
    checkpoint: parts.finalizedCheckpoint,
    finalityProof: { epoch: parts.finalizedCheckpoint.epoch, finalityBranch },
    committee: wanted.withCommittee ? committee : undefined,
    source: `whole state of ${node.endpoint.host}`,
  };
}
