/**
 * Builds an update for the hub from light client objects. The proof of the execution block is in none of them: see
 * `state_proof.ts`. Source of the indices: ethereum/consensus-specs:
 * specs/{electra,gloas}/light-client/sync-protocol.md.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { type BeaconNetwork, electraStateIndices, isGloasAt, stateIndicesAt } from "./beacon_network.ts";
import { DerivationError } from "./sync_committee_error.ts";
import type { FinalityUpdate, LightClientHeader } from "./light_client_data.ts";
import {
  branchRoot,
  depthOf,
  type ExecutionPayloadHeader,
  headerRoot,
  helperIndices,
  sha256Pair,
  uint64OfRoot,
  withoutPadding,
} from "./ssz_roots.ts";
import type { CheckpointProof, LegacyPayloadProof, SignedUpdate, SyncCommitteeUpdate } from "./update.ts";
import { PAYLOAD_INDICES } from "./verify_update.ts";

/** Generalized index of the execution payload in a block body, Bellatrix to Fulu. */
const PAYLOAD_IN_BODY = 25;

/** Generalized index of the hash in that payload, Deneb to Fulu. */
const BLOCK_HASH_IN_BODY = 812;

/** Generalized index of the parent's block hash in the bid of a block body of Gloas. */
const PARENT_HASH_IN_BODY = 2856;

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
  network: BeaconNetwork,
  update: Pick<FinalityUpdate, "attestedHeader" | "finalityBranch">,
): CheckpointProof {
  const indices = stateIndicesAt(network, update.attestedHeader.slot) ?? electraStateIndices;
  const branch = withoutPadding(update.finalityBranch, 2 * indices.finalizedCheckpoint);
  if (branch.length !== depthOf(indices.finalizedCheckpoint) + 1) throw new DerivationError("branch_length");
  const epoch = uint64OfRoot(branchNode(branch, 0));
  if (epoch === undefined) throw new DerivationError("not_an_epoch");
  return { epoch, finalityBranch: branch.slice(1) };
}

/**
 * Verifies that the execution header, or the hash, is that of the beacon block. @throws {DerivationError}
 * `branch_length`, `execution_header`
 */
export function checkExecutionHeader(network: BeaconNetwork, header: LightClientHeader): void {
  const isHash = typeof header.execution === "string";
  const isGloas = isGloasAt(network, header.beacon.slot);
  if (isGloas && !isHash) throw new DerivationError("execution_header");
  const index = isGloas ? PARENT_HASH_IN_BODY : isHash ? BLOCK_HASH_IN_BODY : PAYLOAD_IN_BODY;
  const branch = withoutPadding(header.executionBranch, index);
  if (branch.length !== depthOf(index)) throw new DerivationError("branch_length");
  const leaf = typeof header.execution === "string" ? header.execution : header.execution.root;
  if (branchRoot(leaf, branch, index) !== header.beacon.bodyRoot) {
    throw new DerivationError("execution_header");
  }
}

/**
 * Proof of the fields that the hub reads from an execution header. `stateBranch` leads from the header to the root of
 * the state.
 */
export function deriveExecutionPayloadProof(
  header: ExecutionPayloadHeader,
  stateBranch: readonly Hash256[],
): LegacyPayloadProof {
  return {
    stateRoot: header.stateRoot,
    blockNumber: header.blockNumber,
    multiProof: header.nodes(helperIndices(Object.values(PAYLOAD_INDICES))),
    executionPayloadBranch: stateBranch,
    timestampSec: header.timestampSec,
  };
}

/**
 * Branch of the next committee in the attested state of a finality update, so that any of them can carry the rotation:
 * before Gloas, node 42 is above the checkpoint, its sibling 43 above the two committees.
 * @param currentRoot root of the committee of the attested header's own period.
 * @returns `undefined` in Gloas, whose states have the checkpoint in another subtree than the committees.
 * @throws {DerivationError} `branch_length`, `committee_pair`
 */
export function deriveNextCommitteeBranch(
  network: BeaconNetwork,
  update: Pick<FinalityUpdate, "attestedHeader" | "finalityBranch" | "finalizedHeader">,
  { currentRoot, nextRoot }: { readonly currentRoot: Hash256; readonly nextRoot: Hash256 },
): Hash256[] | undefined {
  const indices = stateIndicesAt(network, update.attestedHeader.slot);
  if (indices !== electraStateIndices) return undefined;
  const branch = withoutPadding(update.finalityBranch, 2 * indices.finalizedCheckpoint);
  if (branch.length !== depthOf(indices.finalizedCheckpoint) + 1) throw new DerivationError("branch_length");
  if (branchNode(branch, 2) !== sha256Pair(currentRoot, nextRoot)) {
    throw new DerivationError("committee_pair");
  }
  const checkpoint = sha256Pair(branchNode(branch, 0), headerRoot(update.finalizedHeader.beacon));
  return [currentRoot, sha256Pair(checkpoint, branchNode(branch, 1)), ...branch.slice(3)];
}

/**
 * Converts a finality update (or the update of a period) to an update for the hub, without the execution block. It still
 * has to pass the verifier.
 * @throws {DerivationError} `branch_length`, `not_an_epoch`, `execution_header`
 */
export function buildSignedUpdate(
  network: BeaconNetwork,
  source: FinalityUpdate,
  committee: SyncCommitteeUpdate | undefined,
): SignedUpdate {
  checkExecutionHeader(network, source.finalizedHeader);
  return {
    attestedHeader: source.attestedHeader,
    syncCommitteeUpdate: committee,
    finalizedHeader: source.finalizedHeader.beacon,
    finalityProof: deriveFinalityProof(network, source),
    syncAggregate: source.syncAggregate,
    signatureSlot: source.signatureSlot,
  };
}
