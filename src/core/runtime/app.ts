/**
 * Start and end of both programs around their work: report problems of the configuration, open the log, watch for
 * signals, and close everything again.
 */
import { type ConfigResult, describeProblems } from "../config/diagnostics.ts";
import { listSecrets } from "../config/redact.ts";
import type { Log, LogLevel } from "../telemetry/log.ts";
import { type LogFormat, type LogOptions, openLog } from "../telemetry/open_log.ts";
import { isJournalStream, openOutput } from "../telemetry/output.ts";
import { ProgressLine, type WorkProgress } from "../telemetry/progress.ts";
import { rereader, runRounds, tellConfiguration } from "./config_rounds.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import { systemClock } from "./system_clock.ts";
import type { Terminal } from "./terminal.ts";

/** Process environment, which only the entry point may access. */
export interface ProcessEnv {
  readonly readFile: (path: string) => Uint8Array;
  /** A variable of the environment that the configuration names; `undefined`: not set. */
  readonly readVariable: (name: string) => string | undefined;
  /** Permissions of a file; `undefined`: it cannot be said. */
  readonly readMode: (path: string) => number | undefined;
  /** Keys of keystores that were opened before. */
  readonly openedKeystores: Map<string, Uint8Array>;
  /** Called once the configuration is read: nothing more of the environment can be read then. */
  readonly closeEnvironment: () => void;
  /** Writes to standard output; false when the text is lost although somebody reads. */
  readonly writeOutput: (text: string) => boolean;
  /** Writes a new file that only its owner can read; false when there is one at the path. Throws the runtime's error. */
  readonly writeNewFile: (path: string, text: string) => boolean;
  /** Absent: nobody can be asked. */
  readonly terminal: Terminal | undefined;
  readonly writeError: (text: string) => void;
  readonly exit: (code: ExitCode) => void;
  readonly isColourWelcome: boolean;
}

/** Arguments common to both programs. */
export interface CommonArguments {
  /** Path of the configuration file. */
  readonly config: string;
  readonly logFormat: LogFormat;
  readonly logLevel: LogLevel;
}

/** Options in which the programs differ. */
export interface AppOptions<C> extends Pick<LogOptions, "names" | "onWarning" | "onEvent" | "onUnknown"> {
  readonly arguments: CommonArguments;
  readonly reading: ConfigResult<C>;
  /** Reads the file again, for SIGHUP. */
  readonly readAgain: () => ConfigResult<C>;
  /** Replaces what a restart is needed for in `after`, and names it; default: all of a file can change. */
  readonly keepFixed?: (before: C, after: C) => { readonly config: C; readonly fixed: readonly string[] };
  /** True: the log goes to standard error, so standard output holds the result of a command and nothing else. */
  readonly hasResult?: boolean;
  /** True: the warnings and notes of the configuration are news, and not what every command repeats. */
  readonly tellsConfiguration: boolean;
}

/** Context of the program's work; the log is written when it is disposed of. */
export interface AppContext<C> extends Disposable {
  readonly config: C;
  readonly log: Log;
  /** Changes the minimum level that is logged, while the program runs. */
  readonly setLogLevel: (level: LogLevel) => void;
  /** Writes to standard output, after everything that was logged before. */
  readonly print: (text: string) => void;
  /** True: standard output is a terminal that shows colours. */
  readonly hasColour: boolean;
  /** Aborted by the first SIGINT or SIGTERM; the second one ends the program at once. */
  readonly signal: AbortSignal;
  /** Ends the program at once, when everything that was logged is written. */
  readonly exitNow: (code: ExitCode) => void;
  /**
   * Works with the configuration until the program is stopped, again whenever SIGHUP had another one read. At a
   * terminal SIGHUP says that the terminal is gone, and ends the program.
   */
  readonly inRounds: (work: (config: C, signal: AbortSignal) => Promise<ExitCode>) => Promise<ExitCode>;
}

/** Characters of the status line: a line that the terminal breaks could not be taken away. */
const STATUS_WIDTH = 79;

