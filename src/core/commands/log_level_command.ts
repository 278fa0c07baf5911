/** `log-level` of both programs: its place in the command line; each program asks its own socket. */
import { Argument } from "commander";
import type { ExitCode } from "../runtime/exit_codes.ts";
import { type LogLevel, logLevels } from "../telemetry/log.ts";
import { type Command, defineCommand } from "./command.ts";

/** In what the programs differ. */
export interface LogLevelCommandOptions<Run> {
  /** A whole command line. */
  readonly example: string;
  /** What exit status 1 means. */
  readonly failure: string;
  /** Asks the running program. */
  readonly run: (run: Run, level: LogLevel) => Promise<ExitCode>;
}

/** Defines the command. */
export function defineLogLevelCommand<Run>(
  { example, failure, run }: LogLevelCommandOptions<Run>,
): Command<Run> {
  return defineCommand<Run, LogLevel>({
    name: "log-level",
    description: "Changes the minimum level that the running relayer logs, until it ends.",
    summary: "change the log level of the running relayer",
    afterHelp: `
Example:
  ${example}

At the next start --log-level counts again.

Exit status: 0 done, 1 ${failure}, 2 wrong command line.`,
    hasResult: true,
    addOptions: (parser, choose) =>
      void parser.addArgument(
        new Argument("<level>", "minimum level that is logged").choices([...logLevels]),
      ).action((level: LogLevel) => choose(level)),
    run,
  });
}

/** Says what the log does from now on. */
export function formatLogLevel({ level }: { readonly level: LogLevel }): string {
  return `The relayer logs from level ${level} on.`;
}
