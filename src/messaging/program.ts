/** Program from checked arguments to an exit status: configuration, log, signals, and the relayer itself. */
import type { ConfigResult } from "../core/config/diagnostics.ts";
import { listSecrets } from "../core/config/redact.ts";
import { Webhook } from "../core/checks/webhook.ts";
import { ChainNames } from "../core/config/chain_names.ts";
import { platformFetch } from "../core/rpc/http.ts";
import { openApp, type ProcessEnv } from "../core/runtime/app.ts";
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
import type { NotReadyReason } from "../core/telemetry/readiness.ts";
import { createRedactor } from "../core/telemetry/redactor.ts";
import type { ProgramRequest } from "../core/commands/start_program.ts";
import type { RunArguments } from "./arguments.ts";
import { type CommandDeps, type MessagingRun, workHere } from "./commands/command.ts";
import type { MessagingConfig } from "./config/schema.ts";
import { keepFixed, readMessagingConfig } from "./config/read.ts";
import { connectChains } from "./connect.ts";
import { isHeld, openLedger, openReadOnlyLedger } from "./ledger/open.ts";
import { runRelayer } from "./run.ts";
import { RelayWatch } from "./status/relay_watch.ts";

/** Runs the program until it is stopped, or a command until it is done. */
export async function runProgram(
  { arguments: args, command }: ProgramRequest<RunArguments, MessagingRun>,
  world: ProcessEnv,
): Promise<ExitCode> {
  const files = recordReads(world.readFile);
  const names = new ChainNames();
  const watch = new RelayWatch(systemClock, names);
  const { checks: board } = watch;
  const read = (): ConfigResult<MessagingConfig> => {
    const reading = readMessagingConfig({ ...world, ...files }, args.config);
    if (reading.config !== undefined) names.set([reading.config.hub, ...reading.config.chains]);
    return reading;
  };
  const reading = read();
  using app = openApp(world, {
    arguments: args,
    reading,
    readAgain: read,
    keepFixed,
    hasResult: command.kind === "command" && command.hasResult,
    tellsConfiguration: command.kind === "relay" || command.tellsConfiguration,
    names,
    onWarning: (...warning) => watch.noteWarning(...warning),
    onEvent: (...event) => watch.noteEvent(...event),
    onUnknown: (thing, nowMs) => board.noteUnknown(thing, nowMs),
  });
  if (app === undefined) return exitCodes.failed;
  const { config, log, setLogLevel, print, hasColour, signal, inRounds } = app;
  const { fence } = args;
  let mayWork: MayWork | undefined;
  if (fence !== undefined) {
    const fenced = { ...app, clock: systemClock, time: machineTime, read: () => world.readFile(fence) };
    mayWork = obeyFence(fence, fenced);
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
      const isReplicated = config.relayer.leaveCheckpoints;
      const ledger = openLedger(args.db, { clock: systemClock, log, isReplicated });
      // The database is locked, so that a socket that is there belongs to no living process.
      if (command.kind === "relay") socket = openControlSocket(base, path);
      dropWriteAccess(log);
      return ledger;
    },
    dropWriteAccess: () => dropWriteAccess(log),
    openReadOnly: () => openReadOnlyLedger(args.db, { clock: systemClock }),
    isHeld: () => isHeld(args.db),
    connect: (checked) =>
      watch.observe(connectChains({ ...base, observer: watch.endpoints, mayWork }, checked)),
    fetch: platformFetch,
    database: args.db,
    machine,
  };
  if (command.kind !== "relay") {
    return await command.run({
      deps,
      config,
      signal,
      print,
      printError: (text) => world.writeError(`${text}\n`),
      hasColour,
      isJson: args.logFormat === "json",
      clock: systemClock,
      names,
      askRunning: (request) => askControl(base, { path, ...request }),
      here: (needs, work) => workHere({ deps, config, signal }, needs, work),
    });
  }
  const { listen: address, listenName } = args;
  const server = {
    openListener: platformListener,
    log,
    address,
    names: listenName,
    sources: watch.sources(),
  };
  const redact = createRedactor([...listSecrets(config), ...reading.secrets]);
  const reasons = (): readonly NotReadyReason[] => watch.reasons();
  const webhook = new Webhook({ ...base, fetch: platformFetch, reasons, redact, names });
  const relayer = { ...deps, watch, controlSocket: () => socket, inRounds, webhook };
  try {
    return await serveStatus(server, () => runRelayer(relayer, config, signal));
  } finally {
    socket?.close();
  }
}
