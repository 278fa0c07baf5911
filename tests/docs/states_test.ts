/** The diagram of docs/architecture/messaging.md has exactly the transitions of a message that the code allows. */
import assert from "node:assert/strict";
import { mayFollow, messageStates } from "../../src/core/ledger/message_state.ts";
import { readBlocks } from "./support/markdown.ts";
import { readFile } from "./support/tree.ts";

/** Transitions (`from to`) of a Mermaid state diagram; an arrow from or to a group stands for each of its members. */
function readTransitions(diagram: string): readonly string[] {
  const groups = new Map<string, readonly string[]>();
  const flat = diagram.replace(/state (\w+) \{([^}]*)\}/g, (_, name: string, body: string) => {
    groups.set(name, body.trim().split(/\s+/));
    return "";
  });
  const members = (name: string): readonly string[] => groups.get(name) ?? [name];
  const arrows = [...flat.matchAll(/(\w+) --> (\w+)/g)];
  return arrows.flatMap(([, from = "", to = ""]) =>
    members(from).flatMap((one) => members(to).map((other) => `${one} ${other}`))
  ).sort();
}

Deno.test("states: the diagram of a message has the transitions of the code, and no other", async () => {
  const blocks = readBlocks(await readFile("docs/architecture/messaging.md"));
  const diagram = blocks.find(({ heading }) => heading === "States of a message");
  const allowed = messageStates.flatMap((from) =>
    messageStates.filter((to) => mayFollow(from, to)).map((to) => `${from} ${to}`)
  );
  assert.deepEqual(readTransitions(diagram?.text ?? ""), allowed.sort());
});

Deno.test("states: arrows of groups stand for their members", () => {
  const diagram =
    "stateDiagram-v2\n  state open {\n    a\n    b\n  }\n  [*] --> a\n  open --> c\n  a --> a\n";
  assert.deepEqual(readTransitions(diagram), ["a a", "a c", "b c"]);
});
