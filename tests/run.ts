/**
 * Runs the test suites one after the other and closes with the sum, `N passed, N failed`.
 * Usage: `deno run -A tests/run.ts [unit|devnet|scenario|release|slow]...`; without arguments all but `slow`.
 */

import { ensurePrograms } from "../devnet/programs/relayer_build.ts";

/** Folders of each suite, in the order in which they run: the fastest first. */
const SUITES: Readonly<Record<string, readonly string[]>> = {
  unit: [
    "tests/architecture_test.ts",
    "tests/unused_test.ts",
    "tests/docs",
    "tests/fuzz",
    "tests/core",
    "tests/messaging",
    "tests/speed",
    "tests/support",
  ],
  devnet: ["devnet", "tests/consensus"],
  scenario: ["tests/scenario"],
  release: ["tests/release"],
  slow: ["tests/slow"],
};

/** What a gate waits for. */
const GATE = ["unit", "devnet", "scenario", "release"];

/** Suites without the compiled programs. */
const WITHOUT_PROGRAMS = new Set(["unit"]);

/** Test files per core that run at the same time: scenarios wait for blocks most of the time, devnet tests now and then. */
const FILES_PER_CORE: Readonly<Record<string, number>> = {
  unit: 1,
  devnet: 2,
  scenario: 4,
  release: 1,
  slow: 4,
};

/**
 * Groups for each core of the files that are not among the longest: those of a group run one after the other in one
 * isolate, which loads once what they share. Suites whose files wait most of the time have none.
 */
const GROUPS_PER_CORE: Readonly<Record<string, number>> = { devnet: 0, scenario: 0, release: 0, slow: 0 };

/**
 * Files that take longest, longest first: they are started before the others, so that none of them runs alone at the
 * end. Each suite's closing lines name its longest files.
 */
const LONGEST: readonly string[] = [
  "tests/messaging/simulation/plans_test.ts",
  "tests/messaging/simulation/simulation_test.ts",
  "tests/messaging/simulation/simulation_second_test.ts",
  "tests/messaging/relay/leg_worker_race_test.ts",
  "tests/core/config/keystores_test.ts",
  "tests/consensus/clients/sync_committee/gloas_test.ts",
  "tests/consensus/clients/beefy/accepted_source_test.ts",
  "devnet/devnet_test.ts",
  "tests/consensus/clients/sync_committee/sync_committee_prover_faults_test.ts",
  "tests/consensus/clients/bsc/bsc_prover_test.ts",
  "tests/scenario/consensus_chains_test.ts",
  "tests/scenario/claims_test.ts",
  "tests/scenario/delivery_test.ts",
  "tests/scenario/remote_signer_test.ts",
  "tests/scenario/start_checks_test.ts",
  "tests/scenario/kill_test.ts",
  "tests/slow/ways_test.ts",
];

/** Files whose times are named. */
const NAMED_TIMES = 5;

function filesAtOnce(suite: string): number {
  return Math.max(2, Math.round((FILES_PER_CORE[suite] ?? 1) * navigator.hardwareConcurrency));
}

/** The test files below paths, the longest first. */
async function listFiles(paths: readonly string[]): Promise<readonly string[]> {
  const found = (await Promise.all(paths.map(findTests))).flat();
  return [
    ...LONGEST.filter((file) => found.includes(file)),
    ...found.filter((file) => !LONGEST.includes(file)),
  ];
}

async function findTests(path: string): Promise<readonly string[]> {
  if (!(await Deno.stat(path)).isDirectory) return path.endsWith("_test.ts") ? [path] : [];
  const names = (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).sort();
  return (await Promise.all(names.map((name) => findTests(`${path}/${name}`)))).flat();
}

/** How many tests of a file passed and failed; steps count, too. */
interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** By path. A newer result of a file replaces an older one. */
type Results = ReadonlyMap<string, Counts>;

/** A file that is not in the report: it could not be loaded, or the run was stopped before. */
const NOT_RUN: Counts = { passed: 0, failed: 1 };

/** Reads a JUnit report about `paths`. A report that is missing says that none of them ran. */
async function readResults(report: string, paths: readonly string[]): Promise<Map<string, Counts>> {
  const results = new Map(paths.map((path) => [path, NOT_RUN]));
  const resolve = (path: string): string => new URL(path, `file://${Deno.cwd()}/`).pathname;
  const known = new Map(paths.map((path) => [resolve(path), path]));
  const text = await Deno.readTextFile(report).catch(() => "");
  // Files of steps are named, too, which may be support files.
  for (const [head, name = ""] of text.matchAll(/<testsuite name="([^"]+)"[^>]*>/g)) {
    if (isGroup(name)) continue;
    const read = (key: string): number => Number(new RegExp(` ${key}="(\\d+)"`).exec(head)?.[1] ?? "0");
    const failed = read("failures") + read("errors");
    results.set(known.get(resolve(name)) ?? name, { passed: read("tests") - failed, failed });
  }
  for (const [, name = ""] of text.matchAll(/<testcase name="(\/[^"]+)"/g)) {
    const path = known.get(name);
    if (path !== undefined) results.set(path, NOT_RUN);
  }
  return results;
}

