/** Each failure case of the protocol notes has a test that names it, so that a removed one is noticed. */
import assert from "node:assert/strict";
import { failureCases, failureLines, markerOf } from "./failure_cases.ts";

/** Names of the tests and steps of a file, as they are written there. */
async function namesIn(file: string): Promise<readonly string[]> {
  const text = await Deno.readTextFile(new URL(`../../${file}`, import.meta.url));
  const calls = /(?:Deno\.test\(\s*(?:\{\s*name:\s*)?|t\.step\(\s*)(["`])((?:\\.|(?!\1).)*)\1/gs;
  return [...text.matchAll(calls)].map(([, , name]) => name ?? "");
}

Deno.test("failure cases: every line of 04 21.4 has at least one", () => {
  for (const line of failureLines) {
    assert.ok(failureCases.some((each) => each.line === line), `line ${line}`);
  }
  assert.ok(failureCases.every(({ line }) => failureLines.includes(line)));
});

Deno.test("failure cases: each has a test whose name carries its mark", async () => {
  const files = new Map<string, readonly string[]>();
  const missing: string[] = [];
  for (const each of failureCases) {
    const names = files.get(each.file) ?? await namesIn(each.file);
    files.set(each.file, names);
    const isThere = names.some((name) => name.includes(each.test) && name.includes(markerOf(each)));
    if (!isThere) missing.push(`${markerOf(each)} ${each.what}: "${each.test}" in ${each.file}`);
  }
  assert.deepEqual(missing, []);
});

Deno.test("failure cases: a name without the mark is noticed", async () => {
  const names = await namesIn("tests/messaging/failure_cases_test.ts");
  assert.ok(names.includes("failure cases: a name without the mark is noticed"));
  const [first] = failureCases;
  assert.ok(first !== undefined);
  assert.equal(names.some((name) => name.includes(markerOf(first))), false);
});
