/** The table of failure cases in docs/testing.md: each number has as many tests as its row says, by their names. */
import assert from "node:assert/strict";
import { readRows } from "./support/markdown.ts";
import { readFile, readFiles } from "./support/tree.ts";

/** Numbers that must have a row. */
const NUMBERS = Array.from({ length: 27 }, (_, index) => `F${index + 1}`);

/** Failure cases in the names of the tests and steps of a file. */
function readCases(source: string): readonly string[] {
  const calls = /(?:(?:Deno\.|^)test\(\s*(?:\{\s*name:\s*)?|t\.step\(\s*)(["`])((?:\\.|(?!\1).)*)\1/gsm;
  return [...source.matchAll(calls)].flatMap(([, , name = ""]) =>
    [...name.matchAll(/\((F\d+)\)/g)].map(([, number]) => number ?? "")
  );
}

Deno.test("failure cases: every number has a row in docs/testing.md, and as many tests as that says", async () => {
  const files = await readFiles((path) =>
    /^tests\/.*_test\.ts$/.test(path) && !path.startsWith("tests/docs/")
  );
  const cases = [...files.values()].flatMap(readCases);
  const counts = NUMBERS.map((number) => [number, cases.filter((each) => each === number).length]);
  const rows = readRows(await readFile("docs/testing.md")).filter(([number]) => /^F\d+$/.test(number ?? ""));
  assert.deepEqual(rows.map(([number, , count]) => [number, Number(count)]), counts);
});

Deno.test("failure cases: only names of tests and steps count", () => {
  const source = 'Deno.test("a: b (F3)", () => {}); // (F5)\nawait t.step(`c ${d} (F4)`, () => {});';
  assert.deepEqual(readCases(source), ["F3", "F4"]);
});
