/** Program from checked arguments to an exit status: configuration, log, signals, and the relayer itself. */
import type { ConfigResult } from "../core/config/diagnostics.ts";
import { CheckBoard } from "../core/checks/program_status.ts";
import { platformFetch } from "../core/rpc/http.ts";
import { type ProcessEnv, runApp } from "../core/runtime/app.ts";
import { type ExitCode, exitCodes } from "../core/runtime/exit_codes.ts";
import { type MayWork, obeyFence } from "../core/runtime/fence.ts";
import { type MachineFacts, readMachineFacts, recordReads } from "../core/runtime/machine_facts.ts";
import { askControl } from "../core/runtime/control_client.ts";
import { type ControlSocket, openControlSocket } from "../core/runtime/control_socket.ts";
import { dropWriteAccess } from "../core/runtime/file_access.ts";
import { systemRandomness } from "../core/runtime/clock.ts";
import { machineTime, systemClock } from "../core/runtime/system_clock.ts";
import { platformListener } from "../core/telemetry/http/http_listener.ts";
import { serveStatus } from "../core/telemetry/http/status_server.ts";
import type { RunArguments, RunRequest } from "./arguments.ts";
import type { CommandDeps } from "./commands/command.ts";
import type { MessagingConfig } from "./config/schema.ts";
import { keepFixed, readMessagingConfig } from "./config/read.ts";
import { connectChains } from "./connect.ts";
import { openLedger, openReadOnlyLedger } from "./ledger/open.ts";
import { runRelayer } from "./run.ts";
import { RelayWatch } from "./status/relay_watch.ts";

/** Everything but commands that run without a valid configuration. */
interface ProgramRequest {
  readonly arguments: RunArguments;
  readonly command: Exclude<RunRequest["command"], { readonly kind: "standalone" }>;
}

/** Runs the program until it is stopped, or a command until it is done. */
export function runProgram(
  { arguments: args, command }: ProgramRequest,
  world: ProcessEnv,
): Promise<ExitCode> {
  const files = recordReads(world.readFile);
  const board = new CheckBoard();
  const watch = new RelayWatch(systemClock, board);
  const read = (): ConfigResult<MessagingConfig> => readMessagingConfig({ ...world, ...files }, args.config);
  return runApp(
    world,
    {
      arguments: args,
      reading: read(),
      readAgain: read,
      keepFixed,
      hasResult: command.kind === "command" && command.hasResult,
      tellsConfiguration: command.kind === "relay" || command.tellsConfiguration,
      onWarning: (line) => watch.program.noteWarning(line),
      onEvent: (...event) => watch.program.troubles.note(...event),
      onUnknown: (thing, nowMs) => board.noteUnknown(thing, nowMs),
    },
    async (config, { log, setLogLevel, print, hasColour, signal, exitNow, inRounds }) => {
      const { fence } = args;
      let mayWork: MayWork | undefined;
      if (fence !== undefined) {
        const read = (): Uint8Array => world.readFile(fence);
        mayWork = obeyFence(fence, { clock: systemClock, time: machineTime, log, exitNow, read });
        if (mayWork === undefined) return exitCodes.fenced;
      }
      const base = { clock: systemClock, random: systemRandomness, log, setLogLevel };
      const machine = (): MachineFacts => readMachineFacts(files.listKeyFiles(args.config));
      const path = `${args.db}.sock`;
      let socket: ControlSocket | undefined;
      const deps: CommandDeps = {
        ...base,
        checks: { board, machine },
        openLedger: () => {
          const ledger = openLedger(args.db, {
            clock: systemClock,
            log,
            isReplicated: config.relayer.leaveCheckpoints,
          });
          // The database is locked, so that a socket that is there belongs to no living process.
          if (command.kind === "relay") socket = openControlSocket(base, path);
          dropWriteAccess(log);
          return ledger;
        },
        dropWriteAccess: () => dropWriteAccess(log),
        openReadOnly: () => openReadOnlyLedger(args.db, { clock: systemClock }),
        askRunning: (request) => askControl(base, { path, ...request }),
        connect: (checked) =>
          watch.observe(connectChains({ ...base, observer: watch.endpoints, mayWork }, checked)),
        fetch: platformFetch,
        print,
        hasColour,
        database: args.db,
        machine,
        printError: (text) => world.writeError(`${text}\n`),
        logFormat: args.logFormat,
      };
      if (command.kind === "relay") {
        const server = {
          openListener: platformListener,
          log,
          address: args.listen,
          names: args.listenName,
          sources: watch.sources(),
        };
        try {
          return await serveStatus(
            server,
            () => runRelayer({ ...deps, watch, controlSocket: () => socket, inRounds }, config, signal),
          );
        } finally {
          socket?.close();
        }
      }
      return await command.run({ deps, config, signal });
    },
  );
}
