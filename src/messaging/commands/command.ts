/**
 * Commands of the program beside the long-running relayer: their part of the command line, and their work. A command
 * imports what it works with when it runs, so that help and mistakes do not wait for the chain libraries.
 */
import { addCommand, type CommandDescription } from "../../core/runtime/command_line.ts";
import type { ExitCode } from "../../core/runtime/exit_codes.ts";
import type { LogFormat } from "../../core/telemetry/open_log.ts";
import type { ProgramRun, RunDeps } from "../session.ts";
import type { Command as Parser } from "commander";

/** Dependencies of a command, besides those of the long-running relayer. */
export interface CommandDeps extends RunDeps {
  /** Prints a text for the operator, a line break after it. */
  readonly print: (text: string) => void;
  readonly logFormat: LogFormat;
}

/** A command: how it is given, and what it does. */
export interface CommandDefinition<Options> extends CommandDescription {
  /** Adds the options to the command line; `choose` is called with those of a command line that has the command. */
  readonly addOptions: (parser: Parser, choose: (options: Options) => void) => void;
  /** Does the work; returns the exit status. */
  readonly run: (run: ProgramRun<CommandDeps>, options: Options) => Promise<ExitCode>;
}

/** Command of a command line, with its options. */
export interface ChosenCommand {
  readonly name: string;
  readonly options: unknown;
  readonly run: (run: ProgramRun<CommandDeps>) => Promise<ExitCode>;
}

/** Command that can be added to a command line. */
export interface Command {
  readonly addTo: (program: Parser, choose: (command: ChosenCommand) => void) => void;
}

/** Defines a command. */
export function defineCommand<Options>(definition: CommandDefinition<Options>): Command {
  const { name, addOptions, run } = definition;
  return {
    addTo: (program, choose) =>
      addOptions(
        addCommand(program, definition),
        (options) => choose({ name, options, run: (programRun) => run(programRun, options) }),
      ),
  };
}
