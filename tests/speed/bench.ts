/**
 * Measures the compiled programs on the devnet and prints one table, every figure with its spread. Figures that are
 * compared come from one run on one machine; nothing fails because a machine is slow.
 * Usage: `deno task bench [--only=<parts>] [--verbose]`
 */
import { Command } from "commander";
import { CONSENSUS_EXECUTABLE, RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { consensus } from "./consensus.ts";
import { hubConsensus } from "./hub_consensus.ts";
import { idle } from "./idle.ts";
import { longRun } from "./long_run.ts";
import type { BenchDeps, Part } from "./part.ts";
import { type Figure, tableOf } from "./report.ts";
import { requests } from "./requests.ts";
import { scale } from "./scale.ts";
import { stall } from "./stall.ts";
import { startup } from "./startup.ts";
import { throughput } from "./throughput.ts";

/** The parts by name, in the order in which they run. */
export const PARTS: Readonly<Record<string, Part>> = {
  startup,
  stall,
  requests,
  idle,
  throughput,
  scale,
  "long-run": longRun,
  consensus,
  "hub-consensus": hubConsensus,
};

interface Arguments {
  readonly only?: string;
  readonly verbose: boolean;
  readonly executable: string;
  readonly consensusExecutable: string;
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task bench")
    .description("Requests, speed, memory and start-up of the compiled programs, measured in one run")
    .option("--only <parts>", `some of ${Object.keys(PARTS).join(", ")}, with commas between them`)
    .option("--verbose", "print every call of the counted deliveries and the progress of each part", false)
    .option("--executable <path>", "the messaging relayer to measure", RELAYER_EXECUTABLE)
    .option("--consensus-executable <path>", "the consensus relayer to measure", CONSENSUS_EXECUTABLE)
    .parse([...args], { from: "user" })
    .opts<Arguments>();
}

async function main(): Promise<void> {
  const { only, verbose, ...executables } = parseArguments(Deno.args);
  const chosen = only?.split(",") ?? Object.keys(PARTS);
  const unknown = chosen.filter((name) => PARTS[name] === undefined);
  if (unknown.length > 0) {
    throw new RangeError(`No part "${unknown.join(", ")}"; there are ${Object.keys(PARTS).join(", ")}`);
  }
  const figures: Figure[] = [];
  const base = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    for (const name of Object.keys(PARTS).filter((each) => chosen.includes(each))) {
      const folder = `${base}/${name}`;
      await Deno.mkdir(folder);
      const say = (line: string): void => verbose || !line.startsWith(" ") ? print(line) : undefined;
      figures.push(...await runPart(name, { ...executables, folder, say }));
    }
  } finally {
    await Deno.remove(base, { recursive: true });
  }
  ["", ...tableOf(figures)].forEach(print);
}

async function runPart(name: string, deps: BenchDeps): Promise<readonly Figure[]> {
  const startMs = performance.now();
  deps.say(`== ${name}`);
  const figures = await PARTS[name]?.(deps) ?? [];
  deps.say(`${name}: ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
  return figures;
}

function print(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) await main();
