import assert from "node:assert/strict";
import { readSendLine } from "./send_lines.ts";

const chains = ["A", "B"];

Deno.test("send lines: from, to and how many, in any letter case", () => {
  assert.deepEqual(readSendLine("A B 5", chains), { from: "A", to: "B", count: 5, fee: 0n });
  assert.deepEqual(readSendLine("A B 2 0.5", chains), { from: "A", to: "B", count: 2, fee: 5n * 10n ** 17n });
  assert.deepEqual(readSendLine("  b   HUB ", chains), { from: "B", to: "hub", count: 1, fee: 0n });
  assert.equal(readSendLine("   ", chains), undefined);
});

Deno.test("send lines: a host is frozen and unfrozen by the name of its chain", () => {
  assert.deepEqual(readSendLine("Freeze b", chains), { chain: "B", isFrozen: true });
  assert.deepEqual(readSendLine("unfreeze A", chains), { chain: "A", isFrozen: false });
});

Deno.test("send lines: what is not understood is answered with how to write it", () => {
  for (const line of ["A", "A C", "hub A", "A B 5 6 7", "freeze", "freeze hub", "nonsense"]) {
    assert.match(String(readSendLine(line, chains)), /type `A B 5`/);
  }
  assert.match(String(readSendLine("A B 5 much", chains)), /^Fee: /);
  for (const line of ["A B 0", "A B 1.5", "A B x", "A B 1001"]) {
    assert.match(String(readSendLine(line, chains)), /from 1 to 1000/);
  }
});
