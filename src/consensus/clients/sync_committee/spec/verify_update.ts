/**
 * Verification of an update against the trusted state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/verifier/src/lib.rs.
 */
import type { Hash256 } from "../../../../core/encoding/bytes.ts";
import { isSignedByCommittee } from "./aggregate_signature.ts";
import {
  type BeaconNetwork,
  electraStateIndices,
  epochOfSlot,
  forkAtEpoch,
  periodOfSlot,
  SIGNER_THRESHOLD,
  type StateIndices,
} from "./beacon_network.ts";
import type { VerifierState } from "./consensus_state.ts";
import { branchRoot, depthOf, multiproofRoot } from "./merkle.ts";
import {
  checkpointRoot,
  committeeRoot,
  headerRoot,
  signingRoot,
  syncCommitteeDomain,
  uint64Root,
} from "./ssz_roots.ts";
import { SyncCommitteeError, type SyncCommitteeErrorCode } from "./sync_committee_error.ts";
import { countSigners, type ExecutionPayloadProof, type StateUpdate, type SyncCommittee } from "./update.ts";

/** Generalized indices of state root, block number and time in the execution payload header. */
export const PAYLOAD_INDICES = { stateRoot: 34, blockNumber: 38, timestamp: 41 } as const;

/**
 * The state that the hub's client stores after `update`.
 *
 * The finalized header may be older than the trusted one: only its epoch must be newer. Nothing ties the epoch to the
 * slot of the finalized header either; the attested state, which the committee signed, vouches for both. One rule is
 * stricter than the hub's, which ignores surplus nodes in the branch of the payload header. @param indices of the state
 * tree; the hub has Electra's whatever the slot, real states of before need their own. @throws {SyncCommitteeError}
 */
export function verifyUpdate(
  network: BeaconNetwork,
  trusted: VerifierState,
  update: StateUpdate,
  indices: StateIndices = electraStateIndices,
): VerifierState {
  checkShape(update, indices);
  const entersNextPeriod = checkPeriods(network, trusted, update);
  checkNewer(trusted, update);
  checkSignature(
    network,
    entersNextPeriod ? trusted.nextSyncCommittee : trusted.currentSyncCommittee,
    update,
  );
  checkFinality(update, indices);
  checkExecutionPayload(update.executionPayload, update.finalizedHeader.stateRoot, indices);
  checkNextCommittee(update, indices);
  return nextState(trusted, update, entersNextPeriod);
}

/**
 * Verifies everything in an update except the branch of the payload header in the finalized state, which is not known
 * yet: an update that passes is authentic, so that later contradicting data is at fault. @throws {SyncCommitteeError}
 */
export function authenticateUpdate(
  network: BeaconNetwork,
  trusted: VerifierState,
  update: StateUpdate,
): void {
  const executionPayload = { ...update.executionPayload, executionPayloadBranch: [] };
  checkNextCommittee(update, electraStateIndices);
  try {
    verifyUpdate(network, trusted, { ...update, executionPayload });
  } catch (error) {
    if (error instanceof SyncCommitteeError && error.code === "execution_branch_length") return;
    throw error;
  }
  throw new Error("A branch without nodes was accepted");
}

function require(holds: boolean, code: SyncCommitteeErrorCode): void {
  if (!holds) throw new SyncCommitteeError(code);
}

function checkShape(update: StateUpdate, indices: StateIndices): void {
  const { finalityProof, syncCommitteeUpdate: committee, signatureSlot, attestedHeader } = update;
  require(
    finalityProof.finalityBranch.length === depthOf(indices.finalizedCheckpoint),
    "finality_branch_length",
  );
  require(
    committee === undefined ||
      committee.nextSyncCommitteeBranch.length === depthOf(indices.nextSyncCommittee),
    "committee_branch_length",
  );
  require(
    signatureSlot > attestedHeader.slot && attestedHeader.slot > update.finalizedHeader.slot,
    "slot_order",
  );
}

