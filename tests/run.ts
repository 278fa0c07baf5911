/**
 * Runs the test suites one after the other and closes with the sum, `N passed, N failed`.
 * Usage: `deno run -A tests/run.ts [unit|devnet|scenario|release]...`; without arguments all of them.
 */

import { areProgramsOutdated, compilePrograms } from "../devnet/programs/relayer_build.ts";
import { describeSpentGas, parseSpentGas, SPENT_GAS_FILE, sumSpentGas } from "../devnet/traffic/spent_gas.ts";

/** Folders of each suite, in the order in which they run: the fastest first. */
const SUITES: Readonly<Record<string, readonly string[]>> = {
  unit: [
    "tests/architecture_test.ts",
    "tests/unused_test.ts",
    "tests/docs",
    "tests/fuzz",
    "tests/core",
    "tests/messaging",
    "tests/soak",
    "tests/speed",
    "tests/support",
  ],
  devnet: ["devnet", "tests/consensus"],
  scenario: ["tests/scenario"],
  release: ["tests/release"],
};

/** Suites without the compiled programs. */
const WITHOUT_PROGRAMS = new Set(["unit"]);

/** Test files per core that run at the same time: scenarios wait for blocks most of the time, devnet tests now and then. */
const FILES_PER_CORE: Readonly<Record<string, number>> = { unit: 1, devnet: 2, scenario: 4, release: 1 };

/**
 * Files that take longest, longest first: they are started before the others, so that none of them runs alone at the
 * end. Each suite's closing lines name its longest files.
 */
