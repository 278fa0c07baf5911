/**
 * Session shared by the relayer and `log-consensus-state`: connects the hub and the provers and always closes them; an
 * abort is a clean end.
 */
import type { BaseState, HubConsensus } from "./client.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import type { Webhook } from "../core/checks/webhook.ts";
import type { CheckBoard } from "../core/checks/check_board.ts";
import type { CheckJob, CheckRow } from "../core/checks/check_row.ts";
import type { ConsensusConfig } from "./config/schema.ts";
import type { ConsensusProver, InitialStateMaker } from "./prover.ts";
import type { ConsensusWatch } from "./status/consensus_watch.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import type { ControlSocket } from "../core/runtime/control_socket.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { isAbortOf } from "../core/runtime/linked_abort.ts";
import type { Log, LogLevel } from "../core/telemetry/log.ts";

/** Connections to the hub and the configured chains. */
export interface Connections {
  readonly hub: ConsensusTarget;
  readonly proved: readonly ConsensusProver[];
  /** Receive-only chains: the hub has no client for them that this program supports. */
  readonly receiveOnly: readonly StateMachine[];
  /** Checks of endpoints and relay nodes; absent: none. */
  readonly endpointChecks?: readonly CheckJob[] | undefined;
  /** Followers of the hub; absent: none (`enable_hub_consensus = false`). */
  readonly hubConsensus?: HubConsensus | undefined;
  /** Builds the state with which other chains create clients of the hub. */
  readonly hubState?: InitialStateMaker | undefined;
  /** Reads the client of the hub on the EVM host of a configured chain; only for hubs of type "beefy" (`--base`). */
  readonly fetchBase?: ((chain: StateMachine, signal: AbortSignal) => Promise<BaseState>) | undefined;
}

/** Dependencies of the program. */
export interface RunDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Changes the minimum level that is logged; absent: it stays. */
  readonly setLogLevel?: ((level: LogLevel) => void) | undefined;
  readonly config: ConsensusConfig;
  /** Prepares the connections of the configuration; they are opened at the first request. */
  readonly connect: () => Connections;
  /** Row about the configuration that was read last; absent: none is checked. */
  readonly configured?: (() => CheckRow) | undefined;
  /** Receives the results of the running relayer's checks; absent: it makes none after its start. */
  readonly board?: CheckBoard | undefined;
  /** Watches connections and workers, on which updating does not depend; absent: nobody watches. */
  readonly watch?: ConsensusWatch | undefined;
  /** Posts changes of readiness; absent: nobody does. */
  readonly webhook?: Pick<Webhook, "workers"> | undefined;
  /** Socket for the operator's commands; absent: there is none. */
  readonly controlSocket?: ControlSocket | undefined;
}

/** Runs `work` between connecting and closing. */
export async function runSession(
  { connect }: Pick<RunDeps, "connect">,
  work: (connections: Connections) => Promise<ExitCode>,
  signal: AbortSignal,
): Promise<ExitCode> {
  const connections = connect();
  try {
    return await work(connections);
  } catch (error) {
    if (isAbortOf(signal, error)) return exitCodes.ok;
    throw error;
  } finally {
    const { hub, proved, hubConsensus, hubState } = connections;
    const { followers = [], shared = [] } = hubConsensus ?? {};
    const ofState = hubState === undefined ? [] : [hubState];
    await Promise.allSettled(
      [...proved, hub, ...ofState, ...followers, ...shared].map((each) => each.close()),
    );
  }
}
