import assert from "node:assert/strict";
import { toHash256 } from "../../../../../src/core/encoding/bytes.ts";
import { DEFAULT_TRUST } from "../../../../../src/consensus/clients/polygon/spec/update.ts";
import {
  planPolygonUpdate,
  type PolygonPlan,
  type PolygonPlanInput,
} from "../../../../../src/consensus/clients/polygon/find_update.ts";

const known = toHash256(new Uint8Array(32).fill(1));
const other = toHash256(new Uint8Array(32).fill(2));

function plan(change: Partial<PolygonPlanInput>): PolygonPlan {
  const heimdall = {
    chainId: "heimdallv2-137",
    height: 50n,
    timestampSec: 1_000n,
    finalizedHeaderHash: known,
    validators: [],
    nextValidators: [],
    nextValidatorsHash: known,
    trustingPeriodSec: 400n,
    options: DEFAULT_TRUST,
  };
  const state = { heimdall, finalizedBlock: 900n, finalizedHash: known, chainId: 137 };
  const usual = { head: { height: 60n, validatorsHash: known }, milestoneEnd: 901n, nowSec: 1_010n };
  return planPolygonUpdate(state, { ...usual, ...change });
}

const cases: readonly (readonly [string, Partial<PolygonPlanInput>, PolygonPlan])[] = [
  ["a new milestone", {}, { action: "advance", withMilestone: true }],
  ["a known milestone", { milestoneEnd: 900n }, { action: "wait", reason: "no_new_milestone" }],
  ["no milestone", { milestoneEnd: undefined }, { action: "wait", reason: "no_new_milestone" }],
  ["a known milestone, and a header of a quarter of the trusting period", {
    milestoneEnd: 900n,
    nowSec: 1_100n,
  }, { action: "advance", withMilestone: false }],
  ["the known block", { head: { height: 50n, validatorsHash: known } }, {
    action: "wait",
    reason: "no_new_block",
  }],
  ["an older block", { head: { height: 49n, validatorsHash: other } }, {
    action: "wait",
    reason: "no_new_block",
  }],
  ["other validators", { head: { height: 60n, validatorsHash: other } }, { action: "catch_up" }],
];

for (const [what, change, expected] of cases) {
  Deno.test(`Polygon plan for ${what}`, () => {
    assert.deepEqual(plan(change), expected);
  });
}
