/**
 * Start and end of both programs around their work: report problems of the configuration, open the log, watch for
 * signals, serve the status pages, and close everything again.
 */
import type { ProgramStatus } from "../checks/program_status.ts";
import type { ProgramWatch } from "../checks/program_watch.ts";
import { Webhook } from "../checks/webhook.ts";
import type { ChainNames } from "../config/chain_names.ts";
import { describeProblems } from "../config/diagnostics.ts";
import { listSecrets } from "../config/redact.ts";
import { platformFetch } from "../rpc/http.ts";
import { abortOnSignals, type CommonArguments, onHangup, type ProcessEnv } from "../runtime/app.ts";
import type { ListenOptions } from "../runtime/command_line.ts";
import { rereader, type RereadOptions, runRounds, tellConfiguration } from "../runtime/config_rounds.ts";
import type { ExitCode } from "../runtime/exit_codes.ts";
import { systemClock } from "../runtime/system_clock.ts";
import { serveStatus } from "../telemetry/http/status_server.ts";
import type { Log, LogLevel } from "../telemetry/log.ts";
import { type LogObserver, openLog } from "../telemetry/open_log.ts";
import { isJournalStream, openErrorOutput, openOutput } from "../telemetry/output.ts";
import type { OperationRun } from "./operation.ts";
import type { ProgramRequest } from "./start_program.ts";

/** What a program is opened with. */
export interface ProgramParts<C, Run> extends Pick<RereadOptions<C>, "reading" | "readAgain" | "keepFixed"> {
  readonly request: ProgramRequest<CommonArguments & ListenOptions, Run>;
  readonly world: ProcessEnv;
  readonly names: ChainNames;
  readonly watch: LogObserver & Pick<ProgramWatch<ProgramStatus>, "reasons" | "sources">;
}

/** A program with a valid configuration; signals are watched until it is disposed of. */
export interface OpenProgram<C> extends Disposable {
  readonly config: C;
  readonly log: Log;
  /** Changes the minimum level that is logged, while the program runs. */
  readonly setLogLevel: (level: LogLevel) => void;
  /** Aborted by the first SIGINT or SIGTERM; the second one ends the program at once. */
  readonly signal: AbortSignal;
  /** Ends the program at once. */
  readonly exitNow: (code: ExitCode) => void;
  /**
   * Works with the configuration until the program is stopped, again whenever SIGHUP had another one read. At a
   * terminal SIGHUP says that the terminal is gone, and ends the program.
   */
  readonly inRounds: (work: (config: C, signal: AbortSignal) => Promise<ExitCode>) => Promise<ExitCode>;
  /** What every command gets. */
  readonly commandRun: Omit<OperationRun<never>, "askRunning" | "here">;
  readonly webhook: Webhook;
  /** Serves the status pages, where they are wanted, while `work` runs. */
  readonly serve: (work: () => Promise<ExitCode>) => Promise<ExitCode>;
}

/** Opens a program; an invalid configuration is only reported. */
export function openProgram<C, Run>(parts: ProgramParts<C, Run>): OpenProgram<C> | undefined {
  const { request: { arguments: args, command }, world, names, watch, reading } = parts;
  const journal = world.readVariable("JOURNAL_STREAM");
  world.closeEnvironment();
  const { config } = reading;
  if (config === undefined) {
    world.writeError(describeProblems(args.config, reading));
    return undefined;
  }
  const output = openOutput();
  // Standard output holds the result of a command and nothing else.
  const hasResult = command.kind === "command";
  const logOutput = hasResult ? openErrorOutput() : output;
  const secrets = [...listSecrets(config), ...reading.secrets];
  const isJournal = isJournalStream(hasResult ? 2 : 1, journal);
  const log = openLog({
    format: args.logFormat,
    level: args.logLevel,
    write: (text) => logOutput.write(text),
    clock: systemClock,
    hasColour: logOutput.isTerminal && world.isColourWelcome,
    isJournal,
    secrets,
    names,
    observer: watch,
  });
  const { signal, dispose } = abortOnSignals({
    exit: world.exit,
    onFirst: (name) => log.info("program_stopping", { signal: name }),
  });
  if (command.kind === "relay") tellConfiguration(log, args.config, reading);
  const { listen: address, listenName } = args;
  const server = { log, address, names: listenName, sources: watch.sources() };
  return {
    config,
    log,
    setLogLevel: log.setLevel,
    signal,
    exitNow: world.exit,
    inRounds: (round) => {
      const read = rereader({ ...parts, file: args.config, log }, config);
      const onRequest = logOutput.isTerminal ? (): () => void => () => {} : onHangup;
      return runRounds({ read, watch: onRequest }, { first: config, signal }, round);
    },
    commandRun: {
      print: (text) => output.write(text),
      printError: (text) => world.writeError(`${text}\n`),
      hasColour: output.isTerminal && world.isColourWelcome,
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
      names,
    }),
    serve: (work) => serveStatus(server, work),
    [Symbol.dispose]: dispose,
  };
}
