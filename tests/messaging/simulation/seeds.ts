/**
 * Runs seeds of the simulation. A failing one tells how it is run alone, for example:
 * SEED=123 deno test -A tests/messaging/simulation/simulation_test.ts
 */
import { git } from "../../../src/build/identity.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { say } from "../../support/notes.ts";
import { Checks } from "./checks.ts";
import { Course, TimeOver } from "./course.ts";
import type { AttackCost } from "./money_checks.ts";
import { LONG_EVERY, type Plan, planOf } from "./plan.ts";

/** A folder in memory where there is one: the databases are real files. */
const MEMORY_FOLDER = "/dev/shm";

/** Seeds of one half: what a push costs. Long runs are a task of their own, `deno task seeds`. */
const SEEDS_OF_HALF = 60;

/** Commits share out this many ranges of seeds. */
const RANGES = 1_000_000;

/**
 * Runs one half of the seeds that belong to the commit at hand, so that every push tries new ones and a failure can be
 * replayed; the range is printed. Outside of a repository they are the first ones.
 */
export async function runSeedsOfCommit(half: "first half" | "second half"): Promise<void> {
  const commit = await git("rev-parse", "HEAD") ?? "0";
  const range = Number.parseInt(commit.slice(0, 8), 16) % RANGES;
  const first = 1 + range * 2 * SEEDS_OF_HALF + (half === "first half" ? 0 : SEEDS_OF_HALF);
  const last = first + SEEDS_OF_HALF - 1;
  say(`simulation: seeds ${first} to ${last}`);
  await runSeeds(first, last);
}

/**
 * Runs the seeds from `first` to `last` that take no day, or the one that SEED names, whichever that is.
 * @throws {Error} for the first that fails.
 */
export async function runSeeds(first: number, last: number): Promise<void> {
  const alone = Deno.env.get("SEED");
  const folder = await makeFolder();
  try {
    for (let seed = first; seed <= last; seed++) {
      if (alone !== undefined) return void await runSeed(Number(alone), folder);
      if (seed % LONG_EVERY !== 0) await runSeed(seed, folder);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** How a seed went. */
export interface SeedResult {
  readonly seed: number;
  /** With the line that replays it; `undefined`: nothing was wrong. */
  readonly failure: string | undefined;
  readonly attacked?: AttackCost | undefined;
}

/** Runs the seeds from `first` to `last` one by one. */
export async function* findFailures(first: number, last: number): AsyncGenerator<SeedResult> {
  const folder = await makeFolder();
  try {
    for (let seed = first; seed <= last; seed++) {
      yield await runSeed(seed, folder).then(
        ({ attacked }) => ({ seed, failure: undefined, attacked }),
        (error: unknown) => ({ seed, failure: failureText(error) }),
      );
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function failureText(error: unknown): string {
  if (!(error instanceof Error)) throw error;
  const { message, cause } = error;
  return `${message}\n${cause instanceof Error ? cause.message : Deno.inspect(cause)}`;
}

async function makeFolder(): Promise<string> {
  try {
    return await Deno.makeTempDir({ dir: MEMORY_FOLDER, prefix: "causeway-simulation-" });
  } catch {
    return await Deno.makeTempDir({ prefix: "causeway-simulation-" });
  }
}

async function runSeed(seed: number, folder: string): Promise<Course> {
  try {
    return await runPlan(planOf(seed), seed, folder);
  } catch (error) {
    const replay = `SEED=${seed} deno test -A tests/messaging/simulation/simulation_test.ts`;
    throw new Error(`Seed ${seed} failed. Run it alone:\n${replay}`, { cause: error });
  }
}

/** Runs a plan of the test's own; returns how it went. @throws {Error} when it goes wrong. */
export async function runPlanAlone(plan: Plan, seed: number): Promise<Course> {
  const folder = await makeFolder();
  try {
    return await runPlan(plan, seed, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function messageOf(error: unknown): readonly string[] {
  if (error instanceof TimeOver) return [error.message];
  throw error;
}

async function runPlan(plan: Plan, seed: number, folder: string): Promise<Course> {
  const path = `${folder}/${seed}.db`;
  const course = new Course(seed, plan, path);
  const checks = new Checks(course, path);
  try {
    const late = await course.run(checks).then(() => [], messageOf);
    await course.end();
    course.attacked = checks.attacked();
    // What did not end in time is wrong in many ways.
    const violations = late.length > 0 ? late : await checks.atEnd();
    if (violations.length > 0) throw new Error(violations.slice(0, 10).join("\n"));
    return course;
  } finally {
    printLog(course);
    course.program?.kill();
    await course.clock.settle();
    await Promise.all(
      ["", "-wal", "-shm", ".lock"].map((end) => Deno.remove(`${path}${end}`).catch(() => undefined)),
    );
  }
}

/** With SIMULATION_LOG, every line of every process goes to that file. */
function printLog(course: Course): void {
  const path = Deno.env.get("SIMULATION_LOG");
  if (path === undefined) return;
  const lines = course.programs.flatMap(({ log }, life) =>
    log.lines.map((line) =>
      `${life} ${line.level} ${line.event} ${Deno.inspect(line.fields, { breakLength: 1e6 })}`
    )
  );
  const pools = course.nodes.slice(0, 2).map((node) => {
    const account = toHex(course.relayerOn(node.id.stateMachine));
    const facts = { nonce: node.nonceOf(account), priceWei: node.priceWei, leastWei: node.minedFromWei };
    return Deno.inspect({ chain: node.id.stateMachine, ...facts, waiting: node.waiting }, { depth: 3 });
  });
  Deno.writeTextFileSync(path, [Deno.inspect(course.plan, { depth: 9 }), ...lines, ...pools].join("\n"));
}
