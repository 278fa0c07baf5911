import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type NonceInput,
  planNonces,
  settleNonce,
} from "../../../../src/messaging/relay/decisions/nonces.ts";

function facts(
  journal: readonly (readonly [number, bigint])[],
  latestNonce: bigint,
  pendingNonce: bigint,
): NonceInput {
  return { journal: journal.map(([id, nonce]) => ({ id, nonce })), latestNonce, pendingNonce };
}

for (
  const [name, given, plan] of [
    ["an idle account takes the next nonce", facts([], 5n, 5n), { next: 5n }],
    ["ours in the pool are counted once", facts([[1, 5n], [2, 6n]], 5n, 7n), { next: 7n }],
    ["a node that lost the pool gets the bytes again", facts([[2, 6n], [1, 5n]], 5n, 5n), {
      next: 7n,
      rebroadcast: [1, 2],
    }],
    ["a node without a pending count does too", facts([[1, 5n]], 5n, 4n), { next: 6n, rebroadcast: [1] }],
    ["a gap is filled first", facts([[1, 5n], [3, 7n], [4, 9n]], 5n, 6n), {
      next: 6n,
      gaps: [6n, 8n],
      rebroadcast: [3, 4],
    }],
    ["a gap at the front too", facts([[3, 7n]], 5n, 5n), { next: 5n, gaps: [5n, 6n], rebroadcast: [3] }],
    ["a used nonce is looked up (nonce too low)", facts([[1, 4n], [2, 5n]], 5n, 6n), {
      next: 6n,
      lookUp: [1],
    }],
    ["replacements share a nonce", facts([[1, 5n], [2, 5n], [3, 4n], [4, 4n]], 5n, 6n), {
      next: 6n,
      lookUp: [3, 4],
    }],
    ["another program's transactions are skipped", facts([[1, 6n]], 5n, 8n), { next: 8n, foreign: [5n, 7n] }],
    ["everything used by another program", facts([[1, 3n]], 9n, 9n), { next: 9n, lookUp: [1] }],
  ] as const
) {
  Deno.test(`nonces: ${name}`, () => {
    assert.deepEqual(planNonces(given), { lookUp: [], rebroadcast: [], gaps: [], foreign: [], ...plan });
  });
}

Deno.test("nonces: a node's absurd counts give no endless lists", () => {
  assert.equal(planNonces(facts([], 0n, 10n ** 18n)).foreign.length, 100);
  assert.equal(planNonces(facts([[1, 10n ** 18n]], 0n, 0n)).gaps.length, 100);
});

Deno.test("nonces: the next one is free, minable once what lies below is, and never used", () => {
  const journal = fc.array(fc.tuple(fc.integer({ min: 1, max: 99 }), fc.bigInt({ min: 0n, max: 20n })));
  const counts = fc.tuple(fc.bigInt({ min: 0n, max: 20n }), fc.bigInt({ min: 0n, max: 20n }));
  fc.assert(fc.property(journal, counts, (entries, [latest, pending]) => {
    const plan = planNonces(facts(entries, latest, pending));
    assert.ok(plan.next >= latest && plan.next >= pending);
    assert.ok(entries.every(([, nonce]) => nonce !== plan.next));
    // Nothing free lies below it that the pool would accept sooner.
    for (let nonce = pending > latest ? pending : latest; nonce < plan.next; nonce++) {
      assert.ok(entries.some(([, held]) => held === nonce));
    }
    const ids = new Set([...plan.lookUp, ...plan.rebroadcast]);
    for (const [id, nonce] of entries) if (nonce < latest) assert.ok(ids.has(id));
  }));
});

for (
  const [name, outcomes, isFinal, expected] of [
    ["the original is mined", ["included", "unknown"], false, { kind: "mined", id: 1, replaced: [2] }],
    ["the replacement is mined", ["replaced", "included", "unknown"], true, {
      kind: "mined",
      id: 2,
      replaced: [1, 3],
    }],
    ["the cancel is mined", ["unknown", "replaced", "included"], true, {
      kind: "mined",
      id: 3,
      replaced: [1, 2],
    }],
    ["one of them waits", ["unknown", "pending"], false, { kind: "open", isKnown: true }],
    ["neither is known and the nonce is not used for good", ["unknown", "unknown"], false, {
      kind: "open",
      isKnown: false,
    }],
    ["replaced according to one node, in a block that may go away", ["replaced", "unknown"], false, {
      kind: "open",
      isKnown: false,
    }],
    ["neither is known and the nonce is used for good", ["unknown", "replaced"], true, {
      kind: "foreign",
      replaced: [1, 2],
    }],
  ] as const
) {
  Deno.test(`nonces: settled when ${name}`, () => {
    const competitors = outcomes.map((outcome, index) => ({ id: index + 1, outcome }));
    assert.deepEqual(settleNonce(competitors, { isFinal }), expected);
  });
}
