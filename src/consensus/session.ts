/**
 * What the long run and `log-consensus-state` have in common: the hub and the provers are connected and closed again
 * whatever happens in between; an abort is a clean end.
 */
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import type { ConsensusConfig } from "./config/schema.ts";
import type { BeefyClientState } from "../core/evm/beefy_client_state.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { Clock } from "../core/runtime/clock.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import type { Randomness } from "../core/runtime/randomness.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { ProvedChain } from "./chain_worker.ts";
import type { ConsensusProver } from "./prover.ts";
import { closeHubConsensus, type HubConsensus } from "./hub_consensus.ts";

/** The hub and the chains of the configuration. */
export interface Connections {
  readonly hub: ConsensusTarget;
  readonly proved: readonly ProvedChain[];
  /** Chains of which nothing is proved: they have no client on the hub that this program knows. */
  readonly receiveOnly: readonly StateMachine[];
  /** Who is told of the hub; absent: nobody (`enable_hub_consensus = false`). */
  readonly hubConsensus?: HubConsensus | undefined;
  /** Makes the state with which clients of the hub are created elsewhere. */
  readonly hubState?: HubStateMaker | undefined;
  /** What the EVM host of a configured chain trusts of the hub; only hubs of type "beefy" (`--base`). */
  readonly fetchBase?: ((chain: StateMachine, signal: AbortSignal) => Promise<BaseState>) | undefined;
}

/** See {@link Connections.hubState}. */
export type HubStateMaker = Pick<
  ConsensusProver,
  "chain" | "consensusStateId" | "fetchInitialState" | "close"
>;

/** The client of the hub on a host; `undefined`: the host has another one. */
export type BaseState = BeefyClientState | undefined;

/** The outside world of the program. */
export interface RunDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Connects nothing yet: that happens at the first request. */
  readonly connect: (config: ConsensusConfig) => Connections;
}

/** Does `work` between connecting and closing. */
export async function runSession(
  deps: RunDeps,
  config: ConsensusConfig,
  work: (connections: Connections) => Promise<ExitCode>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const connections = deps.connect(config);
  try {
    return await work(connections);
  } catch (error) {
    if (signal.aborted && (error === signal.reason || isAbort(error))) return exitCodes.ok;
    throw error;
  } finally {
    const { hub, proved, hubConsensus, hubState } = connections;
    await Promise.allSettled([
      ...proved.map(({ prover }) => prover.close()),
      hub.close(),
      ...hubState === undefined ? [] : [hubState.close()],
      ...hubConsensus === undefined ? [] : [closeHubConsensus(hubConsensus)],
    ]);
  }
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === "AbortError";
}
