/**
 * Target of the consensus relayer over one WebSocket: reads of light clients in `consensus_views.ts`, updates in
 * `consensus_updates.ts`.
 */
import type { Hex } from "../../encoding/bytes.ts";
import type { StateCommitment } from "../../ismp/state_commitment.ts";
import type { ConsensusStateId, StateMachineHeight, StateMachineId } from "../../ismp/state_machine.ts";
import type { Secret } from "../../config/redact.ts";
import type { BroadcastResult, CheckFinding, Refusal, SignedSubmission } from "../port.ts";
import type { ConsensusClientView, ConsensusTarget, HubBlock, UpdateOutcome } from "../consensus_target.ts";
import { broadcast } from "./broadcast.ts";
import { checkConsensusTarget } from "./checks.ts";
import { dryRunUpdates, prepareUpdates, type UpdateOptions } from "./consensus_updates.ts";
import {
  fetchClientSnapshot,
  fetchCommitment,
  fetchLatestHeight,
  fetchNowSec,
  fetchStorage,
} from "./consensus_views.ts";
import type { SubstrateNode } from "./node.ts";
import {
  createChainContext,
  DEFAULT_MAX_CALL_BYTES,
  type SubstrateChainContext,
  type SubstrateChainDeps,
  type SubstrateNodeOptions,
} from "./substrate_chain.ts";
import { fetchUpdateTime } from "./views.ts";

/** Part of the hub's configuration (`[hub.substrate]`) that the adapter needs. */
export interface HubTargetOptions extends Omit<SubstrateNodeOptions, "signer" | "relayerId"> {
  /** sr25519 key, 32-byte mini secret or 64 bytes: it receives the rewards for updates. */
  readonly signer: Secret<Hex>;
}

/** Creates the hub as a target; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createHubTarget(deps: SubstrateChainDeps, options: HubTargetOptions): ConsensusTarget {
  return new SubstrateConsensusTarget(
    createChainContext(deps, options, true),
    options.maxCallBytes ?? DEFAULT_MAX_CALL_BYTES,
  );
}

/** Creates a Substrate chain that follows the hub: it accepts updates as the hub does. */
export function createFollowerTarget(deps: SubstrateChainDeps, options: HubTargetOptions): ConsensusTarget {
  return new SubstrateConsensusTarget(
    createChainContext(deps, options, false),
    options.maxCallBytes ?? DEFAULT_MAX_CALL_BYTES,
  );
}

class SubstrateConsensusTarget implements ConsensusTarget {
  readonly id: StateMachineId;
  readonly #parts: SubstrateChainContext;
  readonly #options: UpdateOptions;

  constructor(parts: SubstrateChainContext, maxCallBytes: number) {
    this.id = parts.node.id;
    this.#parts = parts;
    this.#options = { signer: parts.signer, maxCallBytes };
  }

  get #node(): SubstrateNode {
    return this.#parts.node;
  }

  check(signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkConsensusTarget(this.#node, signal);
  }

  async fetchClient(
    id: ConsensusStateId,
    block: HubBlock,
    signal: AbortSignal,
  ): Promise<ConsensusClientView | undefined> {
    const { client } = await fetchClientSnapshot(this.#node, id, block, signal);
    return client;
  }

  fetchLatestHeight(of: StateMachineId, signal: AbortSignal): Promise<bigint | undefined> {
    return fetchLatestHeight(this.#node, of, signal);
  }

  fetchCommitment(of: StateMachineHeight, signal: AbortSignal): Promise<StateCommitment | undefined> {
    return fetchCommitment(this.#node, of, signal);
  }

  fetchUpdateTime(of: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return fetchUpdateTime(this.#node, of, signal);
  }

  fetchNowSec(signal: AbortSignal): Promise<bigint> {
    return fetchNowSec(this.#node, signal);
  }

  fetchStorage(
    keys: readonly Uint8Array[],
    signal: AbortSignal,
    block: HubBlock = "best",
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return fetchStorage(this.#node, { keys, block }, signal);
  }

  dryRunUpdates(
    id: ConsensusStateId,
    proofs: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<Refusal | undefined> {
    return dryRunUpdates(this.#node, { id, proofs }, this.#options, signal);
  }

  prepareUpdates(
    id: ConsensusStateId,
    proofs: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<SignedSubmission> {
    return prepareUpdates(this.#node, { id, proofs }, this.#options, signal);
  }

  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    return broadcast(this.#node, submission, signal);
  }

  fetchUpdateOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<UpdateOutcome> {
    return this.#parts.outcomes.fetchUpdate(submission, signal);
  }

  close(): Promise<void> {
    return this.#parts.endpoint.close();
  }
}
