/** The table of failure cases in docs/testing.md names tests that are there, and whose names carry its numbers. */
import assert from "node:assert/strict";
import { readRows } from "./support/markdown.ts";
import { readFile } from "./support/tree.ts";

/** Numbers that must have a row. */
const NUMBERS = Array.from({ length: 27 }, (_, index) => `F${index + 1}`);

/** Names of the tests and steps of a file, as they are written there. */
function readNames(source: string): readonly string[] {
  const calls = /(?:Deno\.test\(\s*(?:\{\s*name:\s*)?|t\.step\(\s*)(["`])((?:\\.|(?!\1).)*)\1/gs;
  return [...source.matchAll(calls)].map(([, , name]) => name ?? "");
}

/** True when one of the names has the text and carries the mark. */
function hasTest(names: readonly string[], number: string, text: string): boolean {
  return names.some((name) => name.includes(text) && name.includes(`(${number})`));
}

async function readCases(): Promise<readonly (readonly string[])[]> {
  return readRows(await readFile("docs/testing.md")).filter(([number]) => /^F\d+$/.test(number ?? ""))
    .map((cells) => cells.map((cell) => cell.replace(/^`|`$/g, "")));
}

Deno.test("failure cases: every number has a row in docs/testing.md", async () => {
  const found = new Set((await readCases()).map(([number]) => number));
  assert.deepEqual([...found], NUMBERS);
});

Deno.test("failure cases: each has a test whose name carries its number", async () => {
  const missing: string[] = [];
  for (const [number = "", what, text = "", file = ""] of await readCases()) {
    const source = await readFile(file).catch(() => "");
    if (!hasTest(readNames(source), number, text)) missing.push(`${number} ${what}: "${text}" in ${file}`);
  }
  assert.deepEqual(missing, []);
});

Deno.test("failure cases: a name without the number is noticed", () => {
  const names = readNames('Deno.test("a: b (F3)", () => {});\nawait t.step(`c ${d} (F4)`, () => {});');
  assert.equal(hasTest(names, "F3", "a: b"), true);
  assert.equal(hasTest(names, "F4", "c ${d}"), true);
  assert.equal(hasTest(names, "F4", "a: b"), false);
  assert.equal(hasTest(names, "F3", "c"), false);
});
