import assert from "node:assert/strict";
import type { KeyPath, LineLookup } from "../../../src/core/config/diagnostics.ts";
import { isTable, parseToml, type TomlDocument, type TomlTable } from "../../../src/core/config/toml.ts";

function accept(text: string): TomlDocument {
  const document = parseToml(text);
  assert.ok(!("problem" in document), "problem" in document ? document.problem.found : "");
  return document;
}

function valuesOf(text: string): TomlTable {
  return accept(text).table;
}

function locateKeys(text: string): LineLookup {
  return accept(text).lineOf;
}

Deno.test("TOML: integers are bigint of any size, floats numbers, dates dates", () => {
  const { d, t, ...plain } = valuesOf(`
i = 18446744073709551616
x = 0xffff_ffff
n = -0
f = 1e1
z = -0.0
big = 1e400
nan = nan
s = "\\u0041\\x42\\e"
l = [1, [2.5, true]]
d = 1979-05-27T07:32:00Z
t = 07:32
`);
  assert.deepEqual(plain, {
    i: 18446744073709551616n,
    x: 0xffffffffn,
    n: 0n,
    f: 10,
    z: -0,
    big: Infinity,
    nan: NaN,
    s: "AB\x1b",
    l: [1n, [2.5, true]],
  });
  for (const value of [d, t]) assert.ok(value instanceof Date && !isTable(value));
});

Deno.test("TOML: tables of every spelling end up where they belong", () => {
  const text = `
a.b = 1
a.c.d = 2
e = { f = 3, g.h = 4, }
[i.j]
k = 5
[i]
l = 6
[[m]]
n = 7
[m.o]
p = 8
[[m]]
[[m.q]]
r = 9
[__proto__]
constructor = 10
`;
  const told = JSON.stringify(
    valuesOf(text),
    (_, value) => typeof value === "bigint" ? Number(value) : value,
  );
  assert.equal(
    told,
    '{"a":{"b":1,"c":{"d":2}},"e":{"f":3,"g":{"h":4}},"i":{"j":{"k":5},"l":6},' +
      '"m":[{"n":7,"o":{"p":8}},{"q":[{"r":9}]}],"__proto__":{"constructor":10}}',
  );
});

/** Texts that are not TOML, and what is said of them. */
const wrong: readonly (readonly [text: string, found: string, line: number, hint?: string])[] = [
  ["a = 1\na = 2\n", "column 1 of `a = ...`: defining a key multiple times is invalid", 2],
  ["[a]\nb.c = 1\n[a.b]\nd = 2\n", "column 4 of `[a.b] ...`: defining a key multiple times is invalid", 3],
  ["a = {b = 1}\na.c = 2", "column 1: defining a key multiple times is invalid", 2],
  ["a = []\n[[a]]\nb = 1", "column 3 of `[[a]] ...`: defining a key multiple times is invalid", 2],
  ["a = 01", "column 5 of `a = ...`: leading zeros are not allowed", 1],
  ["a = 1__0", "column 7 of `a = ...`: underscores are allowed between digits", 1],
  ["a = 2026-02-30", "column 14 of `a = ...`: unexpected invalid date", 1],
  ["a = EVM", "column 5 of `a = ...`: unexpected character", 1, "text values need quotes"],
  [
    'a = "x\nb = 1',
    "column 7 of `a = ...`: unterminated string constant",
    1,
    "a closing quote may be missing",
  ],
  ['a = "x" "y"', "column 9 of `a = ...`: must be a newline", 1],
  ["a =", "column 4 of `a = ...`: unspecified values are invalid", 1],
  ["[a # b\n# c\n\nd = 1", "column 7 of `[a ...`: the line is not finished", 1],
  ["\n'a' # b\n\n[d]", "column 8: the line is not finished", 2],
  ["a = 1\rb = 2", "column 7 of `a = ...`: must be a newline", 1],
];

Deno.test("TOML: an error is reported where it was made, an unfinished line at its end", () => {
  for (const [text, found, line, hint] of wrong) {
    for (const spelt of [text, text.replaceAll("\n", "\r\n")]) {
      const document = parseToml(spelt);
      assert.ok("problem" in document, text);
      const { problem } = document;
      assert.deepEqual([problem.line, problem.found, problem.hint], [
        line,
        `a syntax error at ${found}`,
        hint,
      ]);
    }
  }
});

Deno.test("TOML: sections, keys, dotted and quoted keys, elements and inline tables have their lines", () => {
  const lineOf = locateKeys(`# one
[hub]   # [not.this]
a.b = 1
"c d" = "x # y = 3" # z = 4
'e.f' = '''
g = 1
'''
"\\u0068" = """
i = "
""""

[ hub . "sub.x" ]
list = [
  1, # [x]
  [2,
   3],
  { k = 4, l.m = 5 },
]
inline = { n = "}", o = [ "]" ] }

[[array]]
p = 1
[array.q]
r = 1
[[array]]
p = 2
`);
  const lines: readonly (readonly [KeyPath, number | undefined])[] = [
    [["hub"], 2],
    [["hub", "a"], 3],
    [["hub", "a", "b"], 3],
    [["hub", "c d"], 4],
    [["hub", "e.f"], 5],
    [["hub", "h"], 8],
    [["hub", "sub.x"], 12],
    [["hub", "sub.x", "list"], 13],
    [["hub", "sub.x", "list", 0], 14],
    [["hub", "sub.x", "list", 1], 15],
    [["hub", "sub.x", "list", 1, 1], 16],
    [["hub", "sub.x", "list", 2, "k"], 17],
    [["hub", "sub.x", "list", 2, "l", "m"], 17],
    [["hub", "sub.x", "inline", "o", 0], 19],
    [["array"], 21],
    [["array", 0, "p"], 22],
    [["array", 0, "q", "r"], 24],
    [["array", 1], 25],
    [["array", 1, "p"], 26],
    [["g"], undefined],
    [["hub", "g"], undefined],
    [["hub", "i"], undefined],
    [["not"], undefined],
    [["hub", "z"], undefined],
  ];
  for (const [path, line] of lines) assert.equal(lineOf(path), line, JSON.stringify(path));
});

Deno.test("TOML: a section implied by a longer header is found where it is first implied, or at its own header", () => {
  assert.equal(locateKeys("\n[a.b]\n")(["a"]), 2);
  assert.equal(locateKeys("\n[a.b]\n[a]\n")(["a"]), 3);
});

Deno.test("TOML: what exhausts the parser is a problem, not an exception", () => {
  const document = parseToml(`a = ${"[".repeat(20_000)}${"]".repeat(20_000)}`);
  assert.ok("problem" in document);
  assert.equal(document.problem.found, "too many levels, or too long a text");
});
