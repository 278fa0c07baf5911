import assert from "node:assert/strict";
import type { SubmissionOutcome } from "../../../../src/core/chains/submission.ts";
import type { Hash256 } from "../../../../src/core/encoding/bytes.ts";
import {
  judgeRefusal,
  outcomesFromEvents,
  outcomesFromReceipts,
} from "../../../../src/messaging/relay/decisions/retry_schedule.ts";

const us = new Uint8Array(20).fill(1);
const other = new Uint8Array(20).fill(2);
const id = (byte: string): Hash256 => `0x${byte.repeat(32)}`;

function included(
  handled: readonly { commitment: Hash256; relayer: Uint8Array }[],
): Extract<SubmissionOutcome, { kind: "included" }> {
  return {
    kind: "included",
    block: { height: 9n, hash: id("ff") },
    isFinal: false,
    succeeded: true,
    handled,
    refusal: undefined,
  };
}

Deno.test("outcomes: a mined transaction delivers only what the host recorded, whatever the order of its events (F15)", () => {
  const outcome = included([{ commitment: id("cc"), relayer: us }, { commitment: id("aa"), relayer: us }]);
  assert.deepEqual(outcomesFromEvents([id("aa"), id("bb"), id("cc")], outcome, us), [
    "delivered",
    "not_executed",
    "delivered",
  ]);
});

Deno.test("outcomes: an event with another commitment delivers nothing (F15)", () => {
  assert.deepEqual(outcomesFromEvents([id("aa")], included([{ commitment: id("bb"), relayer: us }]), us), [
    "not_executed",
  ]);
});

Deno.test("outcomes: receipts distinguish ours, another relayer's and none", () => {
  const outcomes = outcomesFromReceipts([us, other, undefined], us);
  assert.deepEqual(outcomes, ["delivered", "delivered_by_other", "undelivered"]);
});

Deno.test("refusals: what a chain refuses is held, ended or held for good by its reason (F18)", () => {
  const found = (code: Parameters<typeof judgeRefusal>[0], targetIsHub: boolean): string =>
    Object.values(judgeRefusal(code, targetIsHub)).join(" ");
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
