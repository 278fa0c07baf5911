/** The runner of the suites: what fails beside others gets a second try by itself, and what hangs does not hold the rest. */
import assert from "node:assert/strict";
import { listFiles, readFile } from "../docs/support/tree.ts";
import { runSuite, type SuiteResults } from "../run.ts";

/** Long for the start of a few empty tests on any machine. */
const MAX_SILENT_MS = 15_000;

/** Fails or hangs when it runs for the first time. */
const onlyOnce = (what: string): string => `
Deno.test("once", async () => {
  const mark = import.meta.filename + ".ran";
  const isFirst = await Deno.stat(mark).then(() => false, () => true);
  await Deno.writeTextFile(mark, "");
  if (isFirst) ${what};
});`;
const FINE = 'Deno.test("fine", () => {}); Deno.test("fine, too", () => {});';
const FAILS = 'Deno.test("fails", () => { throw new Error("always"); });';
const LOST_PORT = onlyOnce('throw new Error("Address already in use")');
const HANGS = onlyOnce("await new Promise(() => setInterval(() => {}, 1_000))");

async function runTests(files: Readonly<Record<string, string>>): Promise<SuiteResults> {
  const folder = await Deno.makeTempDir({ prefix: "suite-" });
  try {
    for (const [name, text] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}_test.ts`, text);
    }
    const { flaky, ...counts } = await runSuite("tried", [folder], MAX_SILENT_MS);
    return { ...counts, flaky: flaky.map((path) => path.slice(path.lastIndexOf("/") + 1)) };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("run: a file that fails beside others and passes by itself is flaky, one that fails again is a failure", async () => {
  assert.deepEqual(await runTests({ fine: FINE, port: LOST_PORT }), {
    passed: 3,
    failed: 0,
    flaky: ["port_test.ts"],
  });
  assert.deepEqual(await runTests({ fine: FINE, port: LOST_PORT, fails: FAILS }), {
    passed: 3,
    failed: 1,
    flaky: ["port_test.ts"],
  });
});

Deno.test("run: a test that hangs is stopped and runs again, as do files that had not begun", async () => {
  const after = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`z${at}`, FINE]));
  // As many as run at the same time, so that nothing else gets a turn.
  const hanging = Object.fromEntries(
    Array.from({ length: Math.max(2, navigator.hardwareConcurrency) }, (_, at) => [`a${at}`, HANGS]),
  );
  const { passed, failed, flaky } = await runTests({ ...hanging, ...after });
  assert.deepEqual([failed, flaky.length], [0, Object.keys(hanging).length]);
  assert.equal(passed, 80 + flaky.length);
});

Deno.test("run: a file that cannot be loaded is a failure", async () => {
  const { passed, failed, flaky } = await runTests({ fine: FINE, bad: 'throw new Error("not loaded");' });
  assert.deepEqual([passed, failed, flaky], [2, 1, []]);
});

Deno.test("suites: every test file is played by a suite of tests/run.ts or by a task of its own", async () => {
  const played = `${await readFile("tests/run.ts")} ${await readFile("deno.json")}`;
  const isPlayed = (path: string): boolean =>
    path.startsWith("devnet/") ||
    path.split("/").some((_, at, parts) =>
      at > 0 && new RegExp(`["\\s]${parts.slice(0, at + 1).join("/")}["\\s]`).test(played)
    );
  const files = (await listFiles()).filter((path) => path.endsWith("_test.ts"));
  assert.deepEqual(files.filter((path) => !isPlayed(path)), []);
  assert.equal(isPlayed("tests/elsewhere/some_test.ts"), false);
});
