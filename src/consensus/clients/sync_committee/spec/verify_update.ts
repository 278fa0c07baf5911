/**
 * Verification of an update against the trusted state, rule by rule in the hub's order. Source:
 * polytope-labs/hyperbridge: modules/consensus/sync-committee/verifier/src/lib.rs.
 */
import { evmCommitment, type VerifiedUpdate } from "../../../spec/header_commitment.ts";
import { clientDecoder, mapError } from "../../../spec/client_error.ts";
import { type Hash256, keccak256, toHash256 } from "../../../../core/encoding/bytes.ts";
import type { ConsensusStateId } from "../../../../core/ismp/state_machine.ts";
import { evmStateMachine } from "../../../../core/ismp/state_machine.ts";
import { type BlsPublicKey, isBlsSignature, parseBlsPublicKey } from "../../../spec/bls.ts";
import { readHeaderCommitment } from "../../../../core/evm/block_header.ts";
import {
  type BeaconNetwork,
  epochOfSlot,
  forkAtEpoch,
  gloasStateIndices,
  periodOfSlot,
  SIGNER_THRESHOLD,
  type StateIndices,
  stateIndicesAt,
} from "./beacon_network.ts";
import {
  type BeaconConsensusState,
  beaconConsensusStateCodec,
  countSigners,
  type GloasPayloadProof,
  isSigner,
  type LegacyPayloadProof,
  type SignedUpdate,
  type StateUpdate,
  stateUpdateCodecs,
  type SyncAggregate,
  type SyncCommittee,
  type UpdateLayout,
  type VerifierState,
} from "./update.ts";
import {
  branchRoot,
  checkpointRoot,
  committeeRoot,
  depthOf,
  headerRoot,
  multiProofRoot,
  signingRoot,
  syncCommitteeDomain,
  uint64Root,
} from "./ssz_roots.ts";
import { SyncCommitteeError, type SyncCommitteeErrorCode } from "./sync_committee_error.ts";

/** Generalized indices of state root, block number and time in the execution payload header. */
export const PAYLOAD_INDICES = { stateRoot: 34, blockNumber: 38, timestamp: 41 } as const;

/**
 * The state that the hub's client stores after `update`.
 *
 * The finalized header may be older than the trusted one: only its epoch must be newer. Nothing ties the epoch to the
 * slot of the finalized header either; the attested state, which the committee signed, vouches for both. One rule is
 * stricter than the hub's, which ignores surplus nodes in the branch of the payload header. @throws {SyncCommitteeError}
 */
export function verifyUpdate(
  network: BeaconNetwork,
  trusted: VerifierState,
  update: StateUpdate,
): VerifierState {
  const entersNextPeriod = verifySigned(network, trusted, update);
  checkExecutionPayload(update, stateIndicesAt(network, update.finalizedHeader.slot));
  checkNextCommittee(update, stateIndicesAt(network, update.attestedHeader.slot));
  return nextState(trusted, update, entersNextPeriod);
}

/**
 * Verifies everything in an update except the execution block, which is not known yet: an update that passes is
 * authentic, so that later contradicting data is at fault. @throws {SyncCommitteeError}
 */
export function authenticateUpdate(
  network: BeaconNetwork,
  trusted: VerifierState,
  update: SignedUpdate,
): void {
  checkNextCommittee(update, stateIndicesAt(network, update.attestedHeader.slot));
  verifySigned(network, trusted, update);
}

/** @returns true when the update enters the period after the trusted one. */
function verifySigned(network: BeaconNetwork, trusted: VerifierState, update: SignedUpdate): boolean {
  const indices = stateIndicesAt(network, update.attestedHeader.slot);
  checkShape(update, indices);
  const entersNextPeriod = checkPeriods(network, trusted, update);
  checkNewer(trusted, update);
  checkSignature(
    network,
    entersNextPeriod ? trusted.nextSyncCommittee : trusted.currentSyncCommittee,
    update,
  );
  checkFinality(update, indices);
  return entersNextPeriod;
}

function require(holds: boolean, code: SyncCommitteeErrorCode): void {
  if (!holds) throw new SyncCommitteeError(code);
}

