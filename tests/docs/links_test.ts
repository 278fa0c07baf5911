/** Every relative link of every document leads to a file that is there, and every anchor to a heading of it. */
import assert from "node:assert/strict";
import { readBlocks, readHeadings, readLinks } from "./support/markdown.ts";
import { listFiles, readFiles } from "./support/tree.ts";

/** Links of one document that lead nowhere. */
function findBroken(
  path: string,
  text: string,
  docs: ReadonlyMap<string, string>,
  files: readonly string[],
): string[] {
  return readLinks(text).filter((link) => !/^[a-z]+:/.test(link)).flatMap((link) => {
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? path : new URL(file, `file:///${path}`).pathname.slice(1).replace(/\/$/, "");
    if (!files.some((each) => each === target || each.startsWith(`${target}/`))) return [`${path}: ${link}`];
    const isFound = anchor === undefined ||
      readHeadings(docs.get(target) ?? "").some((each) => each.anchor === anchor);
    return isFound ? [] : [`${path}: ${link} (no such heading)`];
  });
}

Deno.test("links: every relative link and anchor of every document leads somewhere", async () => {
  const files = await listFiles();
  const docs = await readFiles((path) => path.endsWith(".md"));
  const broken = [...docs].flatMap(([path, text]) => findBroken(path, text, docs, files));
  assert.deepEqual(broken, []);
  assert.ok([...docs.values()].flatMap(readLinks).length > 30);
});

/** Paths of this repository that a document names in code, and that are not there. */
function findMissing(path: string, text: string, files: readonly string[]): string[] {
  const blocks = new Set(readBlocks(text).map((block) => block.text));
  const prose = [...blocks].reduce((rest, block) => rest.replace(block, ""), text);
  const named = [...prose.matchAll(/`((?:src|tests|docs|packaging|\.ci|\.github)\/[\w./*-]*)`/g)].map((
    [, name],
  ) => name ?? "");
  return named.filter((name) => !files.some((file) => fits(file, name))).map((name) => `${path}: ${name}`);
}

/** True for a file with that name, one below a folder with that name, or one that a `*` stands for. */
function fits(file: string, name: string): boolean {
  const pattern = name.replace(/[.]/g, "\\.").replaceAll("*", "[^/]*").replace(/\/$/, "");
  return new RegExp(`^${pattern}(?:/|$)`).test(file);
}

Deno.test("links: every path of the repository that a document names is there", async () => {
  const files = await listFiles();
  // The changelog tells what was; notes name files of other repositories beside their names.
  const docs = await readFiles((path) => path.endsWith(".md") && path !== "CHANGELOG.md");
  const missing = [...docs].flatMap(([path, text]) => findMissing(path, text, files));
  assert.deepEqual(missing, []);
});

Deno.test("links: paths that are not there are named", () => {
  const text =
    "`src/a/b.ts` `src/a/` `tests/v/x-*.json` `src/a/c.ts` `src/b/` `tests/v/y-*.json`\n```sh\n`src/no`\n```\n";
  assert.deepEqual(findMissing("d.md", text, ["src/a/b.ts", "tests/v/x-1.json"]), [
    "d.md: src/a/c.ts",
    "d.md: src/b/",
    "d.md: tests/v/y-*.json",
  ]);
});

Deno.test("links: broken ones are named", () => {
  const docs = new Map([[
    "docs/a.md",
    "# A b\n[1](./c.md) [2](#a-b) [3](#no) [4](https://x) [5](../README.md#x)\n`[6](./d)`",
  ]]);
  assert.deepEqual(findBroken("docs/a.md", docs.get("docs/a.md") ?? "", docs, ["docs/a.md", "README.md"]), [
    "docs/a.md: ./c.md",
    "docs/a.md: #no (no such heading)",
    "docs/a.md: ../README.md#x (no such heading)",
  ]);
});
