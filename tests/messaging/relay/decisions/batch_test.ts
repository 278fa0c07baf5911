import assert from "node:assert/strict";
import fc from "fast-check";
import { packGroups } from "../../../../src/messaging/relay/deliver/deliver.ts";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import type { GetRequest } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { collectKeys, groupGets } from "../../../../src/messaging/relay/deliver/answer_gets.ts";

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

const account = (contract: number): Uint8Array => new Uint8Array(20).fill(contract);

const slot = (contract: number, place = 0): Uint8Array => {
  const key = new Uint8Array(52).fill(contract, 0, 20);
  key[51] = place;
  return key;
};

function get(changes: Partial<Omit<GetRequest, "dest">> & { dest?: string } = {}): GetRequest {
  return {
    source: parseStateMachine("EVM-1"),
    nonce: 0n,
    from: new Uint8Array(20),
    keys: [slot(1)],
    height: 5n,
    context: new Uint8Array(),
    timeoutTimestampSec: 0n,
    ...changes,
    dest: parseStateMachine(changes.dest ?? "EVM-2"),
  };
}

const sizes = (requests: readonly GetRequest[], most = 50): number[] =>
  groupGets(requests, (request) => request, most).map(({ length }) => length);

Deno.test("get groups: questions about one block and the same contract go together", () => {
  assert.deepEqual(sizes([get(), get({ keys: [slot(1, 7), slot(1, 8)] }), get()]), [3]);
});

Deno.test("get groups: another block, chain or contract is another group", () => {
  assert.deepEqual(sizes([get(), get({ height: 6n })]), [1, 1]);
  assert.deepEqual(sizes([get(), get({ dest: "EVM-3" })]), [1, 1]);
  assert.deepEqual(sizes([get(), get({ keys: [slot(2)] })]), [1, 1]);
  assert.deepEqual(sizes([get(), get({ keys: [slot(1), slot(2)] })]), [1, 1]);
});

Deno.test("get groups: the order of the contracts and accounts of 20 bytes do not matter (F23)", () => {
  assert.deepEqual(sizes([get({ keys: [slot(1), slot(2)] }), get({ keys: [slot(2), slot(1)] })]), [2]);
  assert.deepEqual(sizes([get(), get({ keys: [slot(1), account(9)] })]), [2]);
});

Deno.test("get groups: storage keys of Substrate chains go together, whatever their length", () => {
  const dest = "POLKADOT-1000";
  assert.deepEqual(
    sizes([get({ dest }), get({ dest, keys: [slot(2)] }), get({ dest, keys: [account(1)] })]),
    [3],
  );
});

Deno.test("get groups: groups are bounded, keep everything, in order, and are in the order of their first", () => {
  fc.assert(fc.property(
    fc.array(fc.record({ height: fc.bigInt(1n, 3n), contract: fc.integer({ min: 1, max: 2 }) })),
    fc.integer({ min: 1, max: 4 }),
    (asked, most) => {
      const requests = asked.map(({ height, contract }) => get({ height, keys: [slot(contract)] }));
      const groups = groupGets(requests, (request) => request, most);
      assert.ok(groups.every(({ length }) => length >= 1 && length <= most));
      const places = groups.map((group) => group.map((request) => requests.indexOf(request)));
      assert.deepEqual(places.flat().toSorted((a, b) => a - b), requests.map((_, index) => index));
      for (const group of places) assert.deepEqual(group, group.toSorted((a, b) => a - b));
      const firsts = places.map(([first]) => first ?? -1);
      assert.deepEqual(firsts, firsts.toSorted((a, b) => a - b));
    },
  ));
});

Deno.test("get groups: every key of a group is proved once, in order of appearance", () => {
  const keys = collectKeys([
    get({ keys: [slot(1, 2), slot(1, 1)] }),
    get({ keys: [slot(1, 1), account(1)] }),
  ]);
  assert.deepEqual(keys.map(toHex), [slot(1, 2), slot(1, 1), account(1)].map(toHex));
});
