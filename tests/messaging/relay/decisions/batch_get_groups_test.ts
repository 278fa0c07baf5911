import assert from "node:assert/strict";
import fc from "fast-check";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import type { GetRequest } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { collectKeys, groupGets } from "../../../../src/messaging/relay/deliver/answer_gets.ts";

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
