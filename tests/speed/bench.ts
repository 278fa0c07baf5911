/**
 * Measures the compiled programs on the devnet and prints one table. Numbers that are compared come from one run on
 * one machine; nothing fails because a machine is slow.
 * Usage: `deno task bench [--only=<parts>] [--verbose] [--small] [--write]`
 */
import { Command } from "commander";
import { CONSENSUS_EXECUTABLE, RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { PARTS } from "./parts.ts";
import { type Measure, tableOf } from "./report.ts";

interface Arguments {
  readonly only?: string;
  readonly verbose: boolean;
  readonly small: boolean;
  readonly write: boolean;
  readonly executable: string;
  readonly consensusExecutable: string;
}

function parseArguments(args: readonly string[]): Arguments {
  return new Command("deno task bench")
    .description("Requests, speed, memory and start-up of the compiled programs, measured in one run")
    .option("--only <parts>", `some of ${Object.keys(PARTS).join(", ")}, with commas between them`)
    .option("--verbose", "tell every request of the traced deliveries", false)
    .option("--small", "fewer chains, messages and rows in part scale", false)
    .option("--write", "write figures and plots of part scale to docs/performance", false)
    .option("--executable <path>", "the messaging relayer to measure", RELAYER_EXECUTABLE)
    .option("--consensus-executable <path>", "the consensus relayer to measure", CONSENSUS_EXECUTABLE)
    .parse([...args], { from: "user" })
    .opts<Arguments>();
}

async function main(): Promise<void> {
  const { only, verbose, small, write, ...executables } = parseArguments(Deno.args);
  const chosen = only?.split(",") ?? Object.keys(PARTS);
  for (const name of chosen) {
    if (PARTS[name] !== undefined) continue;
    throw new RangeError(`No part "${name}"; there are ${Object.keys(PARTS).join(", ")}`);
  }
  const measures: Measure[] = [];
  const folder = await Deno.makeTempDir({ prefix: "bench-" });
  try {
    for (const [name, part] of Object.entries(PARTS)) {
      if (!chosen.includes(name)) continue;
      const startMs = performance.now();
      say(`== ${name}`);
      measures.push(
        ...await part({
          ...executables,
          isSmall: small,
          writesPlots: write,
          folder: `${folder}/${name}`,
          say: (line) => {
            if (verbose || !line.startsWith("   ")) say(line);
          },
        }),
      );
      say(`${name}: ${((performance.now() - startMs) / 1000).toFixed(0)} s`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  say("");
  for (const line of tableOf(measures)) say(line);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) await main();
