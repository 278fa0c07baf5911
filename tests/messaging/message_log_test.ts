import { deepEqual, equal, notEqual } from "node:assert/strict";
import { messageReasons, messageStates } from "../../src/messaging/ledger/ledger.ts";
import { logSettled, logTransition, transitionLevel } from "../../src/messaging/message_log.ts";
import { hashOf } from "../support/ledger_rows.ts";
import { RecordedLog } from "../support/recorded_log.ts";

Deno.test("message line: names commitment, leg, both states and the reason, once", () => {
  const log = new RecordedLog();
  logTransition(log, {
    commitment: hashOf(1),
    source: "EVM-1",
    target: "POLKADOT-3367",
    from: "ready",
    to: "held",
    reason: "unprofitable",
    requiredUsd18: 1_500_000_000_000_000_000n,
    offeredUsd18: 10n ** 18n,
  });
  deepEqual(log.lines, [{
    level: "debug",
    event: "message_changed.held",
    fields: {
      leg: "EVM-1 -> POLKADOT-3367",
      commitment: hashOf(1),
      from: "ready",
      to: "held",
      reason: "unprofitable",
      requiredUsd: "1.5",
      offeredUsd: "1",
    },
  }]);
});

Deno.test("message line: transitions are debug, unless they need an operator", () => {
  for (const to of ["ready", "submitted", "delivered", "delivered_by_other"] as const) {
    equal(transitionLevel({ to }), "debug");
  }
  for (const reason of ["race", "unprofitable"]) equal(transitionLevel({ to: "held", reason }), "debug");
  for (const reason of ["too_large", "poison"]) equal(transitionLevel({ to: "held", reason }), "warn");
});

Deno.test("message line: messages that end together are one line at info, with all their hashes", () => {
  const log = new RecordedLog();
  const messages = [1, 2].map((at) => ({ commitment: hashOf(at), source: "EVM-1", target: "EVM-2" }));
  logSettled(log, "delivered", [], "0xab");
  logSettled(log, "delivered", messages, "0xab");
  deepEqual(log.lines, [{
    level: "info",
    event: "messages_settled.delivered",
    fields: { leg: "EVM-1 -> EVM-2", messages: 2, transaction: "0xab", commitments: [hashOf(1), hashOf(2)] },
  }]);
});

Deno.test("message line: no state and no reason makes an error line", () => {
  for (const to of messageStates) {
    for (const reason of messageReasons) notEqual(transitionLevel({ to, reason }), "error");
  }
});
