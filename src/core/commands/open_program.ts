/** What both programs open around their work: configuration, log, signals, status server and webhook. */
import type { ProgramStatus } from "../checks/program_status.ts";
import type { ProgramWatch } from "../checks/program_watch.ts";
import { Webhook } from "../checks/webhook.ts";
import type { ChainNames } from "../config/chain_names.ts";
import { listSecrets } from "../config/redact.ts";
import { platformFetch } from "../rpc/http.ts";
import { type AppContext, type AppOptions, openApp, type ProcessEnv } from "../runtime/app.ts";
import type { ListenOptions } from "../runtime/command_line.ts";
import type { ExitCode } from "../runtime/exit_codes.ts";
import { systemClock } from "../runtime/system_clock.ts";
import { platformListener } from "../telemetry/http/http_listener.ts";
import { serveStatus } from "../telemetry/http/status_server.ts";
import { createRedactor } from "../telemetry/redactor.ts";
import type { OperationRun } from "./operation.ts";
import type { ProgramRequest } from "./start_program.ts";

/** What a program is opened with. */
export interface ProgramParts<C, Run> extends Pick<AppOptions<C>, "reading" | "readAgain" | "keepFixed"> {
  readonly request: ProgramRequest<AppOptions<C>["arguments"] & ListenOptions, Run>;
  readonly world: ProcessEnv;
  readonly names: ChainNames;
  readonly watch:
    & Pick<ProgramWatch<ProgramStatus>, "noteWarning" | "noteEvent" | "reasons" | "sources">
    & { readonly checks: Pick<ProgramWatch<ProgramStatus>["checks"], "noteUnknown"> };
}

/** A program with a valid configuration. */
export interface OpenProgram<C> extends AppContext<C> {
  /** What every command gets. */
  readonly commandRun: Omit<OperationRun<never>, "askRunning" | "here">;
  readonly webhook: Webhook;
  /** Serves the status pages, where they are wanted, while `work` runs. */
  readonly serve: (work: () => Promise<ExitCode>) => Promise<ExitCode>;
}

/** Opens a program; an invalid configuration is only reported. */
export function openProgram<C, Run>(
  { request: { arguments: args, command }, world, names, watch, ...readings }: ProgramParts<C, Run>,
): OpenProgram<C> | undefined {
  const app = openApp(world, {
    ...readings,
    arguments: args,
    hasResult: command.kind === "command" && command.hasResult,
    tellsConfiguration: command.kind === "relay" || command.tellsConfiguration,
    names,
    onWarning: (...warning) => watch.noteWarning(...warning),
    onEvent: (...event) => watch.noteEvent(...event),
    onUnknown: (thing, nowMs) => watch.checks.noteUnknown(thing, nowMs),
  });
  if (app === undefined) return undefined;
  const { config, log, print, hasColour, signal } = app;
  const { listen: address, listenName } = args;
  const server = {
    openListener: platformListener,
    log,
    address,
    names: listenName,
    sources: watch.sources(),
  };
  return {
    ...app,
    commandRun: {
      print,
      printError: (text) => world.writeError(`${text}\n`),
      hasColour,
      isJson: args.logFormat === "json",
      clock: systemClock,
      names,
      signal,
    },
    webhook: new Webhook({
      clock: systemClock,
      log,
      fetch: platformFetch,
      reasons: () => watch.reasons(),
      redact: createRedactor([...listSecrets(config), ...readings.reading.secrets]),
      names,
    }),
    serve: (work) => serveStatus(server, work),
  };
}
