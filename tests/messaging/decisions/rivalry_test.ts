import assert from "node:assert/strict";
import {
  afterSighting,
  afterWin,
  deferenceMs,
  inFlightLimit,
  MOST_IN_FLIGHT,
  NO_RIVALRY,
  recall,
  type Rivalry,
} from "../../../src/messaging/decisions/rivalry.ts";

const us = new Uint8Array(20).fill(1);
const them = new Uint8Array(20).fill(2);
const lost = (by: Uint8Array, from: Rivalry = NO_RIVALRY): Rivalry =>
  afterSighting(from, { relayers: [by], nowMs: 1_000, isLoss: true });
const facts = (ourself: Uint8Array, height = 5n): Parameters<typeof deferenceMs>[1] => ({
  height,
  ourself,
  pollIntervalMs: 1_000,
});

Deno.test("rivalry: the first transaction goes alone, many may follow it, and one while others are seen", () => {
  const limits = [];
  let rivalry = NO_RIVALRY;
  for (let win = 0; win < MOST_IN_FLIGHT + 2; win++) {
    limits.push(inFlightLimit(rivalry));
    rivalry = afterWin(rivalry);
  }
  assert.deepEqual(limits.slice(0, 4), [1, 8, 8, 8]);
  assert.deepEqual(new Set(limits.slice(1)), new Set([MOST_IN_FLIGHT]));
  assert.equal(inFlightLimit(afterSighting(rivalry, { relayers: [them], nowMs: 1, isLoss: false })), 1);
});

Deno.test("rivalry: only who has lost a race leaves messages to others", () => {
  assert.equal(deferenceMs(NO_RIVALRY, facts(us)), 0);
  const seen = afterSighting(NO_RIVALRY, { relayers: [them], nowMs: 1, isLoss: false });
  assert.equal(deferenceMs(seen, facts(us)), 0);
  assert.ok(deferenceMs(lost(them), facts(us)) >= 30_000);
});

Deno.test("rivalry: when both have lost, exactly one of them goes first, and it is not always the same", () => {
  const firsts = new Set<string>();
  for (let height = 0n; height < 20n; height++) {
    const ours = deferenceMs(lost(them), facts(us, height));
    const theirs = deferenceMs(lost(us), facts(them, height));
    assert.ok(Math.abs(ours - theirs) >= 30_000, `at ${height}: ${ours} and ${theirs}`);
    firsts.add(ours < theirs ? "we" : "they");
  }
  assert.equal(firsts.size, 2);
});

Deno.test("rivalry: others that are not seen for an hour are forgotten", () => {
  const rivalry = lost(them);
  assert.deepEqual(recall(rivalry, 1_000 + 3_600_000), rivalry);
  assert.deepEqual(recall(rivalry, 1_001 + 3_600_000), NO_RIVALRY);
});

Deno.test("rivalry: addresses are remembered once each, and only the latest eight", () => {
  let rivalry = lost(them, lost(them));
  assert.equal(rivalry.rivals.length, 1);
  for (let number = 10; number < 30; number++) rivalry = lost(new Uint8Array(20).fill(number), rivalry);
  assert.equal(rivalry.rivals.length, 8);
  assert.match(rivalry.rivals.at(-1) ?? "", /^0x(1d)+$/);
});
