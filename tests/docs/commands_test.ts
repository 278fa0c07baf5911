/** Every shell block of the documents is run by a test, or is checked here line by line; every task that they name exists. */
import assert from "node:assert/strict";
import manifest from "../../deno.json" with { type: "json" };
import { findUnknownTasks, findWrongLines, type Known } from "./support/commands.ts";
import { type Block, readBlocks } from "./support/markdown.ts";
import { listFiles, readFile, readFiles } from "./support/tree.ts";

const tasks = new Set(Object.keys(manifest.tasks));

async function readKnown(): Promise<Known> {
  return { tasks, files: await listFiles() };
}

/** Documents that tell people what to type; the changelog tells what was. */
function isGuide(path: string): boolean {
  return path.endsWith(".md") && path !== "CHANGELOG.md" && !path.startsWith("docs/protocol/");
}

/** Tests that run blocks of documents: of the ways of installing, and of the image of a standby. */
const RUNNERS = ["tests/slow/ways_test.ts", "tests/standby/image_test.ts"];

/** Blocks that these tests run, as `path # heading # number`. */
async function readRun(): Promise<ReadonlySet<string>> {
  const source = (await Promise.all(RUNNERS.map(readFile))).join("\n");
  const calls = [...source.matchAll(/readBlock\(\s*"([^"]+)",\s*"([^"]+)",\s*(\d+)\s*\)/g)];
  return new Set(calls.map(([, path, heading, at]) => `${path} # ${heading} # ${at}`));
}

/** Shell blocks with their number below their heading. */
function shellBlocks(text: string): readonly (Block & { readonly at: number })[] {
  const counts = new Map<string, number>();
  return readBlocks(text).filter(({ language }) => language === "sh").map((block) => {
    const at = counts.get(block.heading) ?? 0;
    counts.set(block.heading, at + 1);
    return { ...block, at };
  });
}

Deno.test("commands: every shell block of the documents is run by a test, or checked", async () => {
  const known = await readKnown();
  const run = await readRun();
  assert.ok(run.size >= 10, "tests run blocks of the documents");
  const wrong: string[] = [];
  let checked = 0;
  for (const [path, text] of await readFiles(isGuide)) {
    for (const { heading, at, text: block } of shellBlocks(text)) {
      if (run.has(`${path} # ${heading} # ${at}`)) continue;
      checked++;
      wrong.push(...findWrongLines(block, known).map((line) => `${path}, "${heading}": ${line}`));
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(checked >= 10, `only ${checked} blocks were checked`);
});

Deno.test("commands: every task that the documents name exists, and README names the one of CI", async () => {
  const found = [...await readFiles(isGuide)].flatMap(([path, text]) =>
    findUnknownTasks(text, tasks).map((task) => `${path}: ${task}`)
  );
  assert.deepEqual(found, []);
  assert.match(await readFile("README.md"), /^bash \.ci\/run$/m);
});

Deno.test("commands: wrong ones are named", () => {
  const known: Known = { tasks: new Set(["ok"]), files: ["tests/a/b_test.ts", ".ci/run"] };
  const good = [
    "./deno task ok",
    "deno test -A tests/a",
    "bash .ci/run",
    "causeway --config=a \\\n  --db=b accumulate-fees --wait",
    "causeway-consensus --config=a log-consensus-state EVM-1",
  ];
  assert.deepEqual(findWrongLines(good.join("\n"), known), []);
  const wrong: readonly [string, RegExp][] = [
    ["npx --yes deno@2.0.1 task ok", /no test runs it/],
    ["./deno task no", /no task no/],
    ["deno task no", /no task no/],
    ["deno test tests/c", /no tests\/c/],
    ["bash .ci/walk", /no such script/],
    ["causeway --config=a", /--db/],
    ["causeway-consensus --config=a --db=b", /--db/],
    ["rm -rf /", /no test runs it/],
  ];
  for (const [line, expected] of wrong) assert.match(findWrongLines(line, known).join(), expected, line);
  assert.deepEqual(findUnknownTasks("`deno task ok`, `deno task --quiet no`", known.tasks), ["no"]);
});
