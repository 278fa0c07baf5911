/**
 * Context and result of an update attempt, for both strategies.
 */
import type { ProverFinding } from "../../prover.ts";
import type { VerifiedUpdate } from "../../spec/header_commitment.ts";
import { verifyBeaconUpdate } from "./spec/verify_update.ts";
import type { BeaconNetwork } from "./spec/beacon_network.ts";
import type { BeaconConsensusState, SignedUpdate, StateUpdate } from "./spec/update.ts";
import { isWorthSubmitting, type WaitReason } from "./spec/build_update.ts";
import type { ConsensusStateId } from "../../../core/ismp/state_machine.ts";
import type { BeaconEndpointSet } from "./beacon_endpoint_set.ts";
import type { FinalizedBlock, PayloadProofs } from "./payload_sources.ts";

/** Dependencies of both strategies. */
export interface BeaconContext {
  /** With the forks that this program knows; each node has its own in `BeaconNode.network`. */
  readonly network: BeaconNetwork;
  readonly consensusStateId: ConsensusStateId;
  readonly endpoints: BeaconEndpointSet;
  readonly proofs: PayloadProofs;
  /** Notified of the newest slot that a node offers, with the forks that it knows. */
  noteHead(network: BeaconNetwork, slot: bigint): void;
}

/** State of the hub. */
export interface TrustedBeaconState {
  readonly state: BeaconConsensusState;
  /** Newest height of the execution chain; `undefined`: none. */
  readonly height: bigint | undefined;
}

/** Result of an attempt. */
export type UpdateAttempt =
  | Extract<ProverFinding, { kind: "nothing" }>
  | {
    readonly kind: "update";
    readonly network: BeaconNetwork;
    readonly update: StateUpdate;
    /** The hub's state afterwards. */
    readonly verified: VerifiedUpdate<BeaconConsensusState>;
    /** Sources of the states' parts, for the log. */
    readonly sources: readonly string[];
    readonly hasMore: boolean;
  };

/** Sentences for the log. */
const reasons: Readonly<Record<WaitReason, string>> = {
  epoch_not_newer: "the hub knows the newest finalized epoch",
  header_not_newer: "the hub knows a finalized header as new as the newest attested one",
  period_is_past: "the beacon node is a period behind the hub",
  attested_before_period: "the first block of a period cannot be used",
  first_slot_of_fork: "the first block of a fork cannot be used",
  too_few_participants: "too few members of the committee signed the newest block",
};

/** Reasons that may pass with the next block. */
export const passing: ReadonlySet<WaitReason> = new Set([
  "attested_before_period",
  "first_slot_of_fork",
  "too_few_participants",
]);

/** Creates the result of an attempt that has to wait for this reason. */
export function waitingAttempt(network: BeaconNetwork, reason: WaitReason): UpdateAttempt {
  const againInMs = passing.has(reason) ? network.slotSec * 1000 : undefined;
  return { kind: "nothing", reason: reasons[reason], ...againInMs !== undefined && { againInMs } };
}

/** An update as the signatures prove it, with what its execution block is looked up by. */
export interface SignedSource {
  readonly network: BeaconNetwork;
  readonly signed: SignedUpdate;
  /** See `FinalizedBlock.execution`. */
  readonly execution?: FinalizedBlock["execution"];
  /** Sources so far, for the log; absent: none. */
  readonly sources?: readonly string[];
  /** Absent: false. */
  readonly hasMore?: boolean;
}

/** Adds the proof of the execution block, and checks the update as the hub will. @throws {RpcFault} */
export async function finishUpdate(
  { consensusStateId, proofs }: BeaconContext,
  trusted: TrustedBeaconState,
  { network, signed, execution, sources = [], hasMore = false }: SignedSource,
  signal: AbortSignal,
): Promise<UpdateAttempt> {
  const { currentSyncCommittee, nextSyncCommittee } = trusted.state.lightClientState;
  const committees = [nextSyncCommittee, currentSyncCommittee, signed.syncCommitteeUpdate?.nextSyncCommittee];
  const found = await proofs.find({
    network,
    beacon: signed.finalizedHeader,
    committees: committees.flatMap((committee) => committee ?? []),
    ...(execution === undefined ? {} : { execution }),
  }, signal);
  const update: StateUpdate = { ...signed, executionPayload: found.proof };
  if (!isWorthSubmitting(trusted.state.lightClientState, update, trusted.height)) {
    return { kind: "nothing", reason: `the hub knows height ${trusted.height ?? 0n} already` };
  }
  return {
    kind: "update",
    network,
    update,
    verified: verifyBeaconUpdate({ network, consensusStateId }, trusted.state, update),
    sources: [...sources, found.source],
    hasMore,
  };
}
