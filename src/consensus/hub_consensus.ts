/**
 * Proofs of the hub's own finality for the chains (`enable_hub_consensus`): the workers that deliver them. Source:
 * docs/protocol/hub-consensus.md sections 2, 5.11.
 */
import type { CheckFinding } from "../core/chains/port.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import type { CheckResult } from "../core/chains/check.ts";
import type { ConsensusConfig } from "./config/schema.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { Randomness } from "../core/runtime/randomness.ts";
import type { Worker } from "../core/runtime/worker.ts";
import type { Log } from "../core/telemetry/log.ts";
import { type HostChain, hostWorker } from "./followers/host_worker.ts";
import type { ProofSource } from "./clients/beefy/proof_source.ts";
import { chainWorker, checkProver } from "./chain_worker.ts";
import { HeightNotifier } from "./followers/height_notifier.ts";
import type { ConsensusProver } from "./prover.ts";

/** A Substrate chain that follows the hub. */
export interface HubFollower {
  /** Proves the hub. */
  readonly prover: ConsensusProver;
  /** The chain to prove to. */
  readonly target: ConsensusTarget;
}

/** Followers of the hub, and the proof sources for them. */
export interface HubConsensus {
  /** EVM hosts; empty where the hub is finalized by GRANDPA. */
  readonly hosts: readonly HostChain[];
  /** Sources of proofs for {@link hosts}, in order of preference. */
  readonly sources: readonly ProofSource[];
  readonly followers: readonly HubFollower[];
  /** Chains that cannot follow a hub of this type. */
  readonly skipped: readonly StateMachine[];
  /** Additional start-up checks; absent: none. */
  readonly checks?: readonly NamedCheck[];
}

/** A check, with the name of the chain or endpoint that it covers. */
export interface NamedCheck {
  readonly name: string;
  check(signal: AbortSignal): Promise<readonly CheckFinding[]>;
}

/** Start-up checks of the followers; hosts check themselves. */
export function checkFollowers({ followers, checks = [] }: HubConsensus): readonly NamedCheck[] {
  const targets = followers.map((chain): NamedCheck => ({
    name: chain.target.id.stateMachine,
    check: (signal) => checkFollower(chain, signal),
  }));
  return [...targets, ...checks];
}

async function checkFollower(
  { prover, target }: HubFollower,
  signal: AbortSignal,
): Promise<readonly CheckFinding[]> {
  return [...await target.check(signal), ...await checkProver(prover, signal)];
}

/** Creates the workers that deliver proofs of the hub; chains without possible proofs are logged. */
export function planHubConsensus(
  deps: { readonly clock: Clock; readonly random: Randomness; readonly log: Log },
  config: ConsensusConfig,
  parts: HubConsensus,
  checks: ReadonlyMap<string, CheckResult>,
): readonly Worker[] {
  const { type } = config.hub.consensus;
  for (const chain of parts.skipped) {
    const explanation = type === "grandpa"
      ? "no EVM contract verifies GRANDPA, only BEEFY"
      : "this program delivers BEEFY proofs to EVM hosts only";
    deps.log.info("hub_proofs_unsupported", { chain, explanation });
  }
  const { stateMachine, consensusStateId, pollIntervalSec } = config.hub.substrate;
  const hub = { stateMachine, consensusStateId };
  const { sources } = parts;
  const intervalMs = pollIntervalSec * 1_000;
  const hosts = parts.hosts.map((chain) => hostWorker({ ...deps, hub, sources, chain, intervalMs }));
  const followers = parts.followers.map(({ prover, target }) => {
    const log = deps.log.with({ to: target.id.stateMachine });
    const shared = {
      clock: deps.clock,
      random: deps.random,
      log,
      hub: target,
      notifier: new HeightNotifier(),
    };
    return chainWorker(shared, { prover, l1: undefined }, checks.get(target.id.stateMachine));
  });
  return [...hosts, ...followers];
}

/** Closes all connections. */
export async function closeHubConsensus({ hosts, sources, followers }: HubConsensus): Promise<void> {
  await Promise.allSettled([
    ...hosts.map((host) => host.close()),
    ...sources.map((source) => source.close()),
    // The prover closes its target.
    ...followers.map(({ prover }) => prover.close()),
  ]);
}
