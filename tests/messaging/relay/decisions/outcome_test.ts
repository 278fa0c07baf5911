import assert from "node:assert/strict";
import {
  isRevertOfChain,
  judgeRecorded,
  judgeRefused,
} from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { names } from "../fixture.ts";

Deno.test("outcomes: what the host recorded distinguishes our delivery, another relayer's and none (F15)", () => {
  const [us, other] = [1, 2].map((byte) => new Uint8Array(20).fill(byte));
  assert.ok(us !== undefined);
  const outcomes = [us, other, undefined].map((relayer) => judgeRecorded(relayer, us, "not_executed"));
  assert.deepEqual(outcomes, ["delivered", "delivered_by_other", "not_executed"]);
});

Deno.test("refusals: what a chain refuses is held, ended or held for good by its reason (F18)", () => {
  const found = (code: Parameters<typeof judgeRefused>[1]["code"], targetIsHub: boolean): string => {
    const target = { id: { stateMachine: targetIsHub ? names.hub : names.one } };
    return Object.values(judgeRefused({ settings: names, target }, { code, detail: "" })).join(" ").trim();
  };
  assert.equal(found("timed_out", true), "too_close_to_timeout transient");
  assert.equal(found("bad_destination", false), "bad_destination rejected");
  assert.equal(found("too_large", false), "too_large held");
  assert.equal(found("untraceable", false), "untraceable slow");
  assert.equal(found("insufficient_funds", false), "unfunded unfunded");
  for (const code of ["no_bandwidth", "blocked_sender"] as const) {
    assert.equal(found(code, true), `${code} hub_refused`);
  }
  for (const code of ["not_executed", "module_failed", "unspecified"] as const) {
    assert.deepEqual([found(code, false), found(code, true)], [
      "simulation_failed failed",
      "hub_refused hub_refused",
    ]);
  }
  for (const code of ["duplicate", "not_ready", "host_frozen", "handler_replaced", "bad_proof"] as const) {
    assert.match(found(code, false), / transient$/);
  }
});

Deno.test("outcomes: a revert that concerns the chain blames no message", () => {
  const codes = ["host_frozen", "handler_replaced", "bad_proof", "unspecified", undefined] as const;
  assert.deepEqual(codes.map(isRevertOfChain), [true, true, true, false, false]);
});
