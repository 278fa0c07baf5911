/** Every document and file that a comment names is there, down to the section. */
import assert from "node:assert/strict";
import { findMissingFiles, findWrongCitations, readCitations, readComments } from "./support/citations.ts";
import { listFiles, readFiles } from "./support/tree.ts";

/** Files whose comments are read; the checker's own hold what it looks for. */
function isRead(path: string): boolean {
  return /^(?:src|tests|devnet)\/.*\.ts$/.test(path) && !path.startsWith("tests/docs/");
}

Deno.test("citations: every document that a comment names is there, with its section, heading or row", async () => {
  const docs = await readFiles((path) => path.startsWith("docs/") && path.endsWith(".md"));
  const sources = await readFiles(isRead);
  assert.ok(sources.size > 700, `only ${sources.size} files were found`);
  const found = [...sources].flatMap(([path, text]) =>
    findWrongCitations(text, docs).map((wrong) => `${path}: ${wrong}`)
  );
  assert.deepEqual(found, []);
  const count = [...sources.values()].flatMap(readComments).flatMap(readCitations).length;
  assert.ok(count > 150, `only ${count} citations were found`);
});

Deno.test("citations: every file of the repository that a comment names is there", async () => {
  const files = await listFiles();
  const sources = await readFiles(isRead);
  const found = [...sources].flatMap(([path, text]) =>
    findMissingFiles(text, files).map((wrong) => `${path}: ${wrong}`)
  );
  assert.deepEqual(found, []);
});

Deno.test("citations: files that are not TypeScript cite documents that are there, too", async () => {
  const docs = await readFiles((path) => path.startsWith("docs/") && path.endsWith(".md"));
  const isOther = (path: string): boolean =>
    /\.(?:sol|sh|toml|ya?ml|service)$|^(?:Dockerfile|\.ci\/run)$/.test(path) && !path.startsWith("docs/");
  const others = await readFiles(isOther);
  assert.ok(others.size > 20, `only ${others.size} files were found`);
  // Their comments begin with other signs; the checks do not care once they are those of TypeScript.
  const found = [...others].flatMap(([path, text]) =>
    findWrongCitations(text.replace(/^\s*#\s?/gm, "// "), docs).map((wrong) => `${path}: ${wrong}`)
  );
  assert.deepEqual(found, []);
});

const docs = new Map([[
  "docs/a.md",
  "# A\n\n## 5. Five\n\n### 5.7 Way\n\n## Order\n\n| # | what |\n| - | - |\n| I3 | x |\n",
]]);

Deno.test("citations: what is right passes, over the lines of a comment", () => {
  const good = [
    "/** Source: docs/a.md sections 5 and 5.7. Then 9 things. */",
    '/**\n * Rules: docs/a.md section\n * 5.7, step 4; see docs/a.md, "Order".\n */',
    "/** As docs/a.md section 5 (traps 16, 18) says, and (docs/a.md, I3). */",
    "const a = 1; // docs/a.md#57-way\n",
  ];
  for (const text of good) assert.deepEqual(findWrongCitations(text, docs), [], text);
});

Deno.test("citations: what is wrong is named", () => {
  const wrong: readonly [string, RegExp][] = [
    ["/** Source: docs/b.md. */", /docs\/b\.md, which does not exist/],
    ["/** Source: docs/a.md sections 5 and 5.8. */", /no section 5\.8/],
    ["/** Source: docs/a.md section\n * 6. */", /no section 6/],
    ['/** Source: docs/a.md, "Chaos". */', /no heading "Chaos"/],
    ["// docs/a.md#nowhere\n", /no #nowhere/],
    ["/** (docs/a.md, I4) */", /no I4/],
    ["/** Source: 04-messaging-flow.md 2.2. */", /"04-messaging-flow", which is not/],
    ["/** Source: spec.md, Limits. */", /"spec\.md", which is not/],
    ["/** Section 3 of the protocol\n * notes. */", /"protocol notes", which is not/],
  ];
  for (const [text, expected] of wrong) {
    assert.match(findWrongCitations(text, docs).join("\n"), expected, text);
  }
});

Deno.test("citations: a file that has moved is named", () => {
  const files = ["src/core/a/old.ts", "deno.json"];
  const text = "/** See `a/old.ts`, `deno.json` and `a/new.ts`. */\nconst a = `core/none.ts`;";
  assert.deepEqual(findMissingFiles(text, files), ["names `a/new.ts`, which does not exist"]);
});
