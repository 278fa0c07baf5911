/**
 * How long the executable takes to answer, beside an empty program compiled with the same base; and how long until
 * the first leg works.
 */
import { startDevnet } from "../../devnet/devnet.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import type { Part } from "./part.ts";
import { type Measure, median } from "./report.ts";

/** Runs of each program, taken in turns so that both see the same machine. */
const RUNS = 15;
const STARTS = 3;
/** Where the build leaves a base that it cut itself. */
const CUT_BASE = `${REPOSITORY}/build/denort`;

/** See the head of the file. */
export const startup: Part = async (deps) => {
  await Deno.mkdir(deps.folder, { recursive: true });
  const empty = await compileEmpty(deps.folder);
  const times = { causeway: [] as number[], empty: [] as number[] };
  for (let run = 0; run < RUNS; run++) {
    times.causeway.push(await timeOf(deps.executable, ["--version"]));
    times.empty.push(await timeOf(empty, []));
  }
  const [ours, bare] = [median(times.causeway), median(times.empty)];
  const size = async (path: string): Promise<number> => (await Deno.stat(path)).size / 1e6;
  const measures: Measure[] = [
    { name: "causeway --version, median", value: `${ours.toFixed(0)} ms` },
    { name: "empty compiled program, median", value: `${bare.toFixed(0)} ms` },
    { name: "causeway --version / empty program", value: (ours / bare).toFixed(2) },
    {
      name: "executable / empty program, size",
      value: `${(await size(deps.executable)).toFixed(0)} / ${(await size(empty)).toFixed(0)} MB`,
    },
  ];
  const starts: number[] = [];
  await using devnet = await startDevnet();
  for (let run = 0; run < STARTS; run++) {
    const startMs = Date.now();
    await using relayer = await startRelayer({
      executable: deps.executable,
      folder: `${deps.folder}/${run}`,
      config: relayerConfig(devnet.endpoints),
    });
    starts.push((await relayer.waitForLine("leg_started")).atMs - startMs);
    await relayer.terminate();
  }
  return [...measures, {
    name: "start to first leg at work, median",
    value: `${median(starts).toFixed(0)} ms`,
  }];
};

/** An empty program on the base that the relayer is built with. */
async function compileEmpty(folder: string): Promise<string> {
  const source = `${folder}/empty.js`;
  const program = `${folder}/empty`;
  await Deno.writeTextFile(source, "");
  const hasBase = Deno.env.get("DENORT_BIN") !== undefined || !await exists(CUT_BASE);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "compile",
      "--quiet",
      "--no-check",
      "--no-config",
      "--no-lock",
      "--no-code-cache",
      "-o",
      program,
      source,
    ],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0", ...(hasBase ? {} : { DENORT_BIN: CUT_BASE }) },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`The empty program: ${new TextDecoder().decode(stderr)}`);
  return program;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

async function timeOf(program: string, args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const { success } = await new Deno.Command(program, {
    args: [...args],
    env: { NO_COLOR: "1", RUST_BACKTRACE: "0" },
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
  return performance.now() - startMs;
}
