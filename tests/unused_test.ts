/** Nothing is exported for nobody, and no dependency is declared that nothing imports. */
import assert from "node:assert/strict";
import { readFile, readFiles } from "./docs/support/tree.ts";
import { type ExportUse, listExports } from "./support/reach.ts";

/** Modules that are started: the programs, and what builds and packs them. */
const ENTRY_POINTS = [
  "src/messaging/main.ts",
  "src/consensus/main.ts",
  "src/build/build.ts",
  "src/build/release.ts",
];

/** Protocol code: what the wire formats and the rules about them are. */
const PROTOCOL =
  /^src\/(?:core\/(?:beefy|encoding|evm|ismp|merkle|substrate)|consensus\/clients\/\w+\/spec)\//;

/**
 * True for the inverse of an encoder or decoder that the programs have: tests take known bytes through both. What only
 * the devnet calls is part of the devnet instead.
 */
function isRoundTrip({ path, name, importers }: ExportUse): boolean {
  return PROTOCOL.test(path) && /^(?:decode|encode)[A-Z]/.test(name) &&
    importers.some((importer) => importer.startsWith("tests/"));
}

/** Exports of `src` that no program reaches, but for those of round trips: `path: name`. */
function findUnreached(uses: readonly ExportUse[]): readonly string[] {
  return uses.filter((use) => use.path.startsWith("src/") && !use.isReached && !isRoundTrip(use))
    .map(({ path, name }) => `${path}: ${name}`);
}

/**
 * Exports of `src` that no other file imports: `path: name`. Types are exported for the signatures that name them, so
 * they only have to be named.
 */
function findUnused(files: ReadonlyMap<string, string>, all: readonly ExportUse[]): readonly string[] {
  const uses = new Map<string, number>();
  for (const text of files.values()) {
    for (const [word] of text.matchAll(/\w+/g)) uses.set(word, (uses.get(word) ?? 0) + 1);
  }
  return all.filter(({ path, name, isValue, importers }) =>
    path.startsWith("src/") && (isValue ? importers.length === 0 : (uses.get(name) ?? 0) <= 1)
  ).map(({ path, name }) => `${path}: ${name}`);
}

interface Tree {
  readonly files: ReadonlyMap<string, string>;
  readonly exports: readonly ExportUse[];
}

function readTree(files: ReadonlyMap<string, string>): Tree {
  return { files, exports: listExports(files, ENTRY_POINTS) };
}

/** Every module of the repository. */
const repository = readTree(await readFiles((path) => /^(?:src|tests|devnet)\/.*\.ts$/.test(path)));

Deno.test("every export of src is imported somewhere", () => {
  const { files, exports } = repository;
  assert.ok(files.size > 500, `only ${files.size} files were found`);
  assert.deepEqual(findUnused(files, exports), []);
});

Deno.test("every export of src is reached by a program", () => {
  assert.deepEqual(findUnreached(repository.exports), []);
});

const main = 'import { start } from "../core/start.ts";\nstart();\n';

/** A small tree: what the entry point of a program reaches besides `text`, the rest of a module of `core/evm`. */
function tree(text: string, users: Readonly<Record<string, string>> = {}): Tree {
  const start = 'import { used } from "./evm/a.ts";\nexport function start(): void {\n  used();\n}\n';
  return readTree(
    new Map(Object.entries({
      "src/messaging/main.ts": main,
      "src/core/start.ts": start,
      "src/core/evm/a.ts": `export function used(): void {}\n${text}`,
      ...users,
    })),
  );
}

function unusedOf({ files, exports }: Tree): readonly string[] {
  return findUnused(files, exports);
}

Deno.test("an export that nobody imports is found", () => {
  const own = "export const own = 1;\nconst more = own;\n";
  assert.deepEqual(unusedOf(tree(own)), ["src/core/evm/a.ts: own"]);
  assert.deepEqual(unusedOf(tree("export type Left = 1;\n")), ["src/core/evm/a.ts: Left"]);
  assert.deepEqual(unusedOf(tree("export type Own = 1;\nlet a: Own;\n")), []);
  const user = { "tests/b.ts": 'import { own } from "../src/core/evm/a.ts";\n' };
  assert.deepEqual(unusedOf(tree(own, user)), []);
});

const wrong: readonly [string, string, Readonly<Record<string, string>>][] = [
  ["only the devnet imports", "export const left = 1;\n", {
    "devnet/b.ts": 'import { left } from "../src/core/evm/a.ts";\n',
  }],
  ["only a test imports", "export const left = 1;\n", {
    "tests/b.ts": 'import { left as found } from "../src/core/evm/a.ts";\n',
  }],
  [
    "only dead code of its own file calls",
    "function dead(): void {\n  left();\n}\nexport function left(): void {}\n",
    {},
  ],
  ["is the inverse of nothing that is tested", "export function encodeLeft(): void {}\n", {
    "devnet/b.ts": 'import { encodeLeft } from "../src/core/evm/a.ts";\n',
  }],
  ["has the name of a member that is used", "export const left = 1;\n", {
    "src/core/start.ts":
      'import { used } from "./evm/a.ts";\nexport function start(): void {\n  used(x.left, { left: 1 });\n}\n',
  }],
];

for (const [what, text, users] of wrong) {
  Deno.test(`an export that ${what} is found`, () => {
    const [found, ...more] = findUnreached(tree(text, users).exports);
    assert.match(found ?? "", /^src\/core\/evm\/a\.ts: \w*left$/i);
    assert.deepEqual(more, []);
  });
}

Deno.test("what a program reaches through files, namespaces, loaded modules and re-exports is not found", () => {
  const test = 'import { decodeBack } from "../src/core/evm/a.ts";\n';
  const users = {
    "tests/b.ts": test,
    "src/consensus/main.ts": 'const load = () => import("./program.ts");\n',
    "src/consensus/program.ts": [
      'import * as all from "../core/evm/a.ts";',
      'import { c as d } from "../core/evm/passed.ts";',
      "export function runProgram(): void {\n  all.named({ d });\n}\n",
    ].join("\n"),
    "src/core/evm/passed.ts": 'export { c } from "./c.ts";\n',
    "src/core/evm/c.ts": "export const c = 1;\n",
  };
  const text =
    "export function named(): Shape {}\nexport interface Shape {}\nexport function decodeBack(): void {}\n";
  assert.deepEqual(findUnreached(tree(text, users).exports), []);
});

Deno.test("every dependency of deno.json is imported", async () => {
  const { imports } = JSON.parse(await readFile("deno.json"));
  const texts = [...(await readFiles((path) => /^(?:src|tests|devnet)\/.*\.ts$/.test(path))).values()];
  // A peer of another dependency is declared for its version.
  const lock = await readFile("deno.lock");
  const isPeer = (name: string): boolean => lock.includes(`_${name.replace("/", "+")}@`);
  const unused = Object.keys(imports).filter((name) =>
    !isPeer(name) &&
    !texts.some((text) => name.endsWith("/") ? text.includes(`"${name}`) : text.includes(`"${name}"`))
  );
  assert.deepEqual(unused, []);
});
