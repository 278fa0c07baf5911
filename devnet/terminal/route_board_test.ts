import assert from "node:assert/strict";
import { spreadOf } from "./route_board.ts";

Deno.test("route board: smallest, middle and largest of the times", () => {
  assert.equal(spreadOf([]), undefined);
  assert.deepEqual(spreadOf([4]), { min: 4, median: 4, max: 4 });
  assert.deepEqual(spreadOf([10, 1, 3]), { min: 1, median: 3, max: 10 });
  assert.deepEqual(spreadOf([2, 10, 1, 3]), { min: 1, median: 2.5, max: 10 });
});
