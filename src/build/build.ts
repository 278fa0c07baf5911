/**
 * Makes the executables in `build/`: type check, bundle, `deno compile`, and a smoke run of each.
 * Usage: `deno task build [--only=<name>] [--no-check]`. See docs/development.md, "Building".
 */
import { checkBase, cutBase } from "./base.ts";
import { type Bundle, bundle } from "./bundle.ts";
import { deno, run, say } from "./deno_command.ts";
import { type Identity, readIdentity } from "./identity.ts";
import { type Program, PROGRAMS } from "./programs.ts";

const STAGE = "build/stage";
const CUT_BASE = "build/denort";

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function compile(program: Program, made: Bundle): Promise<void> {
  const base = await findBase();
  await deno([
    "compile",
    "--quiet",
    "--no-check",
    "--no-config",
    "--no-lock",
    "--no-code-cache",
    "--no-prompt",
    ...(program.v8Flags.length === 0 ? [] : [`--v8-flags=${program.v8Flags.join(",")}`]),
    ...program.permissions,
    ...made.parts.flatMap((part) => ["--include", part]),
    "-o",
    `build/${program.name}`,
    made.main,
  ], { DENORT_BIN: base });
  checkBase(await Deno.readFile(`build/${program.name}`));
}

/** Path of the base, see `base.ts`. */
async function findBase(): Promise<string> {
  const given = Deno.env.get("DENORT_BIN");
  if (given !== undefined) return given;
  if (!await exists(CUT_BASE)) await cutBase(CUT_BASE);
  return CUT_BASE;
}

/** Builds one program and runs `--version` of the result: a base of another version would die there. */
async function build(program: Program, identity: Identity): Promise<void> {
  const made = await bundle(program, `${STAGE}/${program.name}`, identity);
  await compile(program, made);
  const version = await run(`build/${program.name}`, ["--version"]);
  const size = (await Deno.stat(`build/${program.name}`)).size;
  say(`build/${program.name}: ${version.trim()}, ${(size / 1e6).toFixed(1)} MB`);
}

/** What can be chosen about a build. */
interface BuildOptions {
  /** Name of the one program to build; default all. */
  readonly only?: string | undefined;
  /** Whether types are checked first; default true. */
  readonly checks?: boolean;
}

/** Builds all programs, or the one named, into `build/`. */
export async function buildPrograms({ only, checks = true }: BuildOptions = {}): Promise<void> {
  await Deno.mkdir(STAGE, { recursive: true });
  if (checks) await deno(["check", "--quiet", "src"]);
  const identity = await readIdentity();
  for (const program of PROGRAMS) {
    if (only === undefined || only === program.name) await build(program, identity);
  }
}

if (import.meta.main) {
  const only = Deno.args.find((argument) => argument.startsWith("--only="))?.slice("--only=".length);
  await buildPrograms({ only, checks: !Deno.args.includes("--no-check") });
}