const LONGEST: readonly string[] = [
  "tests/messaging/simulation/plans_test.ts",
  "tests/messaging/simulation/simulation_test.ts",
  "tests/messaging/simulation/simulation_second_test.ts",
  "tests/core/chains/evm/log_reader_seeds_test.ts",
  "tests/scenario/endpoints_test.ts",
  "tests/scenario/profit_test.ts",
  "tests/scenario/outcomes_test.ts",
  "tests/scenario/claims_test.ts",
  "tests/scenario/delivery_test.ts",
  "tests/scenario/withdrawals_test.ts",
  "tests/scenario/consensus_rollups_test.ts",
  "tests/scenario/profiles_test.ts",
  "tests/scenario/remote_signer_test.ts",
  "tests/scenario/start_checks_test.ts",
  "tests/scenario/governance_test.ts",
  "tests/scenario/kill_test.ts",
  "tests/release/ways_test.ts",
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

interface Sum {
  readonly passed: number;
  readonly failed: number;
  /** Files that failed beside others and passed by themselves. */
  readonly flaky?: readonly string[];
}

/** Sums the attributes of a JUnit report; a suite that wrote none counts as one failure. */
function readSum(file: string): Sum {
  let text: string;
  try {
    text = Deno.readTextFileSync(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { passed: 0, failed: 1 };
  }
  const head = /<testsuites [^>]*>/.exec(text)?.[0] ?? "";
  const read = (name: string): number => Number(new RegExp(` ${name}="(\\d+)"`).exec(head)?.[1] ?? "0");
  const failed = read("failures") + read("errors");
  return { passed: read("tests") - failed, failed };
}

/** Files of a JUnit report that have failures. */
function readFailedFiles(file: string): string[] {
  try {
    const suites = Deno.readTextFileSync(file).matchAll(/<testsuite name="([^"]+)"[^>]*>/g);
    return [...suites].flatMap(([head, name]) =>
      // The report names the file that begins a step, too, which may be a support file.
      / (?:failures|errors)="[1-9]/.test(head) && name?.endsWith("_test.ts") === true ? [name] : []
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
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

/** Minutes after which a suite counts as failed: a node that does not answer any more can hold a test indefinitely. */
const MAX_MINUTES = 20;

/** Most files that are tried again: more than that is no matter of a crowded machine. */
const MAX_AGAIN = 3;

/**
 * Runs a suite. Scenarios run several nodes and programs per file, several files at a time: a file that fails there runs
 * once more by itself. When it passes then, it is flaky: named, and counted in the closing lines.
 */
async function runSuite(name: string, paths: readonly string[]): Promise<Sum> {
  const first = await runFiles(name, await listFiles(paths), filesAtOnce(name));
  const failed = readFailedFiles(reportOf(name));
  if (name !== "scenario" || failed.length === 0 || failed.length > MAX_AGAIN) return first;
  say(`== ${name}, once more by themselves: ${failed.join(" ")}`);
  const again = await runFiles(`${name}-again`, failed, 1);
  if (again.failed > 0) return first;
  return { passed: first.passed + first.failed, failed: 0, flaky: failed };
}

function reportOf(name: string): string {
  return `build/junit-${name}.xml`;
}

async function runFiles(name: string, paths: readonly string[], filesAtOnce: number): Promise<Sum> {
  const report = reportOf(name);
  const notes = `build/notes-${name}.txt`;
  const spent = `build/spent-gas-${name}.txt`;
  for (const file of [report, notes, spent]) await Deno.remove(file).catch(() => undefined);
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
      ...paths,
    ],
    env: {
      NO_COLOR: "1",
      RUST_BACKTRACE: "0",
      DENO_JOBS: String(filesAtOnce),
      CAUSEWAY_TEST_NOTES: `${Deno.cwd()}/${notes}`,
      // What the devnets of other suites carry is sent by tests, not by the programs.
      ...name.startsWith("scenario") ? { [SPENT_GAS_FILE]: `${Deno.cwd()}/${spent}` } : {},
    },
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const stop = setTimeout(() => {
    say(`${name} did not end within ${MAX_MINUTES} minutes, and is stopped`);
    child.kill("SIGKILL");
  }, MAX_MINUTES * 60_000);
  await showWithoutDots(child.stdout);
  const { success } = await child.status;
  clearTimeout(stop);
  // What passed tests have to tell: the runner holds back all that they print.
  const printed = await Deno.readTextFile(notes).catch(() => "");
  if (printed !== "") say(printed.trimEnd());
  const lines = await Deno.readTextFile(spent).catch(() => undefined);
  if (lines !== undefined) say(describeSpentGas(sumSpentGas(parseSpentGas(lines))));
  const sum = readSum(report);
  if (sum.passed > 0) say(`longest: ${readLongest(report)}`);
  return success || sum.failed > 0 ? sum : { ...sum, failed: 1 };
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
async function runNamed(name: string): Promise<Sum> {
  const paths = SUITES[name];
  if (paths === undefined) throw new Error(`No suite "${name}"; there are ${Object.keys(SUITES).join(", ")}`);
  say(`== ${name}`);
  const startMs = performance.now();
  const sum = await runSuite(name, paths);
  const seconds = ((performance.now() - startMs) / 1000).toFixed(0);
  say(`${name}: ${sum.passed} passed, ${sum.failed} failed in ${seconds} s`);
  return sum;
}

async function main(): Promise<void> {
  const wanted = Deno.args.length === 0 ? Object.keys(SUITES) : Deno.args;
  await Deno.mkdir("build", { recursive: true });
  if (wanted.some((name) => !WITHOUT_PROGRAMS.has(name)) && await areProgramsOutdated()) {
    say("== build");
    await compilePrograms();
  }
  let total: Sum = { passed: 0, failed: 0 };
  for (const name of wanted) {
    const sum = await runNamed(name);
    total = {
      passed: total.passed + sum.passed,
      failed: total.failed + sum.failed,
      flaky: [...total.flaky ?? [], ...sum.flaky ?? []],
    };
  }
  const { flaky = [] } = total;
  if (flaky.length > 0) {
    say(`flaky: ${flaky.length} ${flaky.length === 1 ? "file" : "files"} (${flaky.join(", ")})`);
  }
  say(`${total.passed} passed, ${total.failed} failed`);
  if (total.failed > 0 || total.passed === 0) Deno.exit(1);
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

if (import.meta.main) await main();