/**
 * Writes modules of which each loads the tests of a group of files. A file that cannot be loaded becomes a test that
 * fails, with the path as its name.
 */
function writeGroups(folder: string, paths: readonly string[], count: number): Promise<readonly string[]> {
  const groups = Array.from(
    { length: Math.min(count, paths.length) },
    (_, at) => paths.filter((_, index) => index % count === at),
  );
  return Promise.all(groups.map(async (group, at) => {
    const module = `${folder}/group_${at}.ts`;
    const lines = group.map((path) => {
      const { href, pathname } = new URL(path, `file://${Deno.cwd()}/`);
      return `await import("${href}").catch((error) => Deno.test("${pathname}", () => { throw error; }));\n`;
    });
    await Deno.writeTextFile(module, lines.join(""));
    return module;
  }));
}

/** Whether a module is one of {@link writeGroups}. */
function isGroup(path: string): boolean {
  return /\/group_\d+\.ts$/.test(path);
}

function sumOf(results: Results): Counts {
  const counts = [...results.values()];
  const add = (key: keyof Counts): number => counts.reduce((sum, each) => sum + each[key], 0);
  return { passed: add("passed"), failed: add("failed") };
}

/** Test files with failures. */
function failedFiles(results: Results): string[] {
  return [...results].filter(([path, { failed }]) => failed > 0 && path.endsWith("_test.ts")).map(([path]) =>
    path
  );
}

/** The files of a JUnit report that took longest, each with its time. */
function readLongest(file: string): string {
  const text = Deno.readTextFileSync(file);
  const sums = new Map<string, number>();
  // Steps are cases of their own, inside of the time of their test.
  for (
    const [, name, path, time] of text.matchAll(
      /<testcase name="([^"]*)" classname="([^"]*)" time="([^"]*)"/g,
    )
  ) {
    if (path === undefined || name?.includes(" &gt; ") === true) continue;
    sums.set(path, (sums.get(path) ?? 0) + Number(time));
  }
  return [...sums].sort(([, a], [, b]) => b - a).slice(0, NAMED_TIMES)
    .map(([path, seconds]) => `${path.slice(path.lastIndexOf("/") + 1)} ${seconds.toFixed(0)} s`).join(", ");
}

/**
 * Time without the end of any test or step after which a run is stopped: a node that does not answer any more can hold a
 * test indefinitely. Single waits of tests end before.
 */
const MAX_SILENT_MS = 8 * 60_000;

/** A suite's results, and the files that failed beside others and passed by themselves. */
export interface SuiteResults extends Counts {
  readonly flaky: readonly string[];
}

/**
 * Runs a suite. What failed or hung beside others runs once more by itself: when it passes then, it is flaky, which the
 * closing lines say. More files than run at the same time do not fail because of one slow minute.
 */
export async function runSuite(
  name: string,
  paths: readonly string[],
  maxSilentMs = MAX_SILENT_MS,
): Promise<SuiteResults> {
  const atOnce = filesAtOnce(name);
  const groups = (GROUPS_PER_CORE[name] ?? 6) * navigator.hardwareConcurrency;
  const { results, wasStopped } = await runFiles(name, await listFiles(paths), {
    atOnce,
    groups,
    maxSilentMs,
  });
  const all = new Map(results);
  const run = async (what: string, files: readonly string[], atOnce: number): Promise<void> => {
    say(`== ${name}, ${what}: ${files.join(" ")}`);
    const { results } = await runFiles(`${name}-again`, files, { atOnce, groups: 0, maxSilentMs });
    for (const [path, counts] of results) all.set(path, counts);
  };
  const left = [...all].filter(([, counts]) => counts === NOT_RUN).map(([path]) => path);
  if (wasStopped && left.length > 0) await run("what was left when it was stopped", left, atOnce);
  const failed = failedFiles(all);
  if (failed.length > 0 && failed.length <= atOnce) await run("once more by themselves", failed, 1);
  return { ...sumOf(all), flaky: failed.filter((path) => all.get(path)?.failed === 0) };
}

function reportOf(name: string): string {
  return `build/junit-${name}.xml`;
}

