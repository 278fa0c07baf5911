/** Every relative link of every document leads to a file that is there, and every anchor to a heading of it. */
import assert from "node:assert/strict";
import { readHeadings, readLinks } from "./support/markdown.ts";
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
