import assert from "node:assert/strict";
import { type Hash256 } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import {
  checkProofs,
  type ClaimedRequest,
  type ClaimGroup,
  findBeneficiary,
  planClaims,
} from "../../../../src/messaging/fees/claims/claim_attempt.ts";
import { keyOf, Scene } from "../scene.ts";

const a = parseStateMachine("EVM-1");
const b = parseStateMachine("EVM-56");
const ourKey = new Uint8Array(20).fill(1);
const otherKey = new Uint8Array(20).fill(2);

function commitment(index: number): Hash256 {
  return `0x${index.toString(16).padStart(64, "0")}`;
}

const open: ClaimedRequest = { fee: 5n, onHub: "unclaimed" };

for (
  const [name, request, to, why] of [
    ["without a fee", { fee: 0n, onHub: "unclaimed" }, "no_fee", "fee_is_zero"],
    ["claimed before", { fee: 5n, onHub: "claimed" }, "claimed", "claimed_already"],
    ["claimed before, its fee gone", { fee: 0n, onHub: "claimed" }, "claimed", "claimed_already"],
    ["unknown to the hub", { fee: 5n, onHub: "unknown" }, "unclaimable", "unknown_to_hub"],
    ["that could not be read", undefined, undefined, undefined],
  ] as const
) {
  Deno.test(`claims: a row ${name} ${to === undefined ? "waits" : "is settled"} without spoiling the group`, () => {
    const rows = [0, 1, 2].map((index) => ({ commitment: commitment(index) }));
    const requests = new Map([[commitment(0), open], [commitment(2), open]]);
    if (request !== undefined) requests.set(commitment(1), request);
    const plan = planClaims(rows, requests);
    assert.deepEqual(plan.settled, to === undefined ? [] : [{ commitment: commitment(1), to, why }]);
    assert.deepEqual(plan.waiting, to === undefined ? [rows[1]] : []);
    assert.deepEqual([...plan.fees], [[commitment(0), 5n], [commitment(2), 5n]]);
  });
}

Deno.test("claims: our address on the source is credited, where both keys are configured", () => {
  const scene = new Scene({ keys: { [a]: 1, [b]: 2 } });
  const { context } = scene;
  const delivered = context.chains.get(b)?.relayer;
  assert.ok(delivered !== undefined);
  const nonceOf = { address: delivered, chain: a };
  assert.deepEqual(findBeneficiary(context, { source: a, relayer: delivered }), {
    account: scene.address(a),
    nonceOf,
  });
  assert.equal(findBeneficiary(context, { source: b, relayer: delivered }), undefined, "the same key");
  assert.equal(findBeneficiary(context, { source: a, relayer: keyOf(7).subarray(0, 20) }), undefined);
  const unsigned = parseStateMachine("EVM-77");
  assert.equal(findBeneficiary(context, { source: unsigned, relayer: delivered }), undefined);
});

function group(count: number): ClaimGroup {
  const commitments = Array.from({ length: count }, (_, index) => commitment(index));
  return {
    source: a,
    dest: b,
    relayer: ourKey,
    commitments,
    sourceHeight: 1n,
    destHeight: 1n,
    beneficiary: undefined,
    minFees: new Map(commitments.map((each) => [each, 5n])),
  };
}

Deno.test("claims: receipts that are gone or name another relayer are lost, the others stay in the group", () => {
  const all = group(4);
  const fees = [5n, 5n, 5n, 5n];
  const checked = checkProofs(all, { relayers: [ourKey, undefined, otherKey, ourKey], fees });
  assert.deepEqual(checked.lost, [commitment(1), commitment(2)]);
  assert.deepEqual(checked.rest?.commitments, [commitment(0), commitment(3)]);
  assert.equal(checkProofs(group(1), { relayers: [undefined], fees: [5n] }).rest, undefined);
  assert.throws(() => checkProofs(all, { relayers: [ourKey], fees }), /do not match/);
});

Deno.test("claims: rows whose newest fee the proof does not show wait, the others stay in the group", () => {
  const all = group(4);
  const relayers = [ourKey, ourKey, ourKey, ourKey];
  const { rest, raised } = checkProofs(all, { relayers, fees: [5n, 4n, 6n, 0n] });
  assert.deepEqual(rest?.commitments, [commitment(0), commitment(2)]);
  assert.deepEqual(raised, [
    { commitment: commitment(1), newest: 5n, proven: 4n },
    { commitment: commitment(3), newest: 5n, proven: 0n },
  ]);
  assert.equal(checkProofs(all, { relayers, fees: [0n, 0n, 0n, 0n] }).rest, undefined);
  const patientNoMore = checkProofs({ ...all, minFees: new Map() }, { relayers, fees: [1n, 1n, 1n, 1n] });
  assert.deepEqual([patientNoMore.rest?.commitments.length, patientNoMore.raised], [4, []]);
  assert.throws(() => checkProofs(all, { relayers, fees: [5n] }), /do not match/);
});
