/** Context of both strategies, and the end of each: the finding with the update. */
import type { ProverFinding } from "../../prover.ts";
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
  /** Encodes an update for the hub; returns the finding where it takes none now. */
  encode(made: MadeUpdate, signal: AbortSignal): Promise<Uint8Array | ProverFinding>;
  /** Notified of the newest slot that a node offers, with the forks that it knows. */
  noteHead(network: BeaconNetwork, slot: bigint): void;
}

/** An update that our verifier accepts. */
export interface MadeUpdate {
  readonly network: BeaconNetwork;
  readonly update: StateUpdate;
  /** State of the client that it builds on, as the hub stores it. */
  readonly madeOn: Uint8Array;
}

/** State of the hub. */
export interface TrustedBeaconState {
  readonly state: BeaconConsensusState;
  /** As the hub stores it. */
  readonly bytes: Uint8Array;
  /** Newest height of the execution chain; `undefined`: none. */
  readonly height: bigint | undefined;
}

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

/** Creates the finding of an attempt that has to wait for this reason. */
export function waitingFinding(network: BeaconNetwork, reason: WaitReason): ProverFinding {
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
  { consensusStateId, proofs, encode }: BeaconContext,
  trusted: TrustedBeaconState,
  { network, signed, execution, sources = [], hasMore = false }: SignedSource,
  signal: AbortSignal,
): Promise<ProverFinding> {
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
  const { consensusState, commitment } = verifyBeaconUpdate(
    { network, consensusStateId },
    trusted.state,
    update,
  );
  const encoded = await encode({ network, update, madeOn: trusted.bytes }, signal);
  if ("kind" in encoded) return encoded;
  const { height } = commitment.height;
  const committee = update.syncCommitteeUpdate === undefined
    ? ""
    : `, committee of period ${consensusState.lightClientState.statePeriod + 1n}`;
  const by = [...sources, found.source].join(", ");
  return {
    kind: "updates",
    proofs: [encoded],
    madeOn: trusted.bytes,
    height: trusted.height === undefined || height > trusted.height ? height : undefined,
    summary: `finalized slot ${update.finalizedHeader.slot}${committee} (by ${by})`,
    hasMore,
  };
}