/** @returns true when the signature is of the period after the trusted one. */
function checkPeriods(network: BeaconNetwork, trusted: VerifierState, update: StateUpdate): boolean {
  const signaturePeriod = periodOfSlot(network, update.signatureSlot);
  if (signaturePeriod === trusted.statePeriod) return false;
  require(signaturePeriod === trusted.statePeriod + 1n, "signature_period");
  // An older attested state still holds the already trusted committee instead of the one after it.
  require(periodOfSlot(network, update.attestedHeader.slot) === signaturePeriod, "attested_period");
  return true;
}

function checkNewer(trusted: VerifierState, update: StateUpdate): void {
  require(update.attestedHeader.slot > trusted.finalizedHeader.slot, "stale_slot");
  require(update.finalityProof.epoch > trusted.latestFinalizedEpoch, "stale_epoch");
}

/**
 * Verifies that enough members of the committee signed the attested header. @throws {SyncCommitteeError}
 * `too_few_participants`, `public_key`, `signature`
 */
export function checkSignature(
  network: BeaconNetwork,
  committee: SyncCommittee,
  update: Pick<StateUpdate, "attestedHeader" | "signatureSlot" | "syncAggregate">,
): void {
  require(countSigners(update.syncAggregate.bits) >= SIGNER_THRESHOLD, "too_few_participants");
  require(
    isSignedByCommittee(committee, update.syncAggregate, updateSigningRoot(network, update)),
    "signature",
  );
}

/**
 * Message that the committee of an update signed, by the hub's rule. The fork is that of the signature slot, while
 * signers take that of the slot before: they differ in the first slot of a fork only.
 */
export function updateSigningRoot(
  network: BeaconNetwork,
  update: Pick<StateUpdate, "attestedHeader" | "signatureSlot">,
): Hash256 {
  const { version } = forkAtEpoch(network, epochOfSlot(network, update.signatureSlot));
  return signingRoot(update.attestedHeader, syncCommitteeDomain(version, network.genesisValidatorsRoot));
}

function checkFinality(update: StateUpdate, indices: StateIndices): void {
  const { epoch, finalityBranch } = update.finalityProof;
  const checkpoint = checkpointRoot(epoch, headerRoot(update.finalizedHeader));
  const root = branchRoot(checkpoint, finalityBranch, indices.finalizedCheckpoint);
  require(root === update.attestedHeader.stateRoot, "finality_branch");
}

function checkExecutionPayload(
  proof: ExecutionPayloadProof,
  finalizedStateRoot: Hash256,
  indices: StateIndices,
): void {
  const payloadRoot = multiproofRoot(
    new Map([
      [PAYLOAD_INDICES.stateRoot, proof.stateRoot],
      [PAYLOAD_INDICES.blockNumber, uint64Root(proof.blockNumber)],
      [PAYLOAD_INDICES.timestamp, uint64Root(proof.timestampSec)],
    ]),
    proof.multiProof,
  );
  if (payloadRoot === undefined) throw new SyncCommitteeError("multi_proof_length");
  const index = indices.executionPayloadHeader;
  require(proof.executionPayloadBranch.length === depthOf(index), "execution_branch_length");
  const root = branchRoot(payloadRoot, proof.executionPayloadBranch, index);
  require(root === finalizedStateRoot, "execution_branch");
}

function checkNextCommittee(update: StateUpdate, indices: StateIndices): void {
  const committee = update.syncCommitteeUpdate;
  if (committee === undefined) return;
  const root = branchRoot(
    committeeRoot(committee.nextSyncCommittee),
    committee.nextSyncCommitteeBranch,
    indices.nextSyncCommittee,
  );
  require(root === update.attestedHeader.stateRoot, "committee_branch");
}

function nextState(trusted: VerifierState, update: StateUpdate, entersNextPeriod: boolean): VerifierState {
  const finalized = {
    finalizedHeader: update.finalizedHeader,
    latestFinalizedEpoch: update.finalityProof.epoch,
  };
  if (!entersNextPeriod) return { ...trusted, ...finalized };
  if (update.syncCommitteeUpdate === undefined) throw new SyncCommitteeError("missing_committee");
  return {
    ...finalized,
    currentSyncCommittee: trusted.nextSyncCommittee,
    nextSyncCommittee: update.syncCommitteeUpdate.nextSyncCommittee,
    statePeriod: trusted.statePeriod + 1n,
  };
}
