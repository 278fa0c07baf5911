import assert from "node:assert/strict";
import { newerHeights, planRotations } from "../../../src/core/hub_proofs/proof_loader.ts";
import type { AcceptedProofIndex } from "../../../src/core/chains/hub.ts";

const listed = (
  sets: readonly (readonly [bigint, bigint])[],
  messaging: readonly bigint[] = [],
): AcceptedProofIndex => ({
  rotations: new Map(sets),
  messaging,
});

Deno.test("hub proofs: rotations above the chain's set are planned in order of sets", () => {
  assert.deepEqual(planRotations(listed([[5n, 50n], [3n, 30n], [4n, 40n], [2n, 20n]]), 2n), {
    kind: "rotations",
    steps: [{ height: 30n, newSetId: 3n }, { height: 40n, newSetId: 4n }, { height: 50n, newSetId: 5n }],
  });
});

Deno.test("hub proofs: a chain that knows the newest set needs no rotation, also when it is ahead of this node", () => {
  for (const setId of [3n, 9n]) {
    assert.deepEqual(planRotations(listed([[2n, 20n], [3n, 30n]]), setId), { kind: "rotations", steps: [] });
  }
});

Deno.test("hub proofs: a missing rotation is a gap, at the start and in between", () => {
  assert.deepEqual(planRotations(listed([[4n, 40n]]), 2n), { kind: "gap", missing: 3n });
  assert.deepEqual(planRotations(listed([[3n, 30n], [5n, 50n]]), 2n), { kind: "gap", missing: 4n });
});

Deno.test("hub proofs: heights above the known one come newest first, and no more than are worth trying", () => {
  const index = listed([], Array.from({ length: 20 }, (_, at) => BigInt(at)));
  assert.deepEqual(newerHeights(index, 16n), [19n, 18n, 17n]);
  assert.deepEqual(newerHeights(index, 19n), []);
  assert.equal(newerHeights(index, 0n).length, 8);
});
