/** Every relative link of every document leads to a file that is there, and every anchor to a heading of it. */
import assert from "node:assert/strict";
import { readBlocks, readHeadings, readLinks, readSections, withoutBlocks } from "./support/markdown.ts";
import { listFiles, readFile, readFiles } from "./support/tree.ts";

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
  const named = [
    ...prose.matchAll(/`((?:src|tests|devnet|docs|packaging|\.ci|\.github)\/[\w./*-]*|[\w/-]+\.ts)`/g),
  ]
    .map((
      [, name],
    ) => name ?? "");
  return named.filter((name) => !files.some((file) => fits(file, name))).map((name) => `${path}: ${name}`);
}

/** True for a file with that name (or its end), one below a folder with that name, or one that a `*` stands for. */
function fits(file: string, name: string): boolean {
  const pattern = name.replace(/[.]/g, "\\.").replaceAll("*", "[^/]*").replace(/\/$/, "");
  return new RegExp(`${/^[\w/-]+\.ts$/.test(name) ? "(?:^|/)" : "^"}${pattern}(?:/|$)`).test(file);
}

/** Sections that a document names by number, behind a link those of its target, and that are not there. */
function findNoSections(path: string, text: string, docs: ReadonlyMap<string, string>): string[] {
  const pattern =
    /(?:\]\(([^()\s]+\.md)\)[^|\n.]{0,3})?\bsections? (\d+(?:\.\d+)*(?:(?:,| and| to) \d+(?:\.\d+)*)*)/g;
  return [...withoutBlocks(text).matchAll(pattern)].flatMap(([, link, list = ""]) => {
    const target = link === undefined ? path : new URL(link, `file:///${path}`).pathname.slice(1);
    const there = readSections(docs.get(target) ?? "");
    return [...list.matchAll(/\d+(?:\.\d+)*/g)].map(([number]) => number).filter((number) =>
      !there.has(number)
    )
      .map((number) => `${path}: section ${number} of ${target}`);
  });
}

Deno.test("links: every section that the documents name by its number is there", async () => {
  const docs = await readFiles((path) => path.startsWith("docs/") && path.endsWith(".md"));
  // The table of the protocol notes says "its section".
  const missing = [...docs].filter(([path]) => path !== "docs/protocol/README.md")
    .flatMap(([path, text]) => findNoSections(path, text, docs));
  assert.deepEqual(missing, []);
});

Deno.test("links: sections that are not there are named", () => {
  const docs = new Map([
    ["docs/a.md", "## 1. One\nSee section 1, [b](./b.md) sections 2 and 3.1, and section 4."],
    ["docs/b.md", "## 2. Two\n"],
  ]);
  assert.deepEqual(findNoSections("docs/a.md", docs.get("docs/a.md") ?? "", docs), [
    "docs/a.md: section 3.1 of docs/b.md",
    "docs/a.md: section 4 of docs/a.md",
  ]);
});

Deno.test("links: every path of the repository that a document names is there", async () => {
  const files = await listFiles();
  // The changelog tells what was; notes name files of other repositories beside their names.
  const docs = await readFiles((path) => path.endsWith(".md") && path !== "CHANGELOG.md");
  const missing = [...docs].flatMap(([path, text]) => findMissing(path, text, files));
  assert.deepEqual(missing, []);
});

/** Folders of a drawn tree: those at the margin from the root, those below by two blanks within the last one. */
function readTree(drawn: string): readonly string[] {
  let top = "";
  return drawn.split("\n").flatMap((line) => {
    const [, indent, name] = /^( {0,2})([\w/]+\/)(?= )/.exec(line) ?? [];
    if (name === undefined) return [];
    if (indent === "") top = name;
    return [indent === "" ? name : `${top}${name}`];
  });
}

Deno.test("links: the tree of the overview has every folder of the core and of the programs, and no other", async () => {
  const files = await listFiles();
  const blocks = readBlocks(await readFile("docs/architecture/overview.md"));
  const drawn = readTree(blocks.find(({ heading }) => heading === "The tree")?.text ?? "");
  assert.deepEqual(drawn.filter((folder) => !files.some((file) => file.startsWith(folder))), []);
  const rooms = new Set(files.flatMap((file) => /^src\/core\/[^/]+\//.exec(file)?.[0] ?? []));
  assert.deepEqual([...rooms].filter((room) => !drawn.includes(room)), []);
});

Deno.test("links: a drawn tree is read", () => {
  assert.deepEqual(readTree("src/a/     x\n  b/     y\n           z\nsrc/c/  w"), [
    "src/a/",
    "src/a/b/",
    "src/c/",
  ]);
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
