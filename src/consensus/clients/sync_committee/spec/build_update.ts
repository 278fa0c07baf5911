/**
 * Builds an update for the hub from light client objects. Three nodes of the finalized state are in none of them: see
 * `payload_branch.ts`, which finds the branch that is passed in here. Source of the indices: ethereum/consensus-specs:
 * specs/electra/light-client/sync-protocol.md.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import {
  type BeaconNetwork,
  electraStateIndices,
  type StateIndices,
  stateIndicesAt,
} from "./beacon_network.ts";
import { DerivationError } from "./derivation_error.ts";
import type { FinalityUpdate, LightClientHeader } from "./light_client_data.ts";
import { branchRoot, depthOf, helperIndices, sha256Pair } from "./merkle.ts";
import { headerRoot, payloadNodes, uint64OfRoot } from "./ssz_roots.ts";
import type { CheckpointProof, ExecutionPayloadProof, StateUpdate, SyncCommitteeUpdate } from "./update.ts";
import { PAYLOAD_INDICES } from "./verify_update.ts";

/** Generalized index of the execution payload in a block body, Bellatrix to Fulu. */
const PAYLOAD_IN_BODY = 25;

/** A node of an inner tree level and its place. */
function branchNode(branch: readonly Hash256[], level: number): Hash256 {
  const node = branch[level];
  if (node === undefined) throw new DerivationError("branch_length");
  return node;
}

/**
 * The hub's finality proof of a light client's: that has the branch of the checkpoint's root, whose first node is the
 * epoch beside it.
 * @throws {DerivationError} `branch_length`, `not_an_epoch`
 */
export function deriveFinalityProof(
  branch: readonly Hash256[],
  indices: StateIndices = electraStateIndices,
): CheckpointProof {
  if (branch.length !== depthOf(indices.finalizedCheckpoint) + 1) throw new DerivationError("branch_length");
  const epoch = uint64OfRoot(branchNode(branch, 0));
  if (epoch === undefined) throw new DerivationError("not_an_epoch");
  return { epoch, finalityBranch: branch.slice(1) };
}

/** Root of an execution payload header. */
export function payloadHeaderRoot(header: LightClientHeader["execution"]): Hash256 {
  const [root] = payloadNodes(header, [1]);
  if (root === undefined) throw new Error("A tree has a root");
  return root;
}

/**
 * Verifies that the execution header is that of the beacon block. @throws {DerivationError} `branch_length`,
 * `execution_header`
 */
export function checkExecutionHeader(header: LightClientHeader): void {
  if (header.executionBranch.length !== depthOf(PAYLOAD_IN_BODY)) throw new DerivationError("branch_length");
  const root = branchRoot(payloadHeaderRoot(header.execution), header.executionBranch, PAYLOAD_IN_BODY);
  if (root !== header.beacon.bodyRoot) throw new DerivationError("execution_header");
}

/**
 * Proof of the fields that the hub reads from an execution header. `stateBranch` leads from the header to the root of
 * the state.
 */
export function deriveExecutionPayloadProof(
  header: LightClientHeader["execution"],
  stateBranch: readonly Hash256[],
): ExecutionPayloadProof {
  return {
    stateRoot: header.stateRoot,
    blockNumber: header.blockNumber,
    multiProof: payloadNodes(header, helperIndices(Object.values(PAYLOAD_INDICES))),
    executionPayloadBranch: stateBranch,
    timestampSec: header.timestampSec,
  };
}

/**
 * Branch of the next committee in the attested state of a finality update, so that any of them can carry the rotation:
 * node 42 is above the checkpoint, its sibling 43 above the two committees.
 * Electra and Fulu only.
 * @param currentRoot root of the committee of the attested header's own period.
 * @throws {DerivationError} `branch_length`, `committee_pair`
 */
export function deriveNextCommitteeBranch(
  update: Pick<FinalityUpdate, "finalityBranch" | "finalizedHeader">,
  currentRoot: Hash256,
  nextRoot: Hash256,
): Hash256[] {
  const { finalityBranch: branch, finalizedHeader } = update;
  if (branch.length !== depthOf(electraStateIndices.finalizedCheckpoint) + 1) {
    throw new DerivationError("branch_length");
  }
  if (branchNode(branch, 2) !== sha256Pair(currentRoot, nextRoot)) {
    throw new DerivationError("committee_pair");
  }
  const checkpoint = sha256Pair(branchNode(branch, 0), headerRoot(finalizedHeader.beacon));
  return [currentRoot, sha256Pair(checkpoint, branchNode(branch, 1)), ...branch.slice(3)];
}

/**
 * Converts a finality update (or the update of a period) to an update for the hub. It still has to pass the verifier.
 * @throws {DerivationError} `branch_length`, `not_an_epoch`, `execution_header`
 */
export function buildUpdate(
  network: BeaconNetwork,
  source: FinalityUpdate,
  parts: {
    /** Branch of the payload header in the finalized state. */
    readonly payloadBranch: readonly Hash256[];
    readonly committee: SyncCommitteeUpdate | undefined;
  },
): StateUpdate {
  checkExecutionHeader(source.finalizedHeader);
  const indices = stateIndicesAt(network, source.attestedHeader.slot) ?? electraStateIndices;
  return {
    attestedHeader: source.attestedHeader,
    syncCommitteeUpdate: parts.committee,
    finalizedHeader: source.finalizedHeader.beacon,
    executionPayload: deriveExecutionPayloadProof(source.finalizedHeader.execution, parts.payloadBranch),
    finalityProof: deriveFinalityProof(source.finalityBranch, indices),
    syncAggregate: source.syncAggregate,
    signatureSlot: source.signatureSlot,
  };
}
