/**
 * Commands of both programs beside the long-running relayer: their part of the command line, and their work. A command
 * imports what it works with when it runs, so that help and mistakes do not wait for the chain libraries.
 */
import type { Command as Parser } from "commander";
import type { ConfigFileKind } from "../config/config_file.ts";
import { type ConfigResult, describeProblems } from "../config/diagnostics.ts";
import { type ConfigFiles, fileFailure } from "../config/toml.ts";
import type { CommonArguments, ProcessEnv } from "../runtime/app.ts";
import {
  addCommand,
  addGroup,
  type CommandDescription,
  type CommandLine,
  type FileOption,
} from "../runtime/command_line.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";

/** Commands that share their first word. */
export interface CommandGroup {
  readonly name: string;
  readonly description: string;
}

/** How a command is given. */
export interface CommandSyntax extends CommandDescription {
  /** The first word, for commands of two. */
  readonly group?: CommandGroup;
  /** Files of the program that it runs without; other commands require them all. */
  readonly without?: readonly FileOption[];
  /** Adds arguments and options to the command line. */
  readonly addOptions?: (parser: Parser) => void;
}

/** The command cannot do its work; the message says why and what helps. */
export class CommandRefusal extends Error {
  override readonly name = "CommandRefusal";
  readonly code = "refused";
}

/** True for what has a message for the operator, by its name; every other error is a defect, also one with a code. */
export function isFault(error: unknown): error is Error {
  return error instanceof Error && /(?:Fault|Refusal|Requested)$/.test(error.name);
}

/** What every run of a command has. */
export interface AnyRun {
  /** Writes a text and a line break to standard error. */
  readonly printError: (text: string) => void;
}

/** A command; `Run` is what the program hands to it. */
export interface Command<Run extends AnyRun> extends CommandSyntax {
  /**
   * Does the work with its arguments, then the values of its options, then its parser; returns the exit status, or nothing
   * instead of 0. Faults are printed, with status 1.
   */
  readonly run: (run: Run, ...given: never[]) => Promise<ExitCode | void> | ExitCode | void;
}

/** Command of a command line, with what was given. */
interface ChosenCommand<Run> extends Required<Pick<CommandSyntax, "without">> {
  /** Its words. */
  readonly name: string;
  readonly given: readonly unknown[];
  readonly run: (run: Run) => Promise<ExitCode>;
}

/** What a program is asked to do. */
export type ProgramCommand<Run> =
  /** Relays until it is stopped. */
  | { readonly kind: "relay" }
  /** Does one thing with a valid configuration, then exits. */
  | { readonly kind: "command" } & ChosenCommand<Run>
  /** Does one thing without a valid configuration, then exits. */
  | { readonly kind: "standalone" } & ChosenCommand<StandaloneRun>;

/** Adds a command to the command line, below its group. */
export function addToLine<Run extends AnyRun>(
  { command: program, exampleFiles }: CommandLine,
  command: Command<Run>,
  choose: (chosen: ChosenCommand<Run>) => void,
): void {
  const { group, without = [] } = command;
  const parent = group === undefined ? program : addGroup(program, group);
  const name = group === undefined ? command.name : `${group.name} ${command.name}`;
  const files = without.includes("config") ? "" : ` ${exampleFiles}`;
  const parser = addCommand(parent, command, `${program.name()}${files}`).action(
    (...given: readonly unknown[]) => {
      const run = async (of: Run): Promise<ExitCode> => {
        try {
          return await command.run(of, ...given as never[]) ?? exitCodes.ok;
        } catch (error) {
          if (!isFault(error)) throw error;
          of.printError(error.message);
          return exitCodes.failed;
        }
      };
      choose({ name, given, without, run });
    },
  );
  command.addOptions?.(parser);
}

/** `config`: the first word of the commands about the configuration file. */
export const configGroup: CommandGroup = {
  name: "config",
  description: "Checks, shows and explains the configuration file",
};

/** `keys`: the first word of the commands about keys. */
export const keysGroup: CommandGroup = {
  name: "keys",
  description: "Shows accounts and their balances, writes encrypted keystores",
};

/** Arguments of such a command: files are there unless it does without them. */
export type StandaloneArguments = Omit<CommonArguments, "config"> & {
  readonly config?: string;
  readonly db?: string;
};

/** One run of such a command. */
export interface StandaloneRun extends AnyRun {
  /** Name of the program. */
  readonly program: string;
  readonly arguments: StandaloneArguments;
  readonly env: ProcessEnv;
  /** The configuration file of the program. */
  readonly file: ConfigFileKind;
  /** Writes a text and a line break to standard output. */
  readonly print: (text: string) => void;
}

/** Runs a command; it fails when its output is lost. */
export async function runStandalone(
  command: { readonly run: (run: StandaloneRun) => Promise<ExitCode> },
  run: Omit<StandaloneRun, "print" | "printError">,
): Promise<ExitCode> {
  let isLost = false;
  const print = (text: string): void => {
    isLost = !run.env.writeOutput(`${text}\n`) || isLost;
  };
  const printError = (text: string): void => run.env.writeError(`${text}\n`);
  const code = await command.run({ ...run, print, printError });
  return isLost && code === exitCodes.ok ? exitCodes.failed : code;
}

/** Reads the configuration file. @throws {CommandRefusal} that lists the problems of one that cannot be used */
export function readUsable<C>(
  { arguments: { config: path }, env }: StandaloneRun,
  read: (files: ConfigFiles, path: string) => ConfigResult<C>,
  consequence = "the file cannot be used",
): ConfigResult<C> & { readonly config: C; readonly path: string } {
  if (path === undefined) throw new Error("the command line was accepted without --config");
  const reading = read(env, path);
  const { config } = reading;
  if (config !== undefined) return { ...reading, config, path };
  throw new CommandRefusal(describeProblems(path, reading, consequence).trimEnd());
}

/** Refusal of a command that writes a file. */
export function nothingWritten(why: string): CommandRefusal {
  return new CommandRefusal(`${why}; nothing was written`);
}

/** Writes a new file. @throws {CommandRefusal} */
export function writeNew({ env }: StandaloneRun, path: string, text: string): void {
  try {
    if (env.writeNewFile(path, text)) return;
  } catch (error) {
    throw error instanceof Error ? nothingWritten(`${path} cannot be written: ${fileFailure(error)}`) : error;
  }
  throw nothingWritten(`${path} exists and is not overwritten`);
}
