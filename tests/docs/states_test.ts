/** The diagrams of docs/architecture have exactly the transitions that the code allows. */
import assert from "node:assert/strict";
import { toHash256 } from "../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { mayFollow, messageStates } from "../../src/messaging/ledger/message_state.ts";
import { openWithdrawalStates, type WithdrawalState } from "../../src/messaging/ledger/withdrawals.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { openMemoryLedger } from "../support/ledger.ts";
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

/** The shortest way to each state of a withdrawal. */
const ways: Readonly<Record<WithdrawalState, readonly WithdrawalState[]>> = {
  requested: [],
  dispatched: ["dispatched"],
  done: ["dispatched", "done"],
  void: ["void"],
};
const withdrawalStates: readonly WithdrawalState[] = [...openWithdrawalStates, "done", "void"];

/** True when a withdrawal in state `from` may be written as `to`. */
function mayChange(from: WithdrawalState, to: WithdrawalState): boolean {
  const ledger = openMemoryLedger({ clock: new FakeClock() });
  const id = ledger.withdrawals.record({
    chain: parseStateMachine("EVM-1"),
    address: new Uint8Array(20),
    nonce: 0n,
    beneficiary: undefined,
    amount: 1n,
    hubBlock: 1n,
    state: "requested",
  });
  const dispatch = { commitment: toHash256(new Uint8Array(32)), encoded: new Uint8Array(1), hubBlock: 2n };
  for (const state of ways[from]) {
    ledger.withdrawals.update(id, state === "dispatched" ? { state, dispatch } : { state });
  }
  try {
    ledger.withdrawals.update(id, { state: to, dispatch });
    return true;
  } catch (error) {
    assert.match(String(error), /Illegal change of withdrawal/);
    return false;
  } finally {
    ledger.close();
  }
}

Deno.test("states: the diagram of a withdrawal has the changes that the database takes, and no other", async () => {
  const blocks = readBlocks(await readFile("docs/architecture/ledger.md"));
  const diagram = blocks.find(({ heading }) => heading === "States of a withdrawal");
  const allowed = withdrawalStates.flatMap((from) =>
    withdrawalStates.filter((to) => mayChange(from, to)).map((to) => `${from} ${to}`)
  );
  assert.deepEqual(readTransitions(diagram?.text ?? ""), allowed.sort());
});

Deno.test("states: arrows of groups stand for their members", () => {
  const diagram =
    "stateDiagram-v2\n  state open {\n    a\n    b\n  }\n  [*] --> a\n  open --> c\n  a --> a\n";
  assert.deepEqual(readTransitions(diagram), ["a a", "a c", "b c"]);
});
