import assert from "node:assert/strict";
import fc from "fast-check";
import { newestProof, planRotations } from "../../../src/core/chains/rotation_plan.ts";

const proof = (height: bigint, newSetId?: bigint): Parameters<typeof newestProof>[0][number] => ({
  height,
  newSetId,
  atBlock: height + 3n,
});

const rotations = (...sets: [bigint, bigint][]): ReadonlyMap<bigint, bigint> => new Map(sets);

Deno.test("bundles: the newest proof above the known height is chosen, whatever the order", () => {
  const proofs = [proof(7n), proof(12n), proof(9n)];
  assert.equal(newestProof(proofs, 5n)?.height, 12n);
  assert.equal(newestProof(proofs, 11n)?.height, 12n);
});

Deno.test("bundles: a proof of the known height or below is none", () => {
  assert.equal(newestProof([proof(7n), proof(12n)], 12n), undefined);
  assert.equal(newestProof([], 0n), undefined);
});

Deno.test("bundles: rotations above the chain's set and up to the newest proof are planned in order of sets", () => {
  const kept = rotations([5n, 50n], [3n, 30n], [4n, 40n], [2n, 20n]);
  assert.deepEqual(planRotations(kept, { setId: 2n, newest: { height: 45n } }), {
    kind: "rotations",
    steps: [{ height: 30n, newSetId: 3n }, { height: 40n, newSetId: 4n }],
  });
});

Deno.test("bundles: a rotation that is the newest proof itself is planned", () => {
  const plan = planRotations(rotations([3n, 30n]), { setId: 2n, newest: { height: 30n } });
  assert.deepEqual(plan, { kind: "rotations", steps: [{ height: 30n, newSetId: 3n }] });
});

Deno.test("bundles: without a newest proof every rotation that is not taken is planned", () => {
  const plan = planRotations(rotations([2n, 20n], [3n, 30n]), { setId: 1n, newest: undefined });
  assert.equal(plan.kind === "rotations" && plan.steps.length, 2);
});

Deno.test("bundles: a chain that knows the newest set needs nothing, also when it is ahead of this node", () => {
  for (const setId of [3n, 9n]) {
    const plan = planRotations(rotations([2n, 20n], [3n, 30n]), { setId, newest: { height: 99n } });
    assert.deepEqual(plan, { kind: "rotations", steps: [] });
  }
});

Deno.test("bundles: a missing rotation is a gap, at the start and in between", () => {
  const newest = { height: 99n };
  assert.deepEqual(planRotations(rotations([4n, 40n]), { setId: 2n, newest }), { kind: "gap", missing: 3n });
  const holed = rotations([3n, 30n], [5n, 50n]);
  assert.deepEqual(planRotations(holed, { setId: 2n, newest }), { kind: "gap", missing: 4n });
});

Deno.test("bundles: a plan is an unbroken chain of sets, or it is a gap", () => {
  fc.assert(fc.property(
    fc.uniqueArray(fc.bigInt(0n, 12n)),
    fc.bigInt(0n, 12n),
    fc.bigInt(0n, 130n),
    (sets, setId, height) => {
      const kept = new Map(sets.map((set) => [set, set * 10n]));
      const plan = planRotations(kept, { setId, newest: { height } });
      const wanted = sets.filter((set) => set > setId && set * 10n <= height);
      if (plan.kind === "gap") {
        assert.ok(!kept.has(plan.missing) && wanted.some((set) => set > plan.missing));
        return;
      }
      const expected = wanted.map((_, index) => setId + BigInt(index) + 1n);
      assert.deepEqual(plan.steps.map(({ newSetId }) => newSetId), expected);
    },
  ));
});
