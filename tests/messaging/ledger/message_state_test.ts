import { deepEqual, equal, ok, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  isTerminal,
  mayFollow,
  type MessageState,
  messageStates,
  openMemoryLedger,
} from "../../support/ledger.ts";
import { hashOf, hub, newMessage } from "../../support/ledger_rows.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("message states: a second attempt never starts while one is unresolved", () => {
  equal(mayFollow("submitted", "submitted"), false);
  for (const state of messageStates) equal(mayFollow(state, "submitted"), state === "ready", state);
});

Deno.test("message states: nothing ends what has timed out or is gone, and nothing reopens it", () => {
  for (const to of messageStates) {
    for (const from of ["timed_out", "gone"] as const) equal(mayFollow(from, to), false);
  }
});

Deno.test("message states: every state can be reached, and an end can be reached from every open one", () => {
  const reached = reach(["seen"]);
  deepEqual([...reached].sort(), [...messageStates].sort());
  for (const state of messageStates.filter((one) => !isTerminal(one))) {
    ok(
      ["delivered", "delivered_by_other", "timed_out", "rejected", "gone"].every((end) =>
        reach([state]).has(end)
      ),
    );
  }
});

function reach(from: readonly MessageState[]): Set<string> {
  const reached = new Set<MessageState>(from);
  for (const state of reached) {
    for (const to of messageStates) if (mayFollow(state, to)) reached.add(to);
  }
  return reached;
}

Deno.test("message states: any series of changes leaves the row where the automaton says", () => {
  const clock = new FakeClock();
  const ledger = openMemoryLedger({ clock });
  let number = 0;
  fc.assert(fc.property(fc.array(fc.constantFrom(...messageStates), { maxLength: 12 }), (wishes) => {
    const commitment = hashOf(++number);
    ledger.messages.record(newMessage(number));
    let expected: MessageState = "seen";
    for (const to of wishes) {
      if (mayFollow(expected, to)) {
        ledger.messages.transition(commitment, hub, { to });
        expected = to;
      } else {
        throws(() => ledger.messages.transition(commitment, hub, { to }), /Illegal change/);
      }
      equal(ledger.messages.find(commitment, hub)?.state, expected);
    }
  }));
  const counted = ledger.messages.countByState().reduce((sum, { count }) => sum + count, 0);
  equal(counted, number);
  ledger.close();
});
