/**
 * How long the executable takes to answer, beside an empty program compiled with the same base; and how long until
 * the first leg works.
 */
import { startDevnet } from "../../devnet/devnet.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { startRelayer } from "../scenario/support/relayer_process.ts";
import { compileBare } from "./bare_program.ts";
import type { Part } from "./part.ts";
import { type Measure, median } from "./report.ts";

/** Runs of each program, taken in turns so that both see the same machine. */
const RUNS = 15;
const STARTS = 3;

/** See the head of the file. */
export const startup: Part = async (deps) => {
  await Deno.mkdir(deps.folder, { recursive: true });
  const empty = await compileBare(deps.folder, { name: "empty", source: "" });
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
