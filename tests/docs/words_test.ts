/** Words that were coined in this project, for which docs/glossary.md has the field's word, do not come back. */
import assert from "node:assert/strict";
import { readFiles } from "./support/tree.ts";

/** A word that is refused, and the one to write. */
const REFUSED: readonly (readonly [RegExp, string])[] = [
  [/\bmend(?:s|ed|ing)?\b/i, "fix"],
  [/\banew\b/i, "again"],
  [/\bfor ever\b/i, "forever or indefinitely"],
  [/\blately\b/i, "recently"],
  [/\ball the same\b/i, "anyway"],
  [/\bsomebody else\b/i, "another relayer"],
  [/\brival(?:s|ry)?\b/i, "competitor, competition"],
  [/\bsift(?:s|ed|ing)?\b/i, "bisect"],
  [/\bpreludes?\b/i, "consensus proofs"],
  [/\bsinks?\b/i, "target"],
  [/\b(?:put|set) aside\b/i, "deferred or held"],
  [/\bparked\b/i, "suspended"],
  [/\b(?:misfit|unfitness)\b/i, "mismatch, unusable"],
  [/\b(?:taught|brought)\b/i, "advanced, delivered"],
  [/\b(?:told chains?|told of)\b/i, "hub follower, follows"],
  [/\btellers?\b/i, "updater"],
  [/\bgo(?:es)? on\b/i, "continues"],
  [/\bin place of\b/i, "instead of"],
  [/\bin vain\b/i, "wasted, without effect"],
  [/\b(?:is|are|was|were|be) passed over\b/i, "skipped"],
  [/\bweigh(?:s|ed|ing)?\b/i, "check, compare"],
  [/\bdearer\b/i, "at a higher price"],
  [/\bmade good\b/i, "fixed, caught up"],
  [/\bheirs?\b/i, "successor"],
  [/\b(?:MOST|LEAST|LONGEST|SHORTEST)_[A-Z]/, "MAX_ or MIN_"],
];

/** Refused in `src` and documents. */
const REFUSED_BESIDE_TESTS: readonly (readonly [RegExp, string])[] = [
  [/\bwhoever\b/i, "a name for that person or program"],
  [/\bsurroundings\b/i, "dependencies, context"],
];

/** Refused in documents, too: words of riddles, and clauses as subjects of sentences. */
const REFUSED_IN_DOCUMENTS: readonly (readonly [RegExp, string])[] = [
  [/\bworlds?\b/i, "context"],
  [/\bourself\b/i, "our own account"],
  [/\btrials?\b/i, "simulation, dry run"],
  [/\b(?:told|tellings?)\b/i, "reported, named"],
  [/\bfor want of\b/i, "without"],
  [/\bby halves\b/i, "in parts"],
  [/\bwhat became of\b/i, "the outcome of"],
  [/(?<=^(?!#)(?:|.*[.;:] |.*\| ))What (?=[a-z])(?!.*\?)/, "a noun as the subject"],
];

/** Verbs that machines do not do, refused in texts of more than one word that the programs show. */
const HUMAN_VERBS =
  /\b(?:tells?|telling|told|takes?|taken|took|learn(?:s|ed|t)?|look(?:s|ed|ing)?|says?|said|minds?|wants?|wanted)\b/i;

/** Lines of code with such a verb in a text: what stands between quotes, without values, where it has a space. */
function findHumanVerbs(path: string, text: string): readonly string[] {
  const lines = text.split("\n").map((line) =>
    /^\s*(?:\/?\*|\/\/)/.test(line) ? "" : line.replace(/ \/\/ .*/, "")
  );
  return lines.flatMap((line, index) =>
    [...line.matchAll(/"[^"]*"|`[^`]*`/g)].flatMap(([quoted]) => {
      const said = quoted.replaceAll(/\$\{[^}]*\}?/g, "");
      const verb = said.includes(" ") ? HUMAN_VERBS.exec(said)?.[0] : undefined;
      return verb === undefined
        ? []
        : [`${path}:${index + 1}: machines report, accept, check, need; not "${verb}"`];
    })
  );
}

/** A library's own option has that name; the glossary and this file name the words. */
const EXEMPT: ReadonlySet<string> = new Set([
  "src/core/telemetry/open_log.ts",
  "docs/glossary.md",
  "tests/docs/words_test.ts",
]);

/** Files that are read: code, tests, documents, and what is published with them. */
const READ =
  /^(?:(?:src|tests|devnet)\/.*\.ts|(?:docs\/.*|packaging\/.*|README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|packaging\/.*\.(?:sh|service)|[a-z.]*example\.toml)$/;

/** Lines with a refused word, and what to write; names of tests in code spans are left out. */
function findRefused(path: string, text: string): readonly string[] {
  const isDocument = path.endsWith(".md");
  const isProse = isDocument && path !== "CHANGELOG.md";
  const refused = [
    ...REFUSED,
    ...isProse || path.startsWith("src/") ? REFUSED_BESIDE_TESTS : [],
    ...isProse ? REFUSED_IN_DOCUMENTS : [],
  ];
  return text.split("\n").flatMap((line, index) => {
    const said = isDocument ? line.replaceAll(/`[^`]*`/g, "") : line;
    return refused.flatMap(([pattern, instead]) => {
      const word = pattern.exec(said)?.[0];
      return word === undefined ? [] : [`${path}:${index + 1}: write ${instead}, not "${word}"`];
    });
  });
}

Deno.test("words: code and documents use the words of the glossary", async () => {
  const files = await readFiles((path) => READ.test(path));
  assert.ok(files.size > 900, `only ${files.size} files were found`);
  for (const path of ["CHANGELOG.md", "packaging/publish.sh", "devnet/main.ts", "config.example.toml"]) {
    assert.ok(files.has(path), `${path} is not read`);
  }
  const found = [...files].filter(([path]) => !EXEMPT.has(path)).flatMap(([path, text]) =>
    findRefused(path, text)
  );
  assert.deepEqual(found, []);
});

Deno.test("words: texts that the programs show have no verbs of people", async () => {
  const files = await readFiles((path) => /^src\/.*\.ts$/.test(path));
  assert.deepEqual([...files].flatMap(([path, text]) => findHumanVerbs(path, text)), []);
  const code = 'const told = "told";\n// "it says a word"\nfail(`the ${told} host takes ${n}`);';
  assert.deepEqual(findHumanVerbs("src/a.ts", code).map((line) => line.slice(0, 10)), ["src/a.ts:3"]);
});

Deno.test("words: a refused word is found in code and documents, not in names of tests", () => {
  assert.deepEqual(findRefused("src/a.ts", "// The sink is asked anew.\nconst MOST_BYTES = 1;").length, 3);
  assert.deepEqual(findRefused("docs/a.md", "`a rival of ours` mends it"), [
    'docs/a.md:1: write fix, not "mends"',
  ]);
  const text = "## 3. What happens\nWhat it costs: see b.\nWhat is it?\nA pair, whoever sent it.";
  assert.deepEqual(findRefused("docs/a.md", text).map((each) => each.slice(0, 11)), [
    "docs/a.md:2",
    "docs/a.md:4",
  ]);
  assert.deepEqual(findRefused("src/a.ts", text).length, 1);
  assert.deepEqual(findRefused("tests/a.ts", text), []);
});
