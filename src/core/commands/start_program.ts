/**
 * First steps of both programs: parse the command line, print what it asks for, or load the rest and run it. What this
 * file imports is loaded by `--version`, so it is little.
 */
import type { ConfigFileKind } from "../config/config_file.ts";
import type { ProcessEnv } from "../runtime/app.ts";
import type { ParsedCommandLine } from "../runtime/command_line.ts";
import { type ExitCode, exitCodes } from "../runtime/exit_codes.ts";
import { printExit } from "../runtime/terminal.ts";
import { versionText } from "../runtime/version.ts";
import type { ProgramCommand, StandaloneArguments } from "./command.ts";

/** What a command line asks to run: everything but commands that run without a valid configuration. */
export interface ProgramRequest<Arguments, Run> {
  readonly arguments: Arguments;
  readonly command: Exclude<ProgramCommand<Run>, { readonly kind: "standalone" }>;
}

/** Program to start; its parts are loaded when they are needed, and the chain libraries only for what may need them. */
export interface StartedProgram<Arguments, Run> {
  readonly name: string;
  /** Loads the parser of the arguments after the program's name, which prints nothing itself. */
  readonly loadParser: () => Promise<
    (args: readonly string[], version: string) => ParsedCommandLine<Arguments, ProgramCommand<Run>>
  >;
  /** Loads its configuration file, for commands that run without a valid one. */
  readonly loadFile: () => Promise<ConfigFileKind>;
  /** Loads what runs everything else. */
  readonly loadProgram: () => Promise<
    (request: ProgramRequest<Arguments, Run>, env: ProcessEnv) => Promise<ExitCode>
  >;
}

/** Runs a program with the real process environment. @param given the arguments after its name @returns the exit status */
export async function startProgram<Arguments extends StandaloneArguments, Run>(
  { name, loadParser, loadFile, loadProgram }: StartedProgram<Arguments, Run>,
  given: readonly string[],
): Promise<ExitCode> {
  const version = versionText(name);
  if (given.length === 1 && given[0] === "--version") {
    return printExit({ kind: "exit", code: exitCodes.ok, stdout: `${version}\n`, stderr: "" });
  }
  const parse = await loadParser();
  const parsed = parse(given, version);
  if (parsed.kind === "exit") return printExit(parsed);
  const { openProcessEnv } = await import("../runtime/process_env.ts");
  const { arguments: args, command } = parsed;
  if (command.kind !== "standalone") {
    return await (await loadProgram())({ arguments: args, command }, openProcessEnv());
  }
  const { runStandalone } = await import("./command.ts");
  const run = { program: name, arguments: args, env: openProcessEnv(), file: await loadFile() };
  return await runStandalone(command, run);
}
