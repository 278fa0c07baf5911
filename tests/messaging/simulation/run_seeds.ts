/**
 * Runs fresh seeds of the simulation and prints the failing ones with the line that replays each:
 * deno task seeds --from=500000 --count=1000
 * With what attacks cost, dollars, and what they made us lose.
 */
import process from "node:process";
import { parseArgs } from "node:util";
import type { AttackCost } from "./money_checks.ts";
import { findFailures } from "./seeds.ts";

/** A line with the progress comes after that many seeds. */
const PROGRESS_EVERY = 100;

/** The seeds that are asked for. */
function seedsOf(args: readonly string[]): { readonly from: number; readonly count: number } {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: { type: "string", default: "1001" },
      count: { type: "string", default: "1000" },
    },
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

/** A line for each kind of attack: how many seeds, and what it cost both sides. */
function attackLine(kind: string, seen: readonly AttackCost[]): string {
  const sum = (of: "lost" | "spent"): number => seen.reduce((total, each) => total + each[of], 0);
  const worst = seen.reduce((a, b) => a.lost - a.spent > b.lost - b.spent ? a : b);
  const cells = [
    kind.padEnd(22),
    `${seen.length} seeds`,
    `spent ${sum("spent").toFixed(2)}`,
    `lost ${sum("lost").toFixed(2)}`,
    `c ${(sum("lost") / (sum("spent") || 1)).toFixed(3)}`,
    `worst seed: spent ${worst.spent.toFixed(2)}, lost ${worst.lost.toFixed(2)}`,
  ];
  return cells.join("  ");
}

const { from, count } = seedsOf(Deno.args);
let ran = 0;
let failed = 0;
const attacks = new Map<string, AttackCost[]>();
for await (const { seed, failure, attacked } of findFailures(from, from + count - 1)) {
  ran++;
  if (attacked !== undefined) attacks.set(attacked.kind, [...attacks.get(attacked.kind) ?? [], attacked]);
  if (failure !== undefined) {
    failed++;
    print(failure);
  }
  if (ran % PROGRESS_EVERY !== 0 && ran !== count) continue;
  const { user, system } = process.cpuUsage();
  const each = ((user + system) / 1e6 / ran).toFixed(2);
  print(`up to seed ${seed}: ${ran} ran, ${failed} failed, ${each} s of processor time each`);
}
for (const [kind, seen] of attacks) print(attackLine(kind, seen));
Deno.exit(failed === 0 ? 0 : 1);
