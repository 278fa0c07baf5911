import assert from "node:assert/strict";
import fc from "fast-check";
import { packGroups } from "../../../../src/messaging/relay/deliver/deliver.ts";

/** Packs numbers of bytes into batches of one group. */
function pack(bytes: readonly number[], maxCount: number, maxBytes = 100): readonly (readonly number[])[] {
  const groupOf = () => ({ name: "", isLast: false });
  return packGroups(bytes, { bytesOf: (item) => item, groupOf }, { maxCount, maxBytes });
}

for (
  const [count, sizes] of [[1, [1]], [99, [99]], [100, [100]], [101, [100, 1]], [201, [100, 100, 1]]] as const
) {
  Deno.test(`pack: ${count} messages of a step of 100 give batches of ${sizes.join(" and ")} (F13)`, () => {
    const batches = pack(Array.from({ length: count }, () => 10), 100, 100_000);
    assert.deepEqual(batches.map((batch) => batch.length), sizes);
  });
}

Deno.test("pack: a batch is closed before its bytes exceed the limit (F13)", () => {
  assert.deepEqual(pack([40, 40, 40, 10], 100), [[40, 40], [40, 10]]);
});

Deno.test("pack: while no message may go, as right after a lost race, there is no batch", () => {
  assert.deepEqual(pack([40, 60], 0), []);
});

Deno.test("pack: nothing is lost, repeated or reordered", () => {
  fc.assert(fc.property(
    fc.array(fc.integer({ min: 1, max: 100 })),
    fc.integer({ min: 1, max: 7 }),
    (bytes, maxCount) => {
      const batches = pack(bytes, maxCount);
      assert.deepEqual(batches.flat(), bytes);
      assert.ok(batches.every((batch) => batch.length > 0 && batch.length <= maxCount));
    },
  ));
});

Deno.test("pack: what may only go in small batches goes apart from the rest, in the order of the first ones", () => {
  const items = [
    { id: 1, limit: 2 },
    { id: 2 },
    { id: 3, limit: 2 },
    { id: 4, limit: 1 },
    { id: 5, limit: 2 },
    { id: 6 },
    { id: 8, pair: "a" },
    { id: 9, pair: "b" },
    { id: 10, pair: "a" },
    { id: 11, kind: "response" },
  ];
  const batches = packGroups(items, {
    bytesOf: () => 1,
    groupOf: ({ limit, kind, pair }) => ({
      name: `${limit} ${kind} ${pair}`,
      maxCount: limit,
      isLast: limit === 1 || pair !== undefined,
    }),
  }, { maxCount: 100, maxBytes: 100 });
  assert.deepEqual(batches.map((batch) => batch.map(({ id }) => id)), [
    [1, 3],
    [2, 6],
    [5],
    [11],
    [4],
    [8, 10],
    [9],
  ]);
});
