import assert from "node:assert/strict";
import fc from "fast-check";
import { type Hash256, toHex } from "../../../../src/core/encoding/bytes.ts";
import { parseStateMachine, type StateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { afterRefusal, checkProofs } from "../../../../src/messaging/fees/claims/claim_attempt.ts";
import {
  type ClaimedRequest,
  type ClaimGroup,
  type ClaimPlan,
  type ClaimPlanInput,
  type ClaimRow,
  planClaims,
} from "../../../../src/messaging/fees/claims/claim_plan.ts";

const a = parseStateMachine("EVM-1");
const b = parseStateMachine("EVM-56");
const c = parseStateMachine("POLKADOT-2000");
const ourKey = new Uint8Array(20).fill(1);
const otherKey = new Uint8Array(20).fill(2);
const paraKey = new Uint8Array(32).fill(3);
const foreignKey = new Uint8Array(20).fill(9);

function commitment(index: number): Hash256 {
  return `0x${index.toString(16).padStart(64, "0")}`;
}

function row(index: number, change: Partial<ClaimRow> = {}): ClaimRow {
  return {
    commitment: commitment(index),
    source: a,
    dest: b,
    relayer: ourKey,
    block: { height: BigInt(100 + index), hash: undefined },
    isFinal: true,
    claimState: "unclaimed",
    ...change,
  };
}

const open: ClaimedRequest = { fee: 5n, onHub: "open" };

function facts(change: Partial<ClaimPlanInput> = {}): ClaimPlanInput {
  return {
    isConfigured: () => true,
    maturedHeight: () => 10_000n,
    request: () => open,
    ownAddress: () => ourKey,
    canSignAs: (relayer) => toHex(relayer) !== toHex(foreignKey),
    ...change,
  };
}

function rows(count: number): ClaimRow[] {
  return Array.from({ length: count }, (_, index) => row(index));
}

function onlyGroup(plan: ClaimPlan): ClaimGroup {
  assert.equal(plan.groups.length, 1);
  const [group] = plan.groups;
  assert.ok(group);
  return group;
}

for (
  const [count, sizes] of [
    [0, []],
    [1, [1]],
    [49, [49]],
    [50, [50]],
    [51, [50, 1]],
    [101, [50, 50, 1]],
  ] as const
) {
  Deno.test(`claims: ${count} rows of a pair give groups of ${sizes.join(" and ") || "nothing"} (F24)`, () => {
    const { groups, settled, waiting } = planClaims(rows(count), facts());
    assert.deepEqual(groups.map(({ commitments }) => commitments.length), sizes);
    assert.deepEqual(
      groups.flatMap(({ commitments }) => commitments),
      rows(count).map((one) => one.commitment),
    );
    assert.equal(groups.reduce((sum, { fee }) => sum + fee, 0n), 5n * BigInt(count));
    assert.deepEqual([settled, waiting], [[], []]);
  });
}

Deno.test("claims: rows are grouped by source, destination and delivering address", () => {
  const { groups } = planClaims([
    row(1),
    row(2, { dest: c, relayer: paraKey }),
    row(3, { source: c }),
    row(4, { relayer: otherKey }),
    row(5),
  ], facts());
  assert.deepEqual(
    groups.map((
      { source, dest, relayer, commitments },
    ) => [source, dest, toHex(relayer), commitments.length]),
    [
      [a, b, toHex(ourKey), 2],
      [a, b, toHex(otherKey), 1],
      [a, c, toHex(paraKey), 1],
      [c, b, toHex(ourKey), 1],
    ],
  );
});

Deno.test("claims: rows above the hub's height of the destination wait, older ones do not wait for them", () => {
  const plan = planClaims(rows(3), facts({ maturedHeight: (chain) => chain === b ? 101n : 7n }));
  const group = onlyGroup(plan);
  assert.deepEqual(group.commitments, [commitment(0), commitment(1)]);
  assert.deepEqual([group.sourceHeight, group.destHeight], [7n, 101n]);
  assert.deepEqual(plan.waiting, [row(2)]);
});

const unknownHere = (chain: StateMachine) => (asked: StateMachine): boolean => asked !== chain;
for (
  const [name, change, factChange] of [
    ["not final", { isFinal: false }, {}],
    ["in a claim under way", { claimState: "claiming" }, {}],
    ["from a chain that left the configuration", {}, { isConfigured: unknownHere(a) }],
    ["to a chain that left the configuration", {}, { isConfigured: unknownHere(b) }],
    ["whose fee could not be read", {}, { request: () => undefined }],
    ["claimed in a block that is not final", {}, {
      request: (): ClaimedRequest => ({ fee: 5n, onHub: "claimed_not_final" }),
    }],
    ["to a chain without a mature height", {}, {
      maturedHeight: (chain: StateMachine) => chain === b ? undefined : 1n,
    }],
    ["from a chain without a mature height", {}, {
      maturedHeight: (chain: StateMachine) => chain === a ? undefined : 10_000n,
    }],
  ] as const
) {
  Deno.test(`claims: a row ${name} waits`, () => {
    const { groups, settled, waiting } = planClaims([row(1, change)], facts(factChange));
    assert.deepEqual([groups, settled], [[], []]);
    assert.deepEqual(waiting, [row(1, change)]);
  });
}

for (
  const [name, request, to, why] of [
    ["without a fee", { fee: 0n, onHub: "open" }, "no_fee", "fee_is_zero"],
    ["claimed before", { fee: 5n, onHub: "claimed" }, "claimed", "claimed_already"],
    ["claimed before, its fee gone", { fee: 0n, onHub: "claimed" }, "claimed", "claimed_already"],
    ["unknown to the hub", { fee: 5n, onHub: "unknown" }, "unclaimable", "unknown_to_hub"],
  ] as const
) {
  Deno.test(`claims: a row ${name} is settled without spoiling the group`, () => {
    const plan = planClaims(rows(3), facts({ request: (id) => id === commitment(1) ? request : open }));
    assert.deepEqual(plan.settled, [{ commitment: commitment(1), dest: b, to, why }]);
    assert.deepEqual(onlyGroup(plan).commitments, [commitment(0), commitment(2)]);
  });
}

Deno.test("claims: rows that are settled already are left alone", () => {
  const done = (["claimed", "no_fee", "lost", "unclaimable"] as const).map((claimState, index) =>
    row(index, { claimState })
  );
  assert.deepEqual(planClaims(done, facts()), { groups: [], settled: [], waiting: [] });
});

for (
  const [name, relayer, own, beneficiary] of [
    ["the same key on both chains", ourKey, ourKey, undefined],
    ["another key on the source", otherKey, ourKey, ourKey],
    ["another kind of key", paraKey, ourKey, ourKey],
    ["no key on the source", otherKey, undefined, undefined],
    ["a delivering key that is gone", foreignKey, ourKey, undefined],
  ] as const
) {
  Deno.test(`claims: with ${name} ${beneficiary === undefined ? "no other account" : "our address there"} is credited`, () => {
    const group = onlyGroup(planClaims([row(1, { relayer })], facts({ ownAddress: () => own })));
    assert.deepEqual(
      group.beneficiary,
      beneficiary && { account: beneficiary, nonceOf: { address: relayer, chain: a } },
    );
  });
}

Deno.test("claims: the order of the rows does not matter, and no row is in two places", () => {
  const anyRow = fc.record({
    index: fc.integer({ min: 0, max: 300 }),
    source: fc.constantFrom(a, c),
    dest: fc.constantFrom(b, c),
    relayer: fc.constantFrom(ourKey, otherKey),
    isFinal: fc.boolean(),
  }).map(({ index, ...change }) => row(index, change));
  const uniqueRows = fc.uniqueArray(anyRow, { selector: (one) => one.commitment, maxLength: 200 });
  fc.assert(
    fc.property(uniqueRows, (some) => {
      const some1 = facts({
        request: (id) => ({ fee: BigInt(id) % 4n, onHub: BigInt(id) % 7n === 0n ? "claimed" : "open" }),
        maturedHeight: (chain) => chain === b ? 250n : 300n,
      });
      const plan = planClaims(some, some1);
      assert.deepEqual(planClaims(some.toReversed(), some1), plan);
      const placed = [
        ...plan.groups.flatMap(({ commitments }) => commitments),
        ...plan.settled.map((one) => one.commitment),
        ...plan.waiting.map((one) => one.commitment),
      ];
      assert.deepEqual(placed.sort(), some.map((one) => one.commitment).sort());
      assert.ok(plan.groups.every(({ commitments }) => commitments.length <= 50));
    }),
    { numRuns: 50 },
  );
});

function group(count: number): ClaimGroup {
  return onlyGroup(planClaims(rows(count), facts()));
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

Deno.test("claims: a nonce that a withdrawal used meanwhile repeats the group with a fresh one", () => {
  const claim = group(3);
  assert.deepEqual(afterRefusal(claim, { signed: 4n, now: 5n }), {
    kind: "submit",
    groups: [claim],
    why: "nonce_moved",
  });
});

for (const bad of [0, 24, 25, 49]) {
  Deno.test(`claims: halving a refused group of 50 isolates row ${bad} and claims the other 49`, () => {
    const claimed: Hash256[] = [];
    const aside: Hash256[] = [];
    const work = [group(50)];
    let submissions = 0;
    for (let next = work.pop(); next !== undefined; next = work.pop()) {
      submissions++;
      const isRefused = next.commitments.includes(commitment(bad));
      const result = isRefused ? afterRefusal(next, { signed: 1n, now: 1n }) : undefined;
      if (result === undefined) claimed.push(...next.commitments);
      else if (result.kind === "defer") aside.push(result.commitment);
      else work.push(...result.groups);
    }
    assert.deepEqual(aside, [commitment(bad)]);
    assert.equal(new Set(claimed).size, 49);
    assert.ok(submissions <= 13);
  });
}
