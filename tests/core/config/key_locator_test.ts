import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "smol-toml";
import { locateKeys } from "../../../src/core/config/key_locator.ts";
import type { KeyPath } from "../../../src/core/config/problem.ts";

Deno.test("key locator: sections, keys, dotted and quoted keys, elements and inline tables have their lines", () => {
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

Deno.test("key locator: a section implied by a longer header is found where it is first implied, or at its own header", () => {
  assert.equal(locateKeys("\n[a.b]\n")(["a"]), 2);
  assert.equal(locateKeys("\n[a.b]\n[a]\n")(["a"]), 3);
});

Deno.test("key locator: text that is not TOML ends the walk without wrong lines", () => {
  const lineOf = locateKeys('a = 1\nb = "\nc = 2\n');
  assert.equal(lineOf(["a"]), 1);
  assert.equal(lineOf(["c"]), undefined);
});

const name = fc.constantFrom("a", "b-c", "D_1", "e f", "g.h", 'q"', "#", "[x]", "=", "ü", "__proto__");
const scalar = fc.constantFrom(
  "1",
  "-2.5e3",
  "true",
  "1979-05-27T07:32:00Z",
  "''",
  '"#]}="',
  '"\\""',
  "'''\n]\n'''",
  '"""\n[x]\n\\""""',
);

interface Written {
  readonly toml: string;
  readonly lines: ReadonlyMap<string, number>;
}

/** Writes a document of sections whose keys have known lines. */
function write(
  sections: readonly (readonly [string, readonly (readonly [string, string, number])[]])[],
): Written {
  const lines = new Map<string, number>();
  let toml = "";
  const here = (): number => toml.split("\n").length;
  const usedSections = new Set<string>();
  for (const [section, pairs] of sections) {
    if (usedSections.has(section)) continue;
    usedSections.add(section);
    toml += "# [comment] = 1\n";
    lines.set(JSON.stringify([section]), here());
    toml += `[${JSON.stringify(section)}]\n`;
    const used = new Set<string>();
    for (const [key, value, repeats] of pairs) {
      if (used.has(key)) continue;
      used.add(key);
      lines.set(JSON.stringify([section, key]), here());
      toml += `${JSON.stringify(key)} = [`;
      for (let index = 0; index < repeats; index++) {
        if (index % 2 === 1) toml += " # ]\n";
        lines.set(JSON.stringify([section, key, index]), here());
        toml += `${value}, `;
      }
      toml += "]\n";
    }
  }
  return { toml, lines };
}

Deno.test("key locator: every key of a written document is found on the line where it was written", () => {
  const pair = fc.tuple(name, scalar, fc.nat(4));
  fc.assert(fc.property(fc.array(fc.tuple(name, fc.array(pair))), (sections) => {
    const { toml, lines } = write(sections);
    parse(toml);
    const lineOf = locateKeys(toml);
    for (const [path, line] of lines) assert.equal(lineOf(JSON.parse(path)), line, `${path} in\n${toml}`);
  }));
});