async function runFiles(
  name: string,
  paths: readonly string[],
  { atOnce, groups, maxSilentMs }: {
    readonly atOnce: number;
    readonly groups: number;
    readonly maxSilentMs: number;
  },
): Promise<{ readonly results: Results; readonly wasStopped: boolean }> {
  const folder = await Deno.makeTempDir({ prefix: "groups-" });
  using _ = { [Symbol.dispose]: () => Deno.removeSync(folder, { recursive: true }) };
  const alone = paths.filter((path) => groups === 0 || LONGEST.includes(path));
  const modules = await writeGroups(folder, paths.filter((path) => !alone.includes(path)), groups);
  const report = reportOf(name);
  const notes = `build/notes-${name}.txt`;
  for (const file of [report, notes]) await Deno.remove(file).catch(() => undefined);
  const child = new Deno.Command(Deno.execPath(), {
    // Types are the matter of `deno task check`: each suite would check all of the same modules again.
    args: [
      "test",
      "-A",
      "--no-check",
      "--quiet",
      "--parallel",
      `--junit-path=${report}`,
      "--reporter=dot",
      "--config=deno.json",
      ...alone,
      ...modules,
    ],
    env: {
      NO_COLOR: "1",
      RUST_BACKTRACE: "0",
      DENO_JOBS: String(atOnce),
      CAUSEWAY_TEST_NOTES: `${Deno.cwd()}/${notes}`,
    },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const wasStopped = await showUntilEnd(name, child, maxSilentMs);
  const { success } = await child.status;
  // What passed tests have to tell: the runner holds back all that they print.
  const printed = await Deno.readTextFile(notes).catch(() => "");
  if (printed !== "") say(printed.trimEnd());
  const results = await readResults(report, paths);
  const { passed, failed } = sumOf(results);
  if (passed > 0) say(`longest: ${readLongest(report)}`);
  if (!success && failed === 0) results.set("deno test", NOT_RUN);
  return { results, wasStopped };
}

/**
 * Shows the output of a run, and stops the run when no test ends any more. It then names the tests that it was in, and
 * writes its report.
 * @returns whether it was stopped.
 */
async function showUntilEnd(
  name: string,
  child: { readonly stdout: ReadableStream<Uint8Array>; kill(signal: Deno.Signal): void },
  maxSilentMs: number,
): Promise<boolean> {
  let wasStopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const watch = (): void => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      say(`${name}: no test ended for ${maxSilentMs / 1000} s; the run is stopped`);
      // Twice: it may not be able to write its report.
      child.kill(wasStopped ? "SIGKILL" : "SIGINT");
      if (!wasStopped) watch();
      wasStopped = true;
    }, maxSilentMs);
  };
  watch();
  await showWithoutDots(child.stdout.pipeThrough(
    new TransformStream({
      transform: (part, controller): void => {
        watch();
        controller.enqueue(part);
      },
    }),
  ));
  clearTimeout(timer);
  return wasStopped;
}

/** Without a terminal the dots of passed tests stand on a line each; only what is said of failures is of interest. */
async function showWithoutDots(output: ReadableStream<Uint8Array>): Promise<void> {
  let rest = "";
  const show = (line: string): void => {
    if (!/^[.,!]?$/.test(line)) say(line);
  };
  for await (const text of output.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(show);
  }
  show(rest);
}

/** Runs a suite and says what came of it. */
async function runNamed(name: string): Promise<SuiteResults> {
  const paths = SUITES[name];
  if (paths === undefined) throw new Error(`No suite "${name}"; there are ${Object.keys(SUITES).join(", ")}`);
  say(`== ${name}`);
  const startMs = performance.now();
  const results = await runSuite(name, paths);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  say(`${name}: ${results.passed} passed, ${results.failed} failed in ${seconds} s`);
  return results;
}

async function main(): Promise<void> {
  const wanted = Deno.args.length === 0 ? GATE : Deno.args;
  if (wanted.some((name) => !WITHOUT_PROGRAMS.has(name))) {
    await ensurePrograms({ onBuild: () => say("== build") });
  }
  await Deno.mkdir("build", { recursive: true });
  const suites = new Map<string, SuiteResults>();
  for (const name of wanted) suites.set(name, await runNamed(name));
  const flaky = [...suites.values()].flatMap(({ flaky }) => flaky);
  if (flaky.length > 0) {
    say(`flaky: ${flaky.length} ${flaky.length === 1 ? "file" : "files"} (${flaky.join(", ")})`);
  }
  const { passed, failed } = sumOf(suites);
  say(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) Deno.exit(1);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) await main();
