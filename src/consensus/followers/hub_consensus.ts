/**
 * Chains that get proofs of the hub's own finality (`enable_hub_consensus`), and what delivers them. Source:
 * docs/protocol/hub-consensus.md sections 2, 5.11.
 */
import type { ChainChecks } from "../../core/chains/chain_checks.ts";
import type { CheckRow } from "../../core/checks/check_row.ts";
import type { ConsensusTarget } from "../../core/chains/consensus_target.ts";
import type { StateMachine, StateMachineId } from "../../core/ismp/state_machine.ts";
import type { Worker } from "../../core/runtime/worker.ts";
import type { PollDeps, UpdateObserver } from "../poll_loop.ts";
import type { ConsensusProver } from "../prover.ts";
import type { ProofResult } from "../proven.ts";

/** A Substrate chain that follows the hub. */
export interface HubFollower {
  /** Proves the hub. */
  readonly prover: ConsensusProver;
  /** The chain to prove to. */
  readonly target: ConsensusTarget;
}

/** A host of an EVM chain, which has a worker of its own kind. */
export interface HubHost {
  readonly id: StateMachineId;
  /** Finds what makes endpoints or host unusable with this configuration. @throws {RpcFault} */
  readonly check: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
  createWorker(deps: HostWorkerDeps): Worker;
  /**
   * Delivers once what the worker would deliver next. The caller holds the turn of this light client. @throws {RpcFault}
   * @throws {ProverFault} @throws {DeadlineFault} @throws {CommandRefusal}
   */
  prove(options: ProveByHand, signal: AbortSignal): Promise<ProofResult>;
  /** Lists the checks for the operator of one round; absent: none. */
  planChecks?(): ChainChecks;
  close(): Promise<void>;
}

/** How an operator wants something proved. */
export interface ProveByHand {
  /** True: everything but the sending. */
  readonly isDryRun: boolean;
  /** Notified of what was sent; absent: nobody observes. */
  readonly observer: UpdateObserver | undefined;
}

/** Dependencies of the workers of hosts. */
export interface HostWorkerDeps extends PollDeps {
  /** Poll interval when there is nothing to do. */
  readonly intervalMs: number;
}

/** Followers of the hub. */
export interface HubConsensus {
  readonly hosts: readonly HubHost[];
  /** Connections that {@link hosts} share. */
  readonly shared: readonly { close(): Promise<void> }[];
  readonly followers: readonly HubFollower[];
  /** Chains that cannot follow a hub of this type. */
  readonly skipped: readonly StateMachine[];
  /** Reason for {@link skipped}. */
  readonly skippedText: string;
  /** Additional start-up checks; absent: none. */
  readonly checks?: readonly StartCheck[];
}

/** A check, with the name of the chain or endpoint that it covers. */
export interface StartCheck {
  readonly name: string;
  check(signal: AbortSignal): Promise<readonly CheckRow[]>;
}

/** Closes all connections. */
export async function closeHubConsensus({ hosts, shared, followers }: HubConsensus): Promise<void> {
  await Promise.allSettled([
    ...hosts.map((host) => host.close()),
    ...shared.map((each) => each.close()),
    // The prover closes its target.
    ...followers.map(({ prover }) => prover.close()),
  ]);
}
