/** docs/operations/troubleshooting.md explains every reason that a message can have, and no other. */
import assert from "node:assert/strict";
import { messageReasons } from "../../src/messaging/ledger/message_state.ts";
import { readRows } from "./support/markdown.ts";
import { readFile } from "./support/tree.ts";

/** Codes in the first cells of a table. */
function readCodes(markdown: string): readonly string[] {
  return readRows(markdown).flatMap(([first = ""]) =>
    [...first.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code ?? "")
  );
}

Deno.test("reasons: troubleshooting explains every reason of a message once, and none that does not exist", async () => {
  const explained = readCodes(await readFile("docs/operations/troubleshooting.md"));
  assert.deepEqual([...explained].sort(), [...messageReasons].sort());
});

Deno.test("reasons: codes are read from first cells only", () => {
  assert.deepEqual(readCodes("| reason | x |\n| --- | --- |\n| `a_b`, `c` | `d` |\n"), ["a_b", "c"]);
});
