import { equal } from "node:assert/strict";
import { formatData, formatList } from "../../../src/core/commands/plain_text.ts";

Deno.test("plain text: single values are aligned under the names of their members, units and times as people write them", () => {
  const data = {
    commitment: "0x12",
    gasPriceGwei: "5",
    costUsd: "1.5",
    foundAt: "2026-01-02T03:04:05.678Z",
    isFinal: false,
    reason: undefined,
    detail: null,
    missed: [],
    sets: ["7", "8"],
    text: "no\n\u001b[2Jline",
  };
  equal(
    formatData(data),
    [
      "commitment       0x12",
      "gas price gwei   5",
      "cost $           1.5",
      "found at         2026-01-02 03:04:05Z",
      "is final         no",
      "sets             7, 8",
      "text             no\\u000a\\u001b[2Jline",
    ].join("\n"),
  );
});

Deno.test("plain text: lists are tables without empty columns, or blocks where the items are large, and lie below single values", () => {
  const changes = [{ at: "1", reason: undefined, detail: "a" }, { at: "22" }];
  const nested = { changes, next: "wait", delivery: { block: "5" } };
  const text = ["next   wait", "changes", "  at   detail", "   1   a", "  22", "delivery", "  block   5"]
    .join("\n");
  equal(formatData(nested), text);
  equal(formatList([nested, nested]), `${text}\n\n${text}`);
  const wide = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8 };
  equal(formatList([wide]), formatData(wide));
});
