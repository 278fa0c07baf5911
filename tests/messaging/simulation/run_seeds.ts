/**
 * Runs fresh seeds of the simulation and prints the failing ones with the line that replays each:
 * deno task seeds --from=500000 --count=1000
 */
import { parseArgs } from "node:util";
import { findFailures } from "./seeds.ts";

/** A line with the progress comes after that many seeds. */
const PROGRESS_EVERY = 1_000;

/** The seeds that are asked for. */
function seedsOf(args: readonly string[]): { readonly from: number; readonly count: number } {
  const { values } = parseArgs({
    args: [...args],
    options: { from: { type: "string", default: "1001" }, count: { type: "string", default: "1000" } },
  });
  const [from, count] = [Number(values.from), Number(values.count)];
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(count)) {
    throw new Error("--from and --count are whole numbers");
  }
  return { from, count };
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

const { from, count } = seedsOf(Deno.args);
let ran = 0;
let failed = 0;
for await (const { seed, failure } of findFailures(from, from + count - 1)) {
  ran++;
  if (failure !== undefined) {
    failed++;
    print(failure);
  }
  if (ran % PROGRESS_EVERY === 0 || ran === count) print(`up to seed ${seed}: ${ran} ran, ${failed} failed`);
}
Deno.exit(failed === 0 ? 0 : 1);
