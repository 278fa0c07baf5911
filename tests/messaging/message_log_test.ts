import { deepEqual, equal, notEqual } from "node:assert/strict";
import { messageReasons, messageStates } from "../../src/messaging/ledger/ledger.ts";
import { logTransition, transitionLevel } from "../../src/messaging/message_log.ts";
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
    level: "info",
    event: "message_held",
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

Deno.test("message line: what was sent and delivered is info, what waits is debug", () => {
  for (const to of ["submitted", "delivered", "delivered_by_other"] as const) {
    equal(transitionLevel({ to }), "info");
  }
  for (const reason of ["race", "not_final", "challenge_period", "waiting_for_update", "fee_unknown"]) {
    equal(transitionLevel({ to: "held", reason }), "debug");
  }
  for (const to of ["seen", "ready"] as const) equal(transitionLevel({ to }), "debug");
});

Deno.test("message line: no state and no reason makes an error line", () => {
  for (const to of messageStates) {
    for (const reason of messageReasons) notEqual(transitionLevel({ to, reason }), "error");
  }
});
