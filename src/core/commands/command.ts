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
  type ExitText,
  type FileOption,
  fileOptions,
} from "../runtime/command_line.ts";
import { ControlFault } from "../runtime/control_socket.ts";
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
  /** True: the log goes to standard output, as that of the program does; else to standard error, beside the result. */
  readonly isLogged?: boolean;
  /** Adds arguments and options to the command line. */
  readonly addOptions?: (parser: Parser) => void;
}

/** The command cannot do its work; the message says why and what helps. */
export class CommandRefusal extends Error {
  override readonly name = "CommandRefusal";
  readonly code = "refused";
}

/** What every run of a command has. */
interface AnyRun {
  /** Writes a text and a line break to standard error. */
  readonly printError: (text: string) => void;
}

/** A command. `Run` is what the program hands to it, `Given` its arguments, then the values of its options. */
export interface CommandDefinition<Run extends AnyRun, Given extends readonly unknown[]>
  extends CommandSyntax {
  /**
   * Does the work; returns the exit status, or nothing instead of 0. Its last argument is the parser of the command.
   * @throws {CommandRefusal | ControlFault} which are printed, with status 1
   */
  readonly run: (run: Run, ...given: Given) => Promise<ExitCode | void> | ExitCode | void;
}

/** Command of a command line, with what was given. */
interface ChosenCommand<Kind, Run> extends Required<Pick<CommandSyntax, "isLogged" | "without">> {
  readonly kind: Kind;
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
  | ChosenCommand<"command", Run>
  /** Does one thing without a valid configuration, then exits. */
  | ChosenCommand<"standalone", StandaloneRun>;

/** Command that can be added to the command line of a program. */
export interface Command<Run> {
  readonly addTo: (line: CommandLine, choose: (command: ProgramCommand<Run>) => void) => void;
}

/** Adds the commands to a program's command line and parses it; options that a command does without may be missing. */
export function parseWithCommands<Run>(
  line: CommandLine,
  commands: readonly Command<Run>[],
  args: readonly string[],
): ExitText | ProgramCommand<Run> {
  let asked: ProgramCommand<Run> = { kind: "relay" };
  for (const each of commands) {
    each.addTo(line, (chosen) => {
      asked = chosen;
    });
  }
  const listNeeded = (): readonly FileOption[] =>
    fileOptions.filter((file) => asked.kind === "relay" || !asked.without.includes(file));
  return line.parse(args, listNeeded) ?? asked;
}

/** Defines a command that works with a valid configuration. */
export function defineCommand<Run extends AnyRun, Given extends readonly unknown[]>(
  definition: CommandDefinition<Run, Given>,
): Command<Run> {
  return { addTo: (line, choose) => addSyntax(line, "command", definition, choose) };
}

/** Defines a command that works without a valid configuration, log or connection; any program can have it. */
export function defineStandalone<Given extends readonly unknown[]>(
  definition: CommandDefinition<StandaloneRun, Given>,
): Command<unknown> {
  return { addTo: (line, choose) => addSyntax(line, "standalone", definition, choose) };
}

/** Adds a command to the command line, below its group. */
function addSyntax<Kind, Run extends AnyRun, Given extends readonly unknown[]>(
  { command: program, exampleFiles }: CommandLine,
  kind: Kind,
  definition: CommandDefinition<Run, Given>,
  choose: (chosen: ChosenCommand<Kind, Run>) => void,
): void {
  const { group, without = [], isLogged = false, run } = definition;
  const parent = group === undefined ? program : addGroup(program, group);
  const name = group === undefined ? definition.name : `${group.name} ${definition.name}`;
  const files = without.includes("config") ? "" : ` ${exampleFiles}`;
  const parser = addCommand(parent, definition, `${program.name()}${files}`).action(
    (...all: readonly unknown[]) => {
      const given = all as Given; // as the command's own options say
      const runRefusable = async (of: Run): Promise<ExitCode> => {
        try {
          return await run(of, ...given) ?? exitCodes.ok;
        } catch (error) {
          if (!(error instanceof CommandRefusal || error instanceof ControlFault)) throw error;
          of.printError(error.message);
          return exitCodes.failed;
        }
      };
      choose({ kind, name, given, without, isLogged, run: runRefusable });
    },
  );
  definition.addOptions?.(parser);
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

/** Writes a file that is not there yet. @param isSpare true: one that is there may stay @throws {CommandRefusal} */
export function writeNew({ env }: StandaloneRun, path: string, text: string, isSpare = false): void {
  try {
    if (env.writeNewFile(path, text) || isSpare) return;
  } catch (error) {
    throw error instanceof Error ? nothingWritten(`${path} cannot be written: ${fileFailure(error)}`) : error;
  }
  throw nothingWritten(`${path} exists and is not overwritten`);
}
