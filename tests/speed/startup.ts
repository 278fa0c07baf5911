/**
 * How long the executable takes to answer, beside an empty program compiled with the same base; and time and processor
 * time until the first leg works.
 */
import { startDevnet } from "../../devnet/devnet.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { PROGRAMS } from "../../src/build/programs.ts";
import type { Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { figure, figuresOf } from "./report.ts";
import { startSubject } from "./subject.ts";

/** Runs of each program, taken in turns so that both see the same machine. */
const RUNS = 9;
const STARTS = 5;
const MAX_RATIO = 1.3;
const MAX_READY_MS = 450;
const MAX_CPU_MS = 400;

/** Where the build leaves a base that it cut itself. */
const CUT_BASE = `${REPOSITORY}/build/denort`;

/** See the head of the file. */
export const startup: Part = async (deps) => {
  const empty = await compileEmpty(deps.folder);
  const versions: { readonly ours: number; readonly empty: number; readonly ratio: number }[] = [];
  while (versions.length < RUNS) {
    const [ours, bare] = [await timeOf(deps.executable, ["--version"]), await timeOf(empty, [])];
    versions.push({ ours, empty: bare, ratio: ours / bare });
  }
  const megabytes = async (path: string): Promise<number> => (await Deno.stat(path)).size / 1e6;
  const starts: { readonly readyMs: number; readonly cpuMs: number }[] = [];
  await using devnet = await startDevnet();
  while (starts.length < STARTS) {
    const startMs = Date.now();
    await using relayer = await startSubject(deps, devnet.endpoints, {
      folder: `${starts.length}`,
      changes: {},
      legs: 4,
    });
    const cpuMs = readCpuMs(relayer.pid);
    starts.push({ readyMs: (await relayer.waitForLine("leg_started")).atMs - startMs, cpuMs });
    await relayer.terminate();
  }
  return [
    ...figuresOf(versions, [
      ["ours", "causeway --version", "ms"],
      ["empty", "empty compiled program", "ms"],
      ["ratio", "causeway --version / empty program", "", { most: MAX_RATIO }],
    ]),
    figure("executable", "MB", await megabytes(deps.executable)),
    figure("empty compiled program, size", "MB", await megabytes(empty)),
    ...figuresOf(starts, [
      ["readyMs", "start to the first leg", "ms", { most: MAX_READY_MS }],
      ["cpuMs", "processor time from the start to all legs", "ms", { most: MAX_CPU_MS }],
    ]),
  ];
};

/** Compiles a program without a line on the base and with the flags of the relayer; returns its path. */
async function compileEmpty(folder: string): Promise<string> {
  const [file, program] = [`${folder}/empty.js`, `${folder}/empty`];
  await Deno.writeTextFile(file, "");
  const flags = PROGRAMS.find(({ name }) => name === "causeway")?.v8Flags ?? [];
  const isCut = Deno.env.get("DENORT_BIN") === undefined &&
    await Deno.stat(CUT_BASE).then(() => true, () => false);
  const v8Flags = flags.length === 0 ? [] : [`--v8-flags=${flags.join(",")}`];
  const options = ["--quiet", "--no-check", "--no-config", "--no-lock", "--no-code-cache", ...v8Flags];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["compile", ...options, "-o", program, file],
    env: isCut ? { DENORT_BIN: CUT_BASE } : {},
  }).output();
  if (!success) throw new Error(`The empty program: ${new TextDecoder().decode(stderr)}`);
  return program;
}

async function timeOf(program: string, args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const { success } = await new Deno.Command(program, { args: [...args], stdout: "null", stderr: "null" })
    .output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
  return performance.now() - startMs;
}
