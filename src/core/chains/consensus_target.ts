/**
 * Chain as the consensus relayer sees it when it is the target of updates: the hub, or a hub follower. Source of the
 * rules: docs/protocol/evm-consensus.md section 4 and docs/protocol/hub-consensus.md section 3.4.
 */
import type {
  ConsensusClientId,
  ConsensusStateId,
  StateCommitment,
  StateMachineHeight,
  StateMachineId,
} from "../ismp/state_machine.ts";
import type { CheckJob, CheckRow } from "../checks/check_row.ts";
import type { Refusal, Sender, SignedSubmission, SubmissionOutcome } from "./submission.ts";

/** Light client of the target at one block. */
export interface ConsensusClientView {
  readonly clientId: ConsensusClientId;
  /** SCALE bytes of the trusted state, in the client's own layout. */
  readonly state: Uint8Array;
  /** Unix seconds of the last accepted update. */
  readonly updatedSec: bigint;
  /** Seconds without an update after which the client expires. */
  readonly unbondingSec: bigint;
  readonly isFrozen: boolean;
}

/** Block of the hub to read at. */
export type HubBlock = "best" | "final";

/** Outcome of an update, with the heights that it really stored, possibly none. */
export type UpdateOutcome = SubmissionOutcome & { readonly advanced?: readonly StateMachineHeight[] };

/** Reads of the target's light clients, and of its storage. */
export interface TargetReads {
  /** Light client with that id; `undefined`: the target has none (governance must create it). */
  fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined>;
  /** Latest stored height of a chain; `undefined`: none. */
  fetchLatestHeight(of: StateMachineId, signal: AbortSignal): Promise<bigint | undefined>;
  /** Commitment stored for a height; `undefined`: none (any more). */
  fetchCommitment(of: StateMachineHeight, signal: AbortSignal): Promise<StateCommitment | undefined>;
  /** Time at which the commitment of that height was stored, Unix seconds. */
  fetchUpdateTime(of: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined>;
  /** Clock of the target, Unix seconds. */
  fetchNowSec(signal: AbortSignal): Promise<bigint>;
  /** Raw storage values at one block, in the order of the keys; one round trip, two for the final block. */
  fetchStorage(
    keys: readonly Uint8Array[],
    signal: AbortSignal,
    /** Default `best`. */
    block?: HubBlock,
  ): Promise<readonly (Uint8Array | undefined)[]>;
}

/** Updates of one light client, in execution order: all or none. */
export interface Updates {
  readonly id: ConsensusStateId;
  readonly proofs: readonly Uint8Array[];
}

/** Updates of the target's light clients. */
export interface TargetUpdates {
  /** Dry run of these proofs, in order in one extrinsic; `undefined`: accepted. */
  dryRunUpdates(updates: Updates, signal: AbortSignal): Promise<Refusal | undefined>;
  /**
   * Creates one unsigned `Ismp.handle_unsigned` with a consensus message per proof, in order, each with our sr25519
   * signature of keccak256(proof). Nothing is sent.
   */
  prepareUpdates(updates: Updates, signal: AbortSignal): Promise<SignedSubmission>;
}

/** Search for updates. */
export interface UpdateOutcomes {
  /** Outcome of an update and the heights it stored (`StateMachineUpdated` events of that extrinsic). */
  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<UpdateOutcome>;
}

/** Target of consensus updates. Every method of its parts may throw an `RpcFault`. */
export interface ConsensusTarget {
  /** State machine of the target, and its consensus state id on other chains. */
  readonly id: StateMachineId;
  readonly reads: TargetReads;
  readonly updates: TargetUpdates;
  /** Submits to the transaction pool. */
  readonly sender: Pick<Sender, "broadcast">;
  readonly outcomes: UpdateOutcomes;

  /** Lists the checks for the operator of one round. */
  planChecks(): readonly CheckJob[];
  /** Compares the node with the configuration. */
  check(signal: AbortSignal): Promise<readonly CheckRow[]>;
  /** Closes connections. The target must not be used afterwards. */
  close(): Promise<void>;
}
