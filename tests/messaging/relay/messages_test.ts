import assert from "node:assert/strict";
import { endAll, transition } from "../../../src/messaging/relay/messages.ts";
import { inbound, round } from "./rounds.ts";
import { names, setUp } from "./fixture.ts";

Deno.test("message line: a change names leg, states, reason and dollars once, as a warning only where it needs an operator", async () => {
  const { fixture, relayer } = setUp();
  const [message = fixture.message()] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await round(relayer, inbound(relayer));
  relayer.log.lines.length = 0;
  const hold = (reason: "unprofitable" | "too_large" | "poison"): void => {
    const row = relayer.row(message, names.hub);
    transition(relayer.deps, row, { to: "held", reason, requiredUsd18: 15n * 10n ** 17n, offeredUsd18: 1n });
  };
  for (const reason of ["unprofitable", "unprofitable", "too_large", "poison"] as const) hold(reason);
  const lines = relayer.log.linesOf("message_changed.held");
  assert.deepEqual(lines.map(({ level }) => level), ["debug", "warn", "warn"]);
  assert.deepEqual(lines[0]?.fields, {
    leg: "EVM-1 -> KUSAMA-4009",
    commitment: message.commitment,
    from: "submitted",
    to: "held",
    reason: "unprofitable",
    detail: undefined,
    transaction: undefined,
    requiredUsd: "1.5",
    offeredUsd: "0.000000000000000001",
  });
});

Deno.test("message line: messages that end together are one line at info, with all their hashes", async () => {
  const { fixture, relayer } = setUp();
  const messages = await fixture.sendFrom(fixture.one, fixture.hub, 2);
  await round(relayer, inbound(relayer));
  const rows = messages.map((message) => relayer.row(message, names.hub));
  relayer.ledger.transaction(() => endAll(relayer.deps, [], { to: "delivered" }));
  relayer.ledger.transaction(() => endAll(relayer.deps, rows, { to: "delivered", hash: "0xab" }));
  const [line, ...others] = relayer.log.linesOf("messages_settled.delivered");
  const commitments = messages.map(({ commitment }) => commitment);
  assert.deepEqual([line?.level, line?.fields, others], [
    "info",
    { leg: "EVM-1 -> KUSAMA-4009", messages: 2, transaction: "0xab", commitments },
    [],
  ]);
});
