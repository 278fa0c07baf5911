/**
 * `log-consensus-state`: prints the arguments with which governance creates the client of a chain on the hub. Source:
 * docs/protocol/hub-consensus.md section 3.7 and docs/protocol/evm-consensus.md section 4 (`CreateConsensusState`).
 */
import { consensusClientIds, findAcceptedChains } from "../core/ismp/consensus_clients.ts";
import type { TargetReads } from "../core/chains/consensus_target.ts";
import { toHex } from "../core/encoding/bytes.ts";
import { type ConsensusStateId, type StateMachine, stateMachineIdKey } from "../core/ismp/state_machine.ts";
import { isFault } from "../core/commands/command.ts";
import { pauseAfterFault } from "../core/rpc/call.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { endpointBackoff, retry, withDeadline } from "../core/runtime/retry.ts";
import { awaitLogged } from "../core/runtime/waiting.ts";
import { type InitialConsensusState, type InitialStateMaker } from "./prover.ts";
import { type RunDeps, runSession } from "./session.ts";

/** Options of the command. */
export interface LogStateOptions {
  readonly chain: StateMachine;
  /** Prints the finished text. */
  readonly print: (text: string) => void;
  /** True: one JSON object instead of text for people. */
  readonly isJson: boolean;
}

/** Time for which failing endpoints are retried. */
const RETRY_WITHIN_MS = 30_000;

/** Timeout of the command: a whole state over a slow line. */
const WITHIN_MS = 15 * 60_000;

/** Prints the initial state of a chain of the configuration. */
export function printConsensusState(
  deps: RunDeps,
  options: LogStateOptions,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { chain } = options;
  return runSession(deps, async ({ hub, proved, receiveOnly, hubState }) => {
    const prover = chain === hub.id.stateMachine
      ? hubState
      : proved.find((candidate) => candidate.chain === chain);
    if (prover === undefined) {
      const reason = receiveOnly.includes(chain) ? "receive_only" : "chain_not_configured";
      deps.log.error(`command_failed.${reason}`, { chain });
      return exitCodes.failed;
    }
    try {
      const state = await fetchState(deps, prover, signal);
      const id = prover.consensusStateId;
      const calls = await fetchFurtherCalls(hub, { state, id }, signal);
      const printed = { chain, id, state, calls };
      options.print(options.isJson ? stateJson(printed) : stateText(printed));
      return exitCodes.ok;
    } catch (error) {
      signal.throwIfAborted();
      if (!isFault(error)) throw error;
      deps.log.error("command_failed.initial_state", { chain, error });
      return exitCodes.failed;
    }
  }, signal);
}

function fetchState(
  deps: RunDeps,
  prover: InitialStateMaker,
  signal: AbortSignal,
): Promise<InitialConsensusState> {
  const what = `the initial state of ${prover.chain}`;
  const options = {
    backoff: endpointBackoff,
    withinMs: RETRY_WITHIN_MS,
    pauseAfter: pauseAfterFault,
  };
  const fetchOnce = (inner: AbortSignal): Promise<InitialConsensusState> => prover.fetchInitialState(inner);
  const attempt = (inner: AbortSignal): Promise<InitialConsensusState> =>
    retry({ clock: deps.clock, randomness: deps.random, signal: inner }, options, fetchOnce);
  return awaitLogged(
    deps,
    { event: "long_wait.initial_state", fields: { chain: prover.chain } },
    () => withDeadline(deps.clock, { what, afterMs: WITHIN_MS, signal }, attempt),
  );
}

/** Call that governance has to make besides creating the client, with the reason. */
export interface FurtherCall {
  /** Pallet and call. */
  readonly call: string;
  readonly arguments: string;
  /** Consequence of omitting it. */
  readonly otherwise: string;
}

/** The state of a chain, for print. */
interface PrintedState {
  readonly chain: StateMachine;
  /** Name of the client. */
  readonly id: ConsensusStateId;
  readonly state: InitialConsensusState;
  /** Default: none. */
  readonly calls?: readonly FurtherCall[];
}

