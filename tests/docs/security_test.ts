/** SECURITY.md: each row of its tables names a test that exists, or says what is left. */
import assert from "node:assert/strict";
import { listFiles, readFile } from "./support/tree.ts";

/** Rows of the table with a heading, as cells by the names of the columns. */
async function rowsUnder(heading: string): Promise<readonly ReadonlyMap<string, string>[]> {
  const text = await readFile("SECURITY.md");
  const part = text.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const [names = [], , ...rows] = part.split("\n").filter((line) => line.startsWith("| "))
    .map((line) => line.slice(1, -1).split("|").map((cell) => cell.trim()));
  return rows.map((row) => new Map(names.map((name, at) => [name, row[at] ?? ""])));
}

/** Tests that a cell names, as patterns of paths. */
function testsIn(cell: string): readonly RegExp[] {
  return [...cell.matchAll(/`([\w/*.]+)`/g)].map(([, name = ""]) => {
    const path = name.endsWith(".ts") ? name : `${name}_test.ts`;
    return new RegExp(`^tests/${RegExp.escape(path).replaceAll("\\*", "[\\w]*")}$`);
  });
}

Deno.test("security: every claim has a test that exists or says what is left, and every attack has a test", async () => {
  const files = await listFiles();
  const claims = await rowsUnder("What is protected, and what is left");
  const attacks = await rowsUnder("Attacks that are tried");
  assert.ok(claims.length >= 20 && attacks.length >= 20, `${claims.length} ${attacks.length}`);
  for (const row of [...claims, ...attacks]) {
    const cell = row.get("tested where") ?? row.get("test") ?? "";
    const tests = testsIn(cell);
    assert.ok(tests.length > 0 || (row.get("what is left") ?? "") !== "", [...row.values()].join(" | "));
    for (const test of tests) assert.ok(files.some((file) => test.test(file)), `${test} of ${cell}`);
  }
});
