import assert from "node:assert/strict";
import {
  type ChallengeRule,
  isMatured,
  newestMatured,
  rememberHeights,
} from "../../../src/core/chains/matured_heights.ts";

const rule = (changes: Partial<ChallengeRule> = {}): ChallengeRule => ({
  nowSec: 1_000n,
  challengePeriodSec: 100n,
  comparison: "strict",
  ...changes,
});

Deno.test("isMatured: a Substrate host wants the period exceeded, an EVM host wants it reached", () => {
  assert.equal(isMatured(900n, rule()), false);
  assert.equal(isMatured(899n, rule()), true);
  assert.equal(isMatured(900n, rule({ comparison: "reached" })), true);
  assert.equal(isMatured(901n, rule({ comparison: "reached" })), false);
});

Deno.test("isMatured: without a challenge period everything is mature at once", () => {
  assert.equal(isMatured(1_000n, rule({ challengePeriodSec: 0n })), true);
  assert.equal(isMatured(1_005n, rule({ challengePeriodSec: 0n })), true);
});

const stored = [
  { height: 10n, updatedAtSec: 700n },
  { height: 20n, updatedAtSec: 880n },
  { height: 30n, updatedAtSec: 950n },
];

Deno.test("newestMatured: the newest height whose period is over, in any order", () => {
  assert.equal(newestMatured([...stored].reverse(), rule()), 20n);
  assert.equal(newestMatured(stored, rule({ nowSec: 750n })), undefined);
});

Deno.test("rememberHeights: keeps the newest matured height and all younger ones", () => {
  assert.deepEqual(rememberHeights(stored, 30n, rule()).map(({ height }) => height), [20n, 30n]);
});

Deno.test("rememberHeights: heights above a veto are forgotten", () => {
  assert.deepEqual(rememberHeights(stored, 20n, rule({ nowSec: 850n })).map(({ height }) => height), [
    10n,
    20n,
  ]);
});
