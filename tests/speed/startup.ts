/** How large the executable is, how long it takes to answer, and time and processor time until the first leg works. */
import { startDevnet } from "../../devnet/devnet.ts";
import type { Part } from "./part.ts";
import { readCpuMs } from "./process_usage.ts";
import { figure, figuresOf } from "./report.ts";
import { startSubject } from "./subject.ts";

const RUNS = 9;
const STARTS = 5;
const MAX_READY_MS = 450;
const MAX_CPU_MS = 400;

/** See the head of the file. */
export const startup: Part = async (deps) => {
  const versions: number[] = [];
  while (versions.length < RUNS) versions.push(await timeOf(deps.executable, ["--version"]));
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
    figure("causeway --version", "ms", versions),
    figure("executable", "MB", (await Deno.stat(deps.executable)).size / 1e6),
    ...figuresOf(starts, [
      ["readyMs", "start to the first leg", "ms", { most: MAX_READY_MS }],
      ["cpuMs", "processor time from the start to all legs", "ms", { most: MAX_CPU_MS }],
    ]),
  ];
};

async function timeOf(program: string, args: readonly string[]): Promise<number> {
  const startMs = performance.now();
  const { success } = await new Deno.Command(program, { args: [...args], stdout: "null", stderr: "null" })
    .output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed`);
  return performance.now() - startMs;
}