/** Opens what surrounds the work of a checked configuration; an invalid one is only reported. */
export function openApp<C>(env: ProcessEnv, options: AppOptions<C>): AppContext<C> | undefined {
  const { arguments: args, reading } = options;
  const journal = env.readVariable("JOURNAL_STREAM");
  env.closeEnvironment();
  const { config } = reading;
  if (config === undefined) {
    env.writeError(describeProblems(args.config, reading));
    return undefined;
  }
  const output = openOutput();
  const logOutput = options.hasResult ? openOutput(Deno.stderr) : output;
  const line = new ProgressLine(systemClock, (text) => logOutput.status(text?.slice(0, STATUS_WIDTH)));
  const log = openLog({
    format: args.logFormat,
    level: args.logLevel,
    write: (line) => logOutput.write(line),
    flush: () => logOutput.flush(),
    clock: systemClock,
    hasColour: logOutput.isTerminal && env.isColourWelcome,
    ...logOutput.isTerminal && args.logFormat === "human" && {
      progress: (progress: WorkProgress) => line.report(progress),
    },
    isJournal: isJournalStream(options.hasResult ? 2 : 1, journal),
    secrets: [...listSecrets(config), ...reading.secrets],
    ...options.onWarning && { onWarning: options.onWarning },
    names: options.names,
    onEvent: options.onEvent,
    onUnknown: options.onUnknown,
  });
  tellConfiguration(log, { file: args.config, reading, isNews: options.tellsConfiguration });
  const exitNow = (code: ExitCode): void => {
    log.flush();
    logOutput.flush();
    env.exit(code);
  };
  const { signal, dispose } = abortOnSignals(systemSignals, {
    exit: exitNow,
    onFirst: (name) => log.info("program_stopping", { signal: name }),
  });
  return {
    config,
    log,
    setLogLevel: log.setLevel,
    print: (text) => {
      logOutput.status(undefined);
      log.flush();
      output.write(text);
    },
    hasColour: output.isTerminal && env.isColourWelcome,
    signal,
    exitNow,
    inRounds: (round) => {
      const read = rereader({ ...options, file: args.config, log }, config);
      const watch = logOutput.isTerminal ? (): () => void => () => {} : onHangup;
      return runRounds({ read, watch }, { first: config, signal }, round);
    },
    [Symbol.dispose]: () => {
      logOutput.status(undefined);
      dispose();
      log.flush();
      output.flush();
    },
  };
}

/** Signals that end a program. */
export type TerminationSignal = "SIGINT" | "SIGTERM";

const endingSignals: readonly TerminationSignal[] = ["SIGINT", "SIGTERM"];

/** Source of signals. */
export interface SignalSource {
  add(name: TerminationSignal, handler: () => void): void;
  remove(name: TerminationSignal, handler: () => void): void;
}

/** Signals of this process. */
export const systemSignals: SignalSource = {
  add: (name, handler) => Deno.addSignalListener(name, handler),
  remove: (name, handler) => Deno.removeSignalListener(name, handler),
};

/** Calls `handler` for each SIGHUP of this process; returns what ends that. */
function onHangup(handler: () => void): () => void {
  Deno.addSignalListener("SIGHUP", handler);
  return () => Deno.removeSignalListener("SIGHUP", handler);
}

/** Reason of a requested abort: not a failure. */
export class ShutdownRequested extends Error {
  override readonly name = "ShutdownRequested";
  readonly code = "shutdown";
  constructor(readonly by: TerminationSignal) {
    super(`Asked to stop by ${by}`);
  }
}

/**
 * Watches for SIGINT and SIGTERM until it is disposed of. The first of any kind aborts `signal` with
 * {@link ShutdownRequested}; the second calls `exit(130)`. `onFirst` may inform the operator that work is being finished.
 */
export function abortOnSignals(
  source: SignalSource,
  options: {
    readonly exit: (code: ExitCode) => void;
    readonly onFirst?: (name: TerminationSignal) => void;
  },
): { readonly signal: AbortSignal; readonly dispose: () => void } {
  const controller = new AbortController();
  const handlers = endingSignals.map((name) => {
    const handler = (): void => {
      if (controller.signal.aborted) {
        options.exit(exitCodes.interrupted);
        return;
      }
      controller.abort(new ShutdownRequested(name));
      options.onFirst?.(name);
    };
    source.add(name, handler);
    return { name, handler };
  });
  return {
    signal: controller.signal,
    dispose: () => handlers.forEach(({ name, handler }) => source.remove(name, handler)),
  };
}
