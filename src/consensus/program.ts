/** Program from parsed arguments to exit status: configuration, log, signals, and the relayer itself. */
import { openProgram } from "../core/commands/open_program.ts";
import type { ProgramRequest } from "../core/commands/start_program.ts";
import type { RunArguments } from "./arguments.ts";
import { readConsensusConfig } from "./config/read.ts";
import type { ConsensusConfig } from "./config/schema.ts";
import { connectChains, spentTextName, type TextOf } from "./connect.ts";
import { memoryText, openPersistedText, type PersistedText, PersistedTextFault } from "./persisted_text.ts";
import { type Connections, type RunDeps } from "./session.ts";
import { runConsensus } from "./run.ts";
import { ConsensusWatch } from "./status/consensus_watch.ts";
import { ChainNames } from "../core/config/chain_names.ts";
import { type CheckRow, judgeConfiguration } from "../core/checks/check_row.ts";
import type { ConfigResult } from "../core/config/diagnostics.ts";
import type { StateMachine } from "../core/ismp/state_machine.ts";
import type { ProcessEnv } from "../core/runtime/app.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { systemRandomness } from "../core/runtime/clock.ts";
import { askControl, isControlServed, openControlSocket } from "../core/runtime/control_socket.ts";
import type { Log } from "../core/telemetry/log.ts";
import { type ConsensusRun, workHere } from "./commands/command.ts";
import { dropWriteAccess, lockFile } from "../core/runtime/file_access.ts";
import { systemClock } from "../core/runtime/system_clock.ts";

/** Runs the relayer until it is stopped, or a command until it is done. */
export async function runProgram(
  request: ProgramRequest<RunArguments, ConsensusRun>,
  world: ProcessEnv,
): Promise<ExitCode> {
  const { arguments: args, command } = request;
  const chainNames = new ChainNames();
  let latest: ConfigResult<ConsensusConfig>;
  const read = (): ConfigResult<ConsensusConfig> => {
    const reading = latest = readConsensusConfig(world, args.config);
    const { hub, chains = [] } = reading.config ?? {};
    if (hub !== undefined) chainNames.set([{ ...hub.substrate, section: hub.section }, ...chains]);
    return reading;
  };
  const reading = read();
  const configured = (): CheckRow => judgeConfiguration(args.config, latest);
  const watch = new ConsensusWatch(systemClock, reading.config?.hub.substrate.stateMachine ?? "", chainNames);
  const parts = { request, world, names: chainNames, watch, reading, readAgain: read, keepFixed: keepHub };
  using program = openProgram(parts);
  if (program === undefined) return exitCodes.failed;
  const { config, log, setLogLevel, signal } = program;
  const textOf = openTexts(config, args.cache, log);
  if (textOf === undefined) return exitCodes.failed;
  const path = findSocketPath(args);
  const control = { clock: systemClock, log };
  const isRelay = command.kind === "relay";
  const running = isRelay ? await findRunning(args.config, path) : undefined;
  if (running !== undefined) {
    log.error("relayer_runs_already", { explanation: running });
    return exitCodes.failed;
  }
  const controlSocket = isRelay && path !== undefined ? openControlSocket(control, path) : undefined;
  // A command needs the right to connect to the socket, before it has connections of its own.
  if (isRelay) dropWriteAccess(log);
  const observer = watch.endpoints;
  const deps = { ...control, textOf, random: systemRandomness, setLogLevel, observer, watch };
  const depsWith = (current: ConsensusConfig): RunDeps => {
    const connect = (): Connections => {
      if (!isRelay) dropWriteAccess(log);
      return connectChains(deps, current);
    };
    return { ...deps, config: current, connect, configured, board: watch.checks, controlSocket };
  };
  if (command.kind !== "relay") {
    const of = depsWith(config);
    return await command.run({
      ...program.commandRun,
      deps: of,
      askRunning: (asked) =>
        path === undefined ? Promise.resolve(undefined) : askControl(control, { path, ...asked }),
      here: (needs, work) => workHere(of, needs, work, signal),
    });
  }
  const { base } = args;
  const { webhook } = program;
  try {
    if (base !== undefined && findBase(config, base) === undefined) {
      log.error("command_failed.chain_not_configured", { base });
      return exitCodes.failed;
    }
    return await program.serve(() =>
      program.inRounds((current, ending) =>
        runConsensus({ ...depsWith(current), webhook }, { base: findBase(current, base) }, ending)
      )
    );
  } finally {
    controlSocket?.close();
  }
}

/** The chain that `--base` names by its section or as a state machine; `undefined`: none. */
function findBase({ chains }: ConsensusConfig, base: string | undefined): StateMachine | undefined {
  return chains.find(({ section, stateMachine }) => section === base || stateMachine === base)?.stateMachine;
}

/**
 * Opens the files of `--cache`; other texts live as long as the program. `undefined`: the files cannot be used, which is
 * logged.
 */
function openTexts(config: ConsensusConfig, folder: string | undefined, log: Log): TextOf | undefined {
  try {
    const chains = folder === undefined ? [] : config.chains.filter(({ type }) => type !== "substrate");
    const names = chains.map(({ stateMachine }) => spentTextName(stateMachine));
    const texts = new Map<string, PersistedText>(
      names.map((name) => [name, openPersistedText(`${toFolder(folder ?? "")}/${name}`)]),
    );
    return (name) => {
      const text = texts.get(name) ?? memoryText();
      texts.set(name, text);
      return text;
    };
  } catch (error) {
    if (!(error instanceof PersistedTextFault)) throw error;
    log.error("command_failed.cache_unusable", { explanation: error.message });
    return undefined;
  }
}

/** Path of the control socket: that of `--socket`, or in the folder of `--cache`; `undefined`: there is none. */
function findSocketPath({ socket, cache }: RunArguments): string | undefined {
  return socket ?? (cache === undefined ? undefined : `${toFolder(cache)}/causeway-consensus.sock`);
}

/** Finds the relayer that uses the same accounts or files already; `undefined`: none, and no other one can start now. */
async function findRunning(config: string, socket: string | undefined): Promise<string | undefined> {
  if (!lockFile(config)) return `another running relayer works with ${config}`;
  return socket !== undefined && await isControlServed(socket)
    ? `another running relayer answers at ${socket}`
    : undefined;
}

function toFolder(path: string): string {
  return path.replace(/\/+$/, "");
}

/** Names of lines, metrics and the status page are those of one hub: another one is used after a restart. */
function keepHub(
  { hub: { substrate: { stateMachine, consensusStateId } } }: ConsensusConfig,
  after: ConsensusConfig,
): { readonly config: ConsensusConfig; readonly fixed: readonly string[] } {
  const { hub } = after;
  const isSame = hub.substrate.stateMachine === stateMachine;
  const substrate = isSame ? hub.substrate : { ...hub.substrate, stateMachine, consensusStateId };
  const fixed = isSame ? [] : [`[${hub.section}.substrate].state_machine`];
  return { config: { ...after, hub: { ...hub, substrate } }, fixed };
}
