/**
 * Builds an update for the hub from light client objects. The proof of the execution block is in none of them: see
 * `state_proof.ts`. Source of the indices: ethereum/consensus-specs:
 * specs/{electra,gloas}/light-client/sync-protocol.md.
 */
import {
  type BeaconNetwork,
  isFirstSlotOfFork,
  isGloasAt,
  periodOfSlot,
  SIGNER_THRESHOLD,
  stateIndicesAt,
} from "./beacon_network.ts";
import type { FinalityUpdate, LightClientHeader } from "./light_client_data.ts";
import {
  branchRoot,
  depthOf,
  type ExecutionPayloadHeader,
  multiProofOf,
  uint64OfRoot,
  withoutPadding,
} from "./ssz_roots.ts";
import { DerivationError } from "./sync_committee_error.ts";
import {
  type CheckpointProof,
  countSigners,
  type LegacyPayloadProof,
  type SignedUpdate,
  type StateUpdate,
  type SyncCommitteeUpdate,
  type VerifierState,
} from "./update.ts";
import { PAYLOAD_INDICES } from "./verify_update.ts";
import type { Hash256 } from "../../../../core/encoding/bytes.ts";

/** Generalized index of the execution payload in a block body, Bellatrix to Fulu. */
const PAYLOAD_IN_BODY = 25;

/** Generalized index of the hash in that payload, Deneb to Fulu. */
const BLOCK_HASH_IN_BODY = 812;

/** Generalized index of the parent's block hash in the bid of a block body of Gloas. */
const PARENT_HASH_IN_BODY = 2856;

/** A branch without its padding. @throws {DerivationError} `branch_length` */
function wholeBranch(branch: readonly Hash256[], generalizedIndex: number): readonly Hash256[] {
  const nodes = withoutPadding(branch, generalizedIndex);
  if (nodes.length !== depthOf(generalizedIndex)) throw new DerivationError("branch_length");
  return nodes;
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
  const indices = stateIndicesAt(network, update.attestedHeader.slot);
  const [leaf, ...finalityBranch] = wholeBranch(update.finalityBranch, 2 * indices.finalizedCheckpoint);
  const epoch = leaf && uint64OfRoot(leaf);
  if (epoch === undefined) throw new DerivationError("not_an_epoch");
  return { epoch, finalityBranch };
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
  const leaf = typeof header.execution === "string" ? header.execution : header.execution.root;
  if (branchRoot(leaf, wholeBranch(header.executionBranch, index), index) !== header.beacon.bodyRoot) {
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
    multiProof: multiProofOf(header.tree, Object.values(PAYLOAD_INDICES)),
    executionPayloadBranch: stateBranch,
    timestampSec: header.timestampSec,
  };
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

/** Properties of an update that the decision depends on, without the proofs. */
export interface UpdateOffer {
  readonly attestedSlot: bigint;
  readonly finalizedEpoch: bigint;
  readonly signatureSlot: bigint;
  readonly signerCount: number;
}

/** Reason that the update cannot be used. All of these pass as the chain advances. */
export type WaitReason =
  /** The hub knows this finalized epoch, or a newer one. */
  | "epoch_not_newer"
  /** The hub's finalized header is as new as the attested one. */
  | "header_not_newer"
  /** The hub is in a later period than the update: the node is behind. */
  | "period_is_past"
  /** The first block of a period: its parent is of the previous period and knows too old a committee. */
  | "attested_before_period"
  /** Signed in the first slot of a fork, for which the hub takes the wrong fork version. */
  | "first_slot_of_fork"
  /** Too few members signed; the next block may have more. */
  | "too_few_participants";

/** Decision on an offer. */
export type UpdatePlan =
  /** Build it; `with_committee` when it enters the next period. */
  | { readonly action: "build"; readonly committee: "with_committee" | "without_committee" }
  /** Periods were missed: first submit an update of this one. */
  | { readonly action: "catch_up"; readonly period: bigint }
  | { readonly action: "wait"; readonly reason: WaitReason };

/** The part of the trusted state that decisions need. */
export type TrustedPosition = Pick<VerifierState, "latestFinalizedEpoch" | "statePeriod"> & {
  readonly finalizedHeader: Pick<VerifierState["finalizedHeader"], "slot">;
};

/**
 * Summarizes a finality update for the decision. @throws {DerivationError} when its finality branch is malformed.
 */
export function offerOf(network: BeaconNetwork, update: FinalityUpdate): UpdateOffer {
  return {
    attestedSlot: update.attestedHeader.slot,
    finalizedEpoch: deriveFinalityProof(network, update).epoch,
    signatureSlot: update.signatureSlot,
    signerCount: countSigners(update.syncAggregate.bits),
  };
}

/** Decides on the newest update that a beacon node offers, or on the best one of a missed period. */
export function planUpdate(network: BeaconNetwork, trusted: TrustedPosition, offer: UpdateOffer): UpdatePlan {
  const period = periodOfSlot(network, offer.signatureSlot);
  const next = trusted.statePeriod + 1n;
  if (period > next) return { action: "catch_up", period: next };
  const reason = reasonToWait(network, trusted, offer);
  if (reason !== undefined) return { action: "wait", reason };
  return { action: "build", committee: period === next ? "with_committee" : "without_committee" };
}

function reasonToWait(
  network: BeaconNetwork,
  trusted: TrustedPosition,
  offer: UpdateOffer,
): WaitReason | undefined {
  const period = periodOfSlot(network, offer.signatureSlot);
  if (offer.finalizedEpoch <= trusted.latestFinalizedEpoch) return "epoch_not_newer";
  if (offer.attestedSlot <= trusted.finalizedHeader.slot) return "header_not_newer";
  if (period < trusted.statePeriod) return "period_is_past";
  if (period > trusted.statePeriod && periodOfSlot(network, offer.attestedSlot) !== period) {
    return "attested_before_period";
  }
  if (isFirstSlotOfFork(network, offer.signatureSlot)) return "first_slot_of_fork";
  return offer.signerCount < SIGNER_THRESHOLD ? "too_few_participants" : undefined;
}

/**
 * True when a valid update advances the hub: by a newer commitment, or by the committee of the next period. (The hub
 * accepts others and stores no commitment at or below `hubHeight`, so they would only be paid for.) @param hubHeight
 * newest height of the execution chain on the hub; undefined when there is none.
 */
export function isWorthSubmitting(
  trusted: TrustedPosition,
  update: Pick<StateUpdate, "attestedHeader" | "executionPayload" | "syncCommitteeUpdate">,
  hubHeight: bigint | undefined,
): boolean {
  if (update.attestedHeader.slot <= trusted.finalizedHeader.slot) return false;
  if (update.syncCommitteeUpdate !== undefined) return true;
  return hubHeight === undefined || update.executionPayload.blockNumber > hubHeight;
}
