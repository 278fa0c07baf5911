/** Nothing is exported for nobody, and no dependency is declared that nothing imports. */
import assert from "node:assert/strict";
import { readFile, readFiles } from "./docs/support/tree.ts";

/** A declaration that other files could use. */
const EXPORT = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type|enum) (\w+)/gm;

/** Exports of `src` that no file names, not even their own a second time: `path: name`. */
function findUnused(files: ReadonlyMap<string, string>): readonly string[] {
  const uses = new Map<string, number>();
  for (const text of files.values()) {
    for (const [word] of text.matchAll(/\w+/g)) uses.set(word, (uses.get(word) ?? 0) + 1);
  }
  return [...files].filter(([path]) => path.startsWith("src/")).flatMap(([path, text]) =>
    [...text.matchAll(EXPORT)].flatMap(([, name = ""]) =>
      (uses.get(name) ?? 0) <= 1 ? [`${path}: ${name}`] : []
    )
  );
}

Deno.test("every export of src is used somewhere", async () => {
  const files = await readFiles((path) => /^(?:src|tests|devnet)\/.*\.ts$/.test(path));
  assert.ok(files.size > 500, `only ${files.size} files were found`);
  assert.deepEqual(findUnused(files), []);
});

Deno.test("an export that nobody names is found", () => {
  const files = new Map([
    [
      "src/a.ts",
      "export const used = 1;\nexport function left(): void {}\nexport type Own = 1;\nlet a: Own;",
    ],
    ["tests/b.ts", 'import { used } from "../src/a.ts";'],
  ]);
  assert.deepEqual(findUnused(files), ["src/a.ts: left"]);
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