function checkShape(update: SignedUpdate, indices: StateIndices): void {
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
function checkPeriods(network: BeaconNetwork, trusted: VerifierState, update: SignedUpdate): boolean {
  const signaturePeriod = periodOfSlot(network, update.signatureSlot);
  if (signaturePeriod === trusted.statePeriod) return false;
  require(signaturePeriod === trusted.statePeriod + 1n, "signature_period");
  // An older attested state still holds the already trusted committee instead of the one after it.
  require(periodOfSlot(network, update.attestedHeader.slot) === signaturePeriod, "attested_period");
  return true;
}

function checkNewer(trusted: VerifierState, update: SignedUpdate): void {
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

function checkFinality(update: SignedUpdate, indices: StateIndices): void {
  const { epoch, finalityBranch } = update.finalityProof;
  const checkpoint = checkpointRoot(epoch, headerRoot(update.finalizedHeader));
  const root = branchRoot(checkpoint, finalityBranch, indices.finalizedCheckpoint);
  require(root === update.attestedHeader.stateRoot, "finality_branch");
}

function checkExecutionPayload(
  { executionPayload: proof, finalizedHeader }: Pick<StateUpdate, "executionPayload" | "finalizedHeader">,
  { execution: index }: StateIndices,
): void {
  const isGloas = "executionHeader" in proof;
  require(isGloas === (index === gloasStateIndices.execution), "execution_variant");
  const leaf = isGloas ? toHash256(keccak256(proof.executionHeader)) : payloadHeaderRootOf(proof);
  require(proof.executionPayloadBranch.length === depthOf(index), "execution_branch_length");
  require(
    branchRoot(leaf, proof.executionPayloadBranch, index) === finalizedHeader.stateRoot,
    "execution_branch",
  );
  if (isGloas) checkExecutionHeader(proof);
}

function payloadHeaderRootOf(proof: LegacyPayloadProof): Hash256 {
  const root = multiProofRoot(
    new Map([
      [PAYLOAD_INDICES.stateRoot, proof.stateRoot],
      [PAYLOAD_INDICES.blockNumber, uint64Root(proof.blockNumber)],
      [PAYLOAD_INDICES.timestamp, uint64Root(proof.timestampSec)],
    ]),
    proof.multiProof,
  );
  if (root === undefined) throw new SyncCommitteeError("multi_proof_length");
  return root;
}

function checkExecutionHeader({ executionHeader, ...claimed }: GloasPayloadProof): void {
  const read = readHeaderCommitment(executionHeader);
  require(
    read?.stateRoot === claimed.stateRoot && read.blockNumber === claimed.blockNumber &&
      read.timestampSec === claimed.timestampSec,
    "execution_header",
  );
}

function checkNextCommittee(update: SignedUpdate, indices: StateIndices): void {
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

/**
 * True when exactly the committee members whose bits are set signed `message`. The participants' key is the committee's
 * aggregate less the absent keys, as on the hub: signers are the majority, and decompressing keys is what costs (about
 * 0.5 ms each, the check itself 60 ms). @throws {SyncCommitteeError} `public_key` when a key needed is not a point of
 * the group.
 */
function isSignedByCommittee(
  committee: SyncCommittee,
  aggregate: SyncAggregate,
  message: Hash256,
): boolean {
  let signers = parsePublicKey(committee.aggregatePublicKey);
  committee.publicKeys.forEach((key, index) => {
    if (!isSigner(aggregate.bits, index)) signers = signers.subtract(parsePublicKey(key));
  });
  return isBlsSignature(aggregate.signature, signers, message);
}

function parsePublicKey(compressed: Uint8Array): BlsPublicKey {
  const refuse = (cause: Error): Error => new SyncCommitteeError("public_key", { cause });
  return mapError(Error, () => parseBlsPublicKey(compressed), refuse);
}

/** Decodes a consensus state as the hub stores it. @throws {SyncCommitteeError} `undecodable_state` */
export const decodeBeaconConsensusState = clientDecoder(
  beaconConsensusStateCodec,
  SyncCommitteeError,
  "undecodable_state",
);

/**
 * Decodes the consensus proof of a message. Unlike the hub it refuses trailing bytes. @throws {SyncCommitteeError}
 * `undecodable_update`
 */
export function decodeBeaconUpdate(bytes: Uint8Array, layout: UpdateLayout = "flat"): StateUpdate {
  return clientDecoder(stateUpdateCodecs[layout], SyncCommitteeError, "undecodable_update")(bytes);
}

/** A client on the hub. */
export interface BeaconClient {
  readonly network: BeaconNetwork;
  /** Id under which the client and its commitments are stored, e.g. `ETH0`. */
  readonly consensusStateId: ConsensusStateId;
}

/**
 * Verifies an update as the hub does. @throws {SyncCommitteeError}
 */
export function verifyBeaconUpdate(
  { network, consensusStateId }: BeaconClient,
  trusted: BeaconConsensusState,
  update: StateUpdate,
): VerifiedUpdate<BeaconConsensusState> {
  const lightClientState = verifyUpdate(network, trusted.lightClientState, update);
  const { blockNumber: number, ...block } = update.executionPayload;
  const id = { stateMachine: evmStateMachine(trusted.chainId), consensusStateId };
  return {
    consensusState: { ...trusted, frozenHeight: undefined, lightClientState },
    commitment: evmCommitment(id, { number, ...block }),
  };
}
