/** Program from checked arguments to an exit status: configuration, log, signals, and the relayer itself. */
import { type CheckRow, judgeConfiguration } from "../core/checks/check_row.ts";
import type { ConfigResult } from "../core/config/diagnostics.ts";
import { ChainNames } from "../core/config/chain_names.ts";
import { platformFetch } from "../core/rpc/http.ts";
import type { ProcessEnv } from "../core/runtime/app.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { obeyFence } from "../core/runtime/fence.ts";
import { askControl, type ControlSocket, openControlSocket } from "../core/runtime/control_socket.ts";
import { dropWriteAccess } from "../core/runtime/file_access.ts";
import { systemRandomness } from "../core/runtime/clock.ts";
import { machineTime, systemClock } from "../core/runtime/system_clock.ts";
import { openProgram } from "../core/commands/open_program.ts";
import type { ProgramRequest } from "../core/commands/start_program.ts";
import type { RunArguments } from "./arguments.ts";
import { type CommandDeps, type MessagingRun, workHere } from "./commands/command.ts";
import type { MessagingConfig } from "./config/schema.ts";
import { keepFixed, readMessagingConfig } from "./config/read.ts";
import { connectChains } from "./connect.ts";
import { isHeld, openLedger, openReadOnlyLedger } from "./ledger/open.ts";
import { relay } from "./run.ts";
import { withLedger } from "./session.ts";
import { RelayWatch } from "./status/relay_watch.ts";

/** Runs the program until it is stopped, or a command until it is done. */
export async function runProgram(
  request: ProgramRequest<RunArguments, MessagingRun>,
  world: ProcessEnv,
): Promise<ExitCode> {
  const { arguments: args, command } = request;
  const names = new ChainNames();
  const watch = new RelayWatch(systemClock, names);
  let reading: ConfigResult<MessagingConfig>;
  const read = (): ConfigResult<MessagingConfig> => {
    reading = readMessagingConfig(world, args.config);
    if (reading.config !== undefined) names.set([reading.config.hub, ...reading.config.chains]);
    return reading;
  };
  using program = openProgram({ request, world, names, watch, reading: read(), readAgain: read, keepFixed });
  if (program === undefined) return exitCodes.failed;
  const { config, log, setLogLevel, signal } = program;
  const { fence } = args;
  const fenced = { ...program, clock: systemClock, time: machineTime };
  const mayWork = fence === undefined
    ? undefined
    : obeyFence(fence, { ...fenced, read: () => world.readFile(fence) });
  if (fence !== undefined && mayWork === undefined) return exitCodes.fenced;
  const base = { clock: systemClock, random: systemRandomness, log, setLogLevel };
  const configured = (): CheckRow => judgeConfiguration(args.config, reading);
  const { db = "" } = args;
  const path = `${db}.sock`;
  let socket: ControlSocket | undefined;
  using _ = { [Symbol.dispose]: (): void => socket?.close() };
  const deps: CommandDeps = {
    ...base,
    board: watch.checks,
    openLedger: () => {
      const isReplicated = config.relayer.leaveCheckpoints;
      const ledger = openLedger(db, { clock: systemClock, log, isReplicated });
      // The database is locked, so that a socket that is there belongs to no living process.
      if (command.kind === "relay") socket = openControlSocket(base, path);
      dropWriteAccess(log);
      return ledger;
    },
    dropWriteAccess: () => dropWriteAccess(log),
    openReadOnly: () => openReadOnlyLedger(db, { clock: systemClock }),
    isHeld: () => isHeld(db),
    connect: (checked) =>
      watch.observe(connectChains({ ...base, observer: watch.endpoints, mayWork }, checked)),
    fetch: platformFetch,
    database: db,
    configured,
  };
  if (command.kind !== "relay") {
    return await command.run({
      ...program.commandRun,
      deps,
      config,
      askRunning: (asked) => askControl(base, { path, ...asked }),
      here: (needs, work) => workHere({ deps, config, signal }, needs, work),
    });
  }
  const relayer = { ...deps, watch, controlSocket: () => socket, webhook: program.webhook };
  return await program.serve(() =>
    withLedger(
      { deps, config, signal },
      (ledger) =>
        program.inRounds((current, ending) =>
          relay({ deps: relayer, config: current, signal: ending }, ledger)
        ),
    )
  );
}
