/** Common parts of both command lines: their layout, and parsing that neither prints nor exits. */
import { Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
import { nearestWord } from "../config/spelling.ts";
import {
  formatAddress,
  isLoopback,
  type ListenAddress,
  parseListenAddress,
} from "../telemetry/http/listen_address.ts";
import { logLevels } from "../telemetry/log.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/** Width of help texts, characters. */
const HELP_WIDTH = 100;

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
  /** Its files in the examples of commands: `--config=relayer.toml`. */
  readonly exampleFiles: string;
}

/** Options of the program that name a file. */
export const fileOptions = ["config", "db"] as const;

/** One of {@link fileOptions}. */
export type FileOption = typeof fileOptions[number];

/** Command line under construction: the program adds its options and commands to `command`. */
export interface CommandLine {
  readonly command: Command;
  readonly exampleFiles: string;
  /**
   * Parses the arguments after the program's name; `undefined`: there is nothing to print, the program may run.
   * `listNeeded` names the files without which nothing is done; default: all.
   */
  readonly parse: (args: readonly string[], listNeeded?: () => readonly FileOption[]) => ExitText | undefined;
}

/** Creates a command line with `--config` and `--help`. */
export function createCommandLine(
  { name, description, afterHelp, exampleFiles }: ProgramDescription,
): CommandLine {
  const printed = { stdout: "", stderr: "" };
  const command = new StrictCommand(name)
    .description(description)
    .option("-c, --config <path>", "TOML configuration file")
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
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
    })
    .action(() => {});
  return {
    command,
    exampleFiles,
    parse: (args, listNeeded = () => fileOptions) => {
      try {
        command.parse([...args], { from: "user" });
        refuseMissing(command, listNeeded());
        return undefined;
      } catch (error) {
        if (!(error instanceof CommanderError)) throw error;
        const code = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
        return { kind: "exit", code, ...printed };
      }
    },
  };
}

/** Command that names an unknown option without the value behind it, which may be a secret. */
class StrictCommand extends Command {
  override createCommand(name?: string): StrictCommand {
    return new StrictCommand(name);
  }

  /** Called by commander for the first option that neither this command nor one above it has. */
  unknownOption(flag: string): never {
    const name = flag.startsWith("--") ? flag.replace(/=.*$/s, "") : flag.slice(0, 2);
    const meant = nearestWord(name.slice(2), listLongNames(this));
    const hint = meant === undefined ? "" : `; did you mean --${meant}?`;
    this.error(`error: unknown option ${name}${hint}`, { code: "commander.unknownOption" });
  }
}

/** Names of the long options of a command and of those above it, without the dashes. */
function listLongNames(command: Command): readonly string[] {
  const own = command.createHelp().visibleOptions(command)
    .flatMap(({ long }) => typeof long === "string" ? [long.slice(2)] : []);
  return command.parent === null ? own : [...own, ...listLongNames(command.parent)];
}

/** Refuses a command line without a file; the library would look for it before it names a misspelt option. */
function refuseMissing(command: Command, needed: readonly string[]): void {
  const missing = command.options.map((option) => ({ flags: option.flags, name: option.attributeName() }))
    .find(({ name }) => needed.includes(name) && command.getOptionValue(name) === undefined);
  if (missing === undefined) return;
  command.error(`error: required option '${missing.flags}' not specified`, { code: "causeway.missingFile" });
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

/** Options of {@link addListenOptions}. */
export interface ListenOptions {
  /** Address of the status server; absent: nothing is served. */
  readonly listen?: ListenAddress;
  /** Names besides `localhost` and addresses under which it is asked. */
  readonly listenName?: readonly string[];
}

/** Adds `--listen`, `--listen-anywhere` and `--listen-name`. */
export function addListenOptions(command: Command): void {
  command
    .addOption(
      new Option(
        "--listen <address>",
        "serve status page, health and metrics there, e.g. 127.0.0.1:9180 (default: nothing is served)",
      ).argParser(toListenAddress),
    )
    .addOption(
      new Option(
        "--listen-anywhere",
        "allow a --listen address that other machines reach; it has no password",
      ),
    )
    .addOption(
      new Option(
        "--listen-name <name>",
        "a name under which it may be asked, besides localhost and IP addresses; can be repeated",
      ).argParser((name, others: readonly string[] = []) => [...others, name]),
    )
    .hook("preAction", (program) => refuseExposed(program));
}

/** Refuses an address that other machines reach, unless that is said to be meant. */
function refuseExposed(program: Command): void {
  const { listen, listenAnywhere } = program.opts<ListenOptions & { readonly listenAnywhere?: boolean }>();
  if (listen === undefined || listenAnywhere === true || isLoopback(listen.host)) return;
  const text = `error: other machines reach --listen=${formatAddress(listen)}, which asks for no password; ` +
    "name 127.0.0.1, or add --listen-anywhere if that is meant";
  program.error(text, { code: "causeway.exposedAddress" });
}

/** Parses an address to listen on. @throws {InvalidArgumentError} */
function toListenAddress(text: string): ListenAddress {
  const address = parseListenAddress(text);
  if (address === undefined) {
    throw new InvalidArgumentError("Expected an IP address and a port such as 127.0.0.1:9180 or [::1]:9180.");
  }
  return address;
}

/** Name and help texts of a command. */
export interface CommandDescription extends Pick<ProgramDescription, "name" | "description"> {
  /** True: the command of its group's word alone. */
  readonly isDefault?: boolean;
  /** Command lines, without the program and its files. */
  readonly examples?: readonly string[];
  /** Text after the list of options and the examples. */
  readonly afterHelp?: string;
  /** What its exit statuses mean; that of a wrong command line is added. */
  readonly exitStatus?: Readonly<Record<number, string>>;
}

/** Adds the first word of commands of two words, or finds it. */
export function addGroup(
  program: Command,
  { name, description }: { readonly name: string; readonly description: string },
): Command {
  const known = program.commands.find((command) => command.name() === name);
  return known ?? program.command(name).description(description)
    .showHelpAfterError(`(${program.name()} ${name} --help lists the commands)`);
}

/** Adds a command with its own help. @param before what stands in front of the command in its examples */
export function addCommand(parent: Command, command: CommandDescription, before: string): Command {
  const { name, description, isDefault = false } = command;
  const [firstSentence = ""] = description.split(/\.(?:\s|$)/);
  return parent.command(name, { isDefault })
    .description(description.replaceAll("\n", " ")) // the library breaks the lines
    .summary(`${firstSentence.replaceAll("\n", " ")}${isDefault ? " (default)" : ""}`)
    .addHelpText("after", formatAfterHelp(command, before))
    .allowExcessArguments(false)
    .showHelpAfterError(`(${wordsOf(parent)} ${name} --help lists the options)`);
}

/** Examples, explanation and exit statuses, each with an empty line before it. */
function formatAfterHelp(
  { examples = [], afterHelp = "", exitStatus }: CommandDescription,
  before: string,
): string {
  const lines = examples.map((example) => `  ${before} ${example}`);
  const statuses = Object.entries({ ...exitStatus, 2: "wrong command line" })
    .map(([status, meaning]) => `${status} ${meaning}`).join(", ");
  const texts = [
    lines.length === 0 ? "" : [lines.length === 1 ? "Example:" : "Examples:", ...lines].join("\n"),
    afterHelp,
    exitStatus === undefined ? "" : new Help().boxWrap(`Exit status: ${statuses}.`, HELP_WIDTH),
  ];
  return texts.filter((text) => text !== "").map((text) => `\n${text}`).join("\n");
}

/** The program's name and the words of a command. */
function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}
