/**
 * Searches for what no test expects: fresh seeds of the simulation, then rounds of the compiled programs on a devnet
 * where everything fails by chance.
 *
 * Usage: `deno task soak [--seeds=1000] [--hours=1] [--from=SEED] [--round=SEED] [--logs=DIR]`. Seeds are drawn from the
 * time unless `--from` names the first; `--round` plays the one round of that seed. What fails is told with the line
 * that replays it.
 */
import { parseArgs } from "node:util";
import { runInterruptibly } from "../../devnet/terminal/interruption.ts";
import { findFailures } from "../messaging/simulation/seeds.ts";
import { ensurePrograms } from "../../devnet/programs/relayer_build.ts";
import { findMeans } from "./machine.ts";
import type { Means } from "./plan.ts";
import { playRound } from "./round.ts";

const HOUR_MS = 3_600_000;
/** A line with the progress comes after that many seeds. */
const PROGRESS_EVERY = 1_000;
/** Seeds are below this number, so that they are read and typed easily. */
const SEED_RANGE = 100_000_000;

interface Wish {
  readonly seeds: number;
  readonly hours: number;
  readonly from: number;
  readonly round: number | undefined;
  readonly logs: string;
}

/** @throws {Error} for what is no number */
function readWish(args: readonly string[]): Wish {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string", default: "1000" },
      hours: { type: "string", default: "1" },
      from: { type: "string", default: String(Date.now() % SEED_RANGE) },
      round: { type: "string" },
      logs: { type: "string", default: "build/soak" },
    },
  });
  const number = (name: "seeds" | "hours" | "from" | "round"): number => {
    const value = Number(values[name]);
    if (!Number.isFinite(value) || value < 0) throw new Error(`--${name} is a number`);
    return value;
  };
  return {
    seeds: number("seeds"),
    hours: number("hours"),
    from: number("from"),
    round: values.round === undefined ? undefined : number("round"),
    logs: values.logs,
  };
}

/** @returns the number of failing seeds */
async function searchSeeds({ seeds, from }: Wish, signal: AbortSignal): Promise<number> {
  let ran = 0;
  let failed = 0;
  if (seeds === 0) return failed;
  for await (const { seed, failure } of findFailures(from, from + seeds - 1)) {
    signal.throwIfAborted();
    ran++;
    if (failure !== undefined) {
      failed++;
      say(failure);
    }
    if (ran % PROGRESS_EVERY === 0 || ran === seeds) say(`up to seed ${seed}: ${ran} ran, ${failed} failed`);
  }
  return failed;
}

/** Plays rounds until the hours are over. @returns the number of failing ones */
async function searchRounds(
  { from, hours, round, logs }: Wish,
  means: Means,
  signal: AbortSignal,
): Promise<number> {
  const untilMs = performance.now() + hours * HOUR_MS;
  const sums = { rounds: 0, failed: 0, troubles: 0, messages: 0 };
  for (let seed = round ?? from; performance.now() < untilMs; seed++) {
    sums.rounds++;
    say(`round ${seed}`);
    try {
      const result = await playRound({ seed, means, say, signal, logPath: `${logs}/${seed}.log` });
      sums.troubles += result.troubles;
      sums.messages += result.sent;
      const { troubles, sent, removed, processes, unasked } = result;
      say(
        `round ${seed}: good; ${troubles} troubles, ${sent} messages (${removed} lost with their blocks), ${processes} processes`,
      );
      for (const { code, lastLine } of unasked) say(`  ended by itself with status ${code}: ${lastLine}`);
    } catch (error) {
      signal.throwIfAborted();
      sums.failed++;
      const text = error instanceof Error ? error.message : String(error);
      say(`round ${seed}: FAILED. Play it alone: deno task soak --seeds=0 --round=${seed}\n${text}`);
    }
    if (round !== undefined) break;
  }
  const { rounds, failed, troubles, messages } = sums;
  say(`${rounds} rounds, ${failed} failed; ${troubles} troubles, ${messages} messages in the good ones`);
  return failed;
}

function say(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

async function search(signal: AbortSignal): Promise<number> {
  const wish = readWish(Deno.args);
  await Deno.mkdir(wish.logs, { recursive: true });
  const badSeeds = wish.round === undefined ? await searchSeeds(wish, signal) : 0;
  await ensurePrograms();
  const badRounds = wish.hours === 0 ? 0 : await searchRounds(wish, await findMeans(say), signal);
  return badSeeds + badRounds > 0 ? 1 : 0;
}

if (import.meta.main) Deno.exit(await runInterruptibly(search));
