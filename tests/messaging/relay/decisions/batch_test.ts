import assert from "node:assert/strict";
import fc from "fast-check";
import { pack, packGroups } from "../../../../src/messaging/relay/deliver/deliver.ts";

for (
  const [count, sizes] of [[1, [1]], [99, [99]], [100, [100]], [101, [100, 1]], [201, [100, 100, 1]]] as const
) {
  Deno.test(`pack: ${count} messages of a step of 100 give batches of ${sizes.join(" and ")} (F13)`, () => {
    const items = Array.from({ length: count }, (_, index) => index);
    const { batches, tooLarge } = pack(items, () => 10, { maxCount: 100, maxBytes: 100_000 });
    assert.deepEqual(batches.map((batch) => batch.length), sizes);
    assert.deepEqual(tooLarge, []);
  });
}

Deno.test("pack: a batch is closed before its bytes exceed the limit (F13)", () => {
  const { batches } = pack([40, 40, 40, 10], (bytes) => bytes, { maxCount: 100, maxBytes: 100 });
  assert.deepEqual(batches, [[40, 40], [40, 10]]);
});

Deno.test("pack: a message above the limit is set apart and does not hold back the others", () => {
  const { batches, tooLarge } = pack([40, 101, 60], (bytes) => bytes, { maxCount: 100, maxBytes: 100 });
  assert.deepEqual(batches, [[40, 60]]);
  assert.deepEqual(tooLarge, [101]);
});

Deno.test("pack: while no message may go, as right after a lost race, there is no batch", () => {
  const packing = pack([40, 101, 60], (bytes) => bytes, { maxCount: 0, maxBytes: 100 });
  assert.deepEqual(packing, { batches: [], tooLarge: [101] });
});

Deno.test("pack: nothing is lost, repeated or reordered", () => {
  fc.assert(fc.property(
    fc.array(fc.integer({ min: 1, max: 120 })),
    fc.integer({ min: 1, max: 7 }),
    (bytes, maxCount) => {
      const items = bytes.map((size, id) => ({ size, id }));
      const { batches, tooLarge } = pack(items, ({ size }) => size, { maxCount, maxBytes: 100 });
      assert.deepEqual(
        batches.flat().map(({ id }) => id),
        items.filter(({ size }) => size <= 100).map(({ id }) => id),
      );
      assert.deepEqual(
        tooLarge.map(({ id }) => id),
        items.filter(({ size }) => size > 100).map(({ id }) => id),
      );
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
    { id: 7, bytes: 101 },
    { id: 8, pair: "a" },
    { id: 9, pair: "b" },
    { id: 10, pair: "a" },
    { id: 11, kind: "response" },
  ];
  const { batches, tooLarge } = packGroups(items, {
    bytesOf: ({ bytes = 1 }) => bytes,
    groupOf: ({ limit, kind, pair }) => ({
      name: `${limit} ${kind} ${pair}`,
      maxCount: limit,
      isLast: limit === 1 || pair !== undefined,
    }),
  }, {
    maxCount: 100,
    maxBytes: 100,
  });
  assert.deepEqual(batches.map((batch) => batch.map(({ id }) => id)), [
    [1, 3],
    [2, 6],
    [5],
    [11],
    [4],
    [8, 10],
    [9],
  ]);
  assert.deepEqual(tooLarge.map(({ id }) => id), [7]);
});
