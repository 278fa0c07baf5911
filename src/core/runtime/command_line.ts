/** Common parts of both command lines: their layout, and parsing that neither prints nor exits. */
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { IdentifierError, parseStateMachine, type StateMachine } from "../ismp/state_machine.ts";
import { logLevels } from "../telemetry/log.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/** Text to print instead of running, and the status to exit with. */
export interface ExitText {
  readonly kind: "exit";
  readonly code: ExitCode;
  readonly stdout: string;
  readonly stderr: string;
}

/** Arguments to run with, or text to print and a status to exit with. */
export type ParsedCommandLine<Arguments, Command> =
  | { readonly kind: "run"; readonly arguments: Arguments; readonly command: Command }
  | ExitText;

/** Name and help texts of a program. */
export interface ProgramDescription {
  readonly name: string;
  readonly description: string;
  /** Text after the list of options. */
  readonly afterHelp: string;
}

/** Command line under construction: the program adds its options and commands to `command`. */
export interface CommandLine {
  readonly command: Command;
  /** Parses the arguments after the program's name; `undefined`: there is nothing to print, the program may run. */
  readonly parse: (args: readonly string[]) => ExitText | undefined;
}

/** Creates a command line with `--config` and `--help`. */
export function createCommandLine({ name, description, afterHelp }: ProgramDescription): CommandLine {
  const printed = { stdout: "", stderr: "" };
  const command = new Command(name)
    .description(description)
    .requiredOption("-c, --config <path>", "TOML configuration file")
    .helpOption("-h, --help", "print this help")
    .addHelpText("after", afterHelp)
    .allowExcessArguments(false)
    .showHelpAfterError(`(${name} --help lists the options)`)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void (printed.stdout += text),
      writeErr: (text) => void (printed.stderr += text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => 100,
      getErrHelpWidth: () => 100,
    })
    .action(() => {});
  return {
    command,
    parse: (args) => {
      try {
        command.parse([...args], { from: "user" });
        return undefined;
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        const code = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
        return { kind: "exit", code, ...printed };
      }
    },
  };
}

/** Adds `--log-format`, `--log-level` and `--version`, which follow the program's own options. */
export function addCommonOptions(command: Command, version: string): void {
  command
    .addOption(
      new Option("--log-format <format>", "format of log lines").choices(["human", "json"]).default("human"),
    )
    .addOption(
      new Option("--log-level <level>", "minimum level that is logged").choices([...logLevels]).default(
        "info",
      ),
    )
    .version(version, "-V, --version", "print version and build");
}

/** Adds a command with its own help. */
export function addCommand(
  parent: Command,
  { name, description, summary, afterHelp }: {
    readonly name: string;
    readonly description: string;
    /** Text in the list of commands. */
    readonly summary: string;
    readonly afterHelp: string;
  },
): Command {
  return parent.command(name)
    .description(description)
    .summary(summary)
    .addHelpText("after", afterHelp)
    .allowExcessArguments(false)
    .showHelpAfterError(`(${parent.name()} ${name} --help lists the options)`);
}

/** Parses a state machine. @throws {InvalidArgumentError} */
export function toStateMachine(text: string): StateMachine {
  try {
    return parseStateMachine(text);
  } catch (error) {
    if (!(error instanceof IdentifierError)) throw error;
    throw new InvalidArgumentError("Expected a state machine such as EVM-1 or POLKADOT-3367.");
  }
}
