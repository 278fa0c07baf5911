import assert from "node:assert/strict";
import { formatDuration, formatTable, shownTime } from "../../../src/core/runtime/text_table.ts";

Deno.test("text table: columns are as wide as their widest cell, numbers end at the same place", () => {
  const rows = [["name", "count"], ["a", "1"], ["longer", "1000"], ["none", undefined]];
  assert.equal(
    formatTable(rows),
    "name     count\na            1\nlonger    1000\nnone",
  );
});

Deno.test("text table: foreign text cannot move the cursor, change the direction or begin a line", () => {
  const hostile = "ok\x1b[2J\r\n\u202Efake\u2028\u0007\u{e0041}";
  const shown = "ok\\u001b[2J\\u000d\\u000a\\u202efake\\u2028\\u0007\\udb40\\udc41";
  assert.equal(formatTable([["x", hostile]]), `x   ${shown}`);
});

Deno.test("text table: times are shown to the second", () => {
  assert.equal(shownTime("2026-01-31T12:00:05.123Z"), "2026-01-31 12:00:05Z");
  assert.equal(shownTime(undefined), undefined);
});

Deno.test("text table: durations are said in one unit", () => {
  const cases: readonly (readonly [number, string])[] = [
    [-5, "0 s"],
    [119, "119 s"],
    [120, "2 min"],
    [7_199, "120 min"],
    [7_200, "2 h"],
    [86_400 * 12.7, "13 d"],
  ];
  for (const [sec, text] of cases) assert.equal(formatDuration(sec * 1_000), text);
});
