import assert from "node:assert/strict";
import { partsOf } from "../../../src/core/runtime/slices.ts";

Deno.test("parts: a list is cut in order, and the last part holds what is left", () => {
  assert.deepEqual(partsOf([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
  assert.deepEqual(partsOf([1, 2], 2), [[1, 2]]);
  assert.deepEqual(partsOf([], 2), []);
});
