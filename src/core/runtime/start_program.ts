/**
 * First steps of both programs: parse the command line, print what it asks for, or load the rest and run it. What this
 * file imports is loaded by `--version`, so it is little.
 */
import type { ProcessEnv } from "./app.ts";
import type { ExitText } from "./command_line.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";
import { writeText } from "./terminal.ts";
import { versionText } from "./version.ts";

/** What a program does with its command line. */
export interface Launch<Parsed> {
  /** Parses the arguments after the program's name; prints nothing itself. */
  readonly parse: (args: readonly string[], version: string) => Parsed | ExitText;
  /** Loads what is needed and runs it; --help does not wait for the chain libraries. */
  readonly run: (parsed: Parsed, env: ProcessEnv) => Promise<ExitCode>;
}

/** Program to start. */
export interface StartedProgram<Parsed> {
  readonly name: string;
  /** Loads the parser of its command line. */
  readonly load: () => Promise<Launch<Parsed>>;
}

/** Runs a program with the real process environment. @returns the exit status */
export async function startProgram<Parsed extends { readonly kind: "run" }>(
  { name, load }: StartedProgram<Parsed>,
): Promise<ExitCode> {
  const version = versionText(name, Deno.version.deno, Deno.build.target);
  const [first, ...others] = Deno.args;
  if (first === "--version" && others.length === 0) {
    return print({ kind: "exit", code: exitCodes.ok, stdout: `${version}\n`, stderr: "" });
  }
  const { parse, run } = await load();
  const parsed = parse(Deno.args, version);
  if (parsed.kind === "exit") return print(parsed);
  const { openProcessEnv } = await import("./process_env.ts");
  return await run(parsed, openProcessEnv());
}

function print({ code, stdout, stderr }: ExitText): ExitCode {
  const isReported = writeText(Deno.stdout, stdout) && writeText(Deno.stderr, stderr);
  return isReported || code !== exitCodes.ok ? code : exitCodes.failed;
}
