import assert from "node:assert/strict";
import { measuresOfRollups, type RollupCost } from "./rollups.ts";

function cost(rollups: number, each: number): RollupCost {
  return { rollups, l1Requests: each, l1Calls: each, hubRequests: each, hubCalls: each, cpuMs: each };
}

Deno.test("bench, rollups: what many cost beside one is told for each, and has to fall", () => {
  const reached = measuresOfRollups("op_stack", [cost(1, 8), cost(4, 4), cost(16, 1)]);
  assert.equal(reached[0]?.value, "8.0 (8.0) / 4.0 (4.0) / 1.0 (1.0)");
  assert.ok(reached.every(({ aim }) => aim?.isReached ?? true));
  const flat = measuresOfRollups("op_stack", [cost(1, 8), cost(16, 8)]);
  const missed = flat.filter(({ aim }) => aim?.isReached === false).map(({ name }) => name);
  assert.deepEqual(missed, [
    "op_stack, 16 rollups beside 1: requests to the L1 per update and chain",
    "op_stack, 16 rollups beside 1: calls to the L1 per update and chain",
    "op_stack, 16 rollups beside 1: requests to the hub per update and chain",
  ]);
  assert.deepEqual(measuresOfRollups("op_stack", []), []);
});