/**
 * Calls without which the hub accepts no messages of a rollup: its heights are stored under the id of its L1's client,
 * so challenge period and acceptance are that client's. None for other chains.
 */
async function fetchFurtherCalls(
  hub: { readonly reads: Pick<TargetReads, "fetchClient"> },
  { state: { challengePeriods, commitments }, id: own }: Pick<PrintedState, "state" | "id">,
  signal: AbortSignal,
): Promise<readonly FurtherCall[]> {
  const calls: FurtherCall[] = [];
  for (const { height: { id } } of commitments) {
    const under = id.consensusStateId;
    if (under === own) continue;
    calls.push({
      call: "Ismp.update_consensus_state",
      arguments: `consensus_state_id ${named(under)}, challenge_periods ${id.stateMachine} ` +
        `${challengePeriods.get(id.stateMachine) ?? 0n} s`,
      otherwise: `messages are refused (ChallengePeriodNotConfigured): heights are stored under ${under}`,
    });
    const client = await hub.reads.fetchClient(under, "best", signal);
    // The client may not exist yet: it is that of the L1 of every rollup that this program proves.
    const list = findAcceptedChains(client?.clientId ?? consensusClientIds.ethereum);
    if (list === undefined) continue;
    calls.push({
      call: list.addCall,
      arguments: stateMachineIdKey(id),
      otherwise: `the hub accepts no messages of the chain: ${list.name} has to list it`,
    });
  }
  return calls;
}

/**
 * Formats the state as the reference does, followed by the other arguments of `CreateConsensusState` and the further
 * calls of governance.
 */
function stateText({ chain, id, state, calls = [] }: PrintedState): string {
  const periods = [...state.challengePeriods].map(([machine, sec]) => `${machine} ${sec} s`);
  const commitments = state.commitments.map(({ height: { id: of, height }, commitment }) => {
    const { timestampSec, overlayRoot, stateRoot } = commitment;
    return `${stateMachineIdKey(of)} height ${height}, timestamp ${timestampSec}, ` +
      `overlay_root ${overlayRoot ?? "none"}, state_root ${stateRoot}`;
  });
  return [
    `ConsensusState for ${chain}:`,
    toHex(state.state),
    "",
    "The other arguments of CreateConsensusState:",
    `consensus_client_id: ${named(state.clientId)}`,
    `consensus_state_id: ${named(id)}`,
    `unbonding_period: ${state.unbondingSec} s`,
    `challenge_periods: ${periods.join(", ") || "none"}`,
    `state_machine_commitments: ${commitments.join("; ") || "none"}`,
    ...calls.length === 0 ? [] : ["", "Governance must call as well:"],
    ...calls.map((each) => `${each.call}: ${each.arguments}; otherwise ${each.otherwise}`),
  ].join("\n");
}

/** Formats the same as one JSON object; 64-bit integers are strings. */
function stateJson({ chain, id, state, calls = [] }: PrintedState): string {
  return JSON.stringify({
    stateMachine: chain,
    consensusState: toHex(state.state),
    consensusClientId: state.clientId,
    consensusStateId: id,
    unbondingPeriodSec: String(state.unbondingSec),
    challengePeriodsSec: Object.fromEntries(
      [...state.challengePeriods].map(([key, sec]) => [key, String(sec)]),
    ),
    stateMachineCommitments: state.commitments.map(({ height: { id: of, height }, commitment }) => ({
      ...of,
      height: String(height),
      timestampSec: String(commitment.timestampSec),
      overlayRoot: commitment.overlayRoot ?? null,
      stateRoot: commitment.stateRoot,
    })),
    ...calls.length > 0 && { furtherCalls: calls },
  });
}

function named(id: string): string {
  return `${id} (${toHex(new TextEncoder().encode(id))})`;
}
