/** First steps of both programs: parse the command line, print what it asks for, or load the rest and run it. */
import type { ExitText } from "./command_line.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import type { ProcessEnv } from "./app.ts";
import { openEnvironment } from "./environment.ts";
import { modeOf } from "./machine_facts.ts";
import { systemTerminal } from "./terminal.ts";
import { writeText } from "./text_output.ts";
import { versionText } from "./version.ts";

/** Program to start. */
export interface StartedProgram<Parsed> {
  readonly name: string;
  /** Parses the arguments after the program's name; prints nothing itself. */
  readonly parse: (args: readonly string[], version: string) => Parsed | ExitText;
  /** Loads what is needed and runs it; --help and --version do not wait for the chain libraries. */
  readonly run: (parsed: Parsed, env: ProcessEnv) => Promise<ExitCode>;
}

/** Runs a program with the real process environment. @returns the exit status */
export async function startProgram<Parsed extends { readonly kind: "run" }>(
  { name, parse, run }: StartedProgram<Parsed>,
): Promise<ExitCode> {
  const parsed = parse(Deno.args, versionText(name, Deno.version.deno, Deno.build.target));
  if (parsed.kind === "exit") {
    const isReported = writeText(Deno.stdout, parsed.stdout) && writeText(Deno.stderr, parsed.stderr);
    return isReported || parsed.code !== exitCodes.ok ? parsed.code : exitCodes.failed;
  }
  const environment = openEnvironment();
  return await run(parsed, {
    readFile: (path) => Deno.readFileSync(path),
    readVariable: environment.read,
    readMode: modeOf,
    openedKeystores: new Map(),
    closeEnvironment: environment.close,
    writeNewFile,
    terminal: systemTerminal(),
    writeOutput: (text) => writeText(Deno.stdout, text),
    writeError: (text) => void writeText(Deno.stderr, text),
    exit: (status) => Deno.exit(status),
    isColourWelcome: !Deno.noColor,
  });
}

function writeNewFile(path: string, text: string): boolean {
  try {
    Deno.writeTextFileSync(path, text, { createNew: true, mode: 0o600 });
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}
