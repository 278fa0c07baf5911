/**
 * Planning of the next beacon chain update: pure decisions on the hub's state and a beacon node's offer. Source:
 * polytope-labs/hyperbridge: tesseract/consensus/sync-committee/src; the hub's rules as in `verify_update.ts`.
 */
import { type BeaconNetwork, isFirstSlotOfFork, periodOfSlot, SIGNER_THRESHOLD } from "./beacon_network.ts";
import { countSigners, type StateUpdate, type VerifierState } from "./update.ts";
import { deriveFinalityProof } from "./build_update.ts";
import type { FinalityUpdate } from "./light_client_data.ts";

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
