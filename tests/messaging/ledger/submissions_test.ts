import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { type NewSubmission, onLedger } from "../../support/ledger.ts";
import {
  bsc,
  ethereum,
  hashOf,
  hub,
  itemOf,
  newDelivery,
  newMessage,
  newSubmission,
} from "../../support/ledger_rows.ts";

/** Here, so that the report names this file. */
const test = (name: string, work: Parameters<typeof onLedger>[0]): void => Deno.test(name, onLedger(work));

const dayMs = 86_400_000;
const block = { height: 9n, hash: hashOf(99) };

function delivery(number: number, change: Partial<NewSubmission> = {}): NewSubmission {
  return {
    submission: newSubmission(number),
    kind: "delivery",
    legSource: ethereum,
    items: [itemOf(number)],
    ...change,
  };
}

test("journal: a submission and its items come back as they were signed, items in order", (ledger) => {
  const items = [itemOf(9), itemOf(2), itemOf(5)];
  const id = ledger.submissions.record(delivery(1, { items }));
  const row = ledger.submissions.find(id);
  deepEqual(row, {
    id,
    submission: newSubmission(1),
    kind: "delivery",
    legSource: ethereum,
    state: "signed",
    block: undefined,
    replaces: undefined,
    replacedBy: undefined,
    detail: undefined,
    createdAtMs: 1_000_000,
    updatedAtMs: 1_000_000,
  });
  deepEqual(ledger.submissions.itemsOf(id), items.map((item) => ({ ...item, outcome: undefined })));
  deepEqual(ledger.submissions.findByHash(hub, hashOf(1)), row);
  deepEqual(ledger.submissions.listByItem(hashOf(5), hub), [row]);
});

test("journal: unsigned extrinsics have no account, nonce or gas, and may be made twice", (ledger) => {
  const submission = newSubmission(1, {
    account: undefined,
    nonce: undefined,
    gasPriceWei: undefined,
    gasLimit: undefined,
  });
  const first = ledger.submissions.record(delivery(1, { submission }));
  deepEqual(ledger.submissions.find(first)?.submission, submission);
  ledger.submissions.update(first, { state: "dropped", detail: "pool forgot it" });
  const second = ledger.submissions.record(delivery(1, { submission }));
  equal(ledger.submissions.findByHash(hub, submission.hash)?.id, second);
});

test("journal: a message is in one unresolved delivery at most (I5)", (ledger) => {
  const { submissions } = ledger;
  const first = submissions.record(delivery(1));
  throws(
    () => submissions.record(delivery(2, { items: [itemOf(7), itemOf(1)] })),
    /under way in submission 1/,
  );
  const replacement = submissions.record(
    delivery(1, { submission: newSubmission(1, { hash: hashOf(50) }), replaces: first }),
  );
  equal(submissions.find(first)?.replacedBy, replacement);
  equal(submissions.find(replacement)?.replaces, first);
  deepEqual(submissions.listByNonce(hub, "0xabc", 1n).map(({ id }) => id), [first, replacement]);
  submissions.update(first, { state: "failed" });
  throws(() => submissions.record(delivery(2, { items: [itemOf(1)] })), /under way/);
  submissions.settleItems(replacement, [hashOf(1)], "not_handled");
  equal(submissions.record(delivery(2, { items: [itemOf(1)] })), 3);
  throws(() => submissions.record(delivery(8, { replaces: 77 })), /No submission 77/);
});

test("journal: what was dropped counts as given up while a nonce below it was mined recently and nobody holds its own", (ledger) => {
  const { submissions } = ledger;
  const [below, dropped] = [1, 2].map((nonce) => submissions.record(delivery(nonce)));
  const givenUp = (sinceMs = 0): number[] => submissions.listGivenUp(hub, sinceMs).map(({ id }) => id);
  ok(below !== undefined && dropped !== undefined);
  submissions.update(dropped, { state: "dropped" });
  deepEqual(givenUp(), [], "the nonce below may never be used");
  const { updatedAtMs } = submissions.update(below, {
    state: "failed",
    block: { height: 9n, hash: hashOf(90) },
  });
  deepEqual([givenUp(updatedAtMs), givenUp(updatedAtMs + 1)], [[dropped], []]);
  for (const { commitment } of submissions.itemsOf(dropped)) {
    submissions.settleItems(dropped, [commitment], "not_handled");
  }
  submissions.record(delivery(2, { submission: newSubmission(2, { hash: hashOf(50) }) }));
  deepEqual(givenUp(), [], "its successor is followed, and it with that");
});

test("journal: unsigned attempts at the same message exclude each other too", (ledger) => {
  const unsigned = (number: number): NewSubmission => ({
    ...delivery(1),
    submission: newSubmission(number, { account: undefined, nonce: undefined }),
  });
  ledger.submissions.record(unsigned(1));
  throws(() => ledger.submissions.record(unsigned(2)), /under way/);
});

test("journal: items of one submission are settled together, and only those it carries", (ledger) => {
  const id = ledger.submissions.record(delivery(1, { items: [itemOf(1), itemOf(2), itemOf(3)] }));
  ledger.submissions.settleItems(id, [hashOf(1), hashOf(3)], "handled");
  deepEqual(ledger.submissions.itemsOf(id).map(({ outcome }) => outcome), [
    "handled",
    undefined,
    "handled",
  ]);
  throws(() => ledger.submissions.settleItems(id, [hashOf(1), hashOf(9)], "handled"), /does not carry/);
});

test("journal: in flight is what may still wait for its block, without its bytes", (ledger) => {
  const ids = [1, 2, 3].map((number) => ledger.submissions.record(delivery(number)));
  const [first = 0, second = 0, third = 0] = ids;
  ledger.submissions.update(second, { state: "broadcast" });
  ledger.submissions.update(third, { state: "included", block });
  const { chain, nonce } = newSubmission(1);
  deepEqual(ledger.submissions.listInFlight(chain), [
    { id: first, kind: "delivery", state: "signed", nonce },
    { id: second, kind: "delivery", state: "broadcast", nonce: newSubmission(2).nonce },
  ]);
});

test("journal: what a block holds can be lost again, what is final cannot", (ledger) => {
  const { submissions } = ledger;
  const id = submissions.record(delivery(1));
  submissions.update(id, { state: "broadcast" });
  deepEqual(submissions.update(id, { state: "included", block }).block, block);
  submissions.settleItems(id, [hashOf(1)], "handled");
  equal(submissions.update(id, { state: "broadcast" }).block, undefined);
  submissions.reopenItems(id);
  equal(submissions.itemsOf(id)[0]?.outcome, undefined);
  submissions.update(id, { state: "included", block });
  deepEqual(submissions.listUnresolved(hub).map(({ state }) => state), ["included"]);
  submissions.update(id, { state: "final" });
  deepEqual(submissions.find(id)?.block, block);
  deepEqual(submissions.listUnresolved(hub), []);
  for (const state of ["signed", "broadcast", "included", "failed", "replaced", "dropped"] as const) {
    throws(() => submissions.update(id, { state }), /Illegal change/);
  }
  throws(() => submissions.update(99, { state: "final" }), /No submission/);
  throws(() => submissions.settleItems(id, [hashOf(2)], "handled"), /does not carry/);
});

test("journal: what was given up may turn up in a block after all", (ledger) => {
  const id = ledger.submissions.record(delivery(1));
  ledger.submissions.update(id, { state: "dropped", detail: "unknown to every node" });
  equal(ledger.submissions.update(id, { state: "included", block }).state, "included");
});

test("journal: the highest nonce is that of submissions of the account that are under way or mined", (ledger) => {
  const { submissions } = ledger;
  equal(submissions.findHighestNonce(hub, "0xabc"), undefined);
  submissions.record(delivery(9));
  submissions.record(delivery(10));
  const last = submissions.record(delivery(11));
  submissions.record(delivery(12, { submission: newSubmission(12, { account: "0xdef" }) }));
  submissions.update(last, { state: "dropped" });
  equal(submissions.findHighestNonce(hub, "0xabc"), 10n);
  const mined = submissions.record(delivery(13));
  submissions.update(mined, { state: "broadcast" });
  submissions.update(mined, { state: "included", block: { height: 5n, hash: hashOf(5) } });
  equal(submissions.findHighestNonce(hub, "0xabc"), 13n);
  submissions.update(mined, { state: "failed" });
  equal(submissions.findHighestNonce(hub, "0xabc"), 13n);
  const refused = submissions.record(delivery(14));
  submissions.update(refused, { state: "failed", detail: "refused" });
  equal(submissions.findHighestNonce(hub, "0xabc"), 13n);
});

test("deliveries: refreshed records keep their claim state, finality and fee; a lost one counts again", (ledger) => {
  const { deliveries } = ledger;
  deliveries.record(newDelivery(1, { fee: 2n ** 250n }));
  const again = { isFinal: false, txHash: undefined, block: { height: 8n, hash: undefined } };
  deliveries.setClaimState({ commitment: hashOf(1), dest: bsc }, "claiming");
  deliveries.record(newDelivery(1, again));
  const row = deliveries.find(hashOf(1), bsc);
  deepEqual([row?.fee, row?.isFinal, row?.claimState, row?.block.height], [
    2n ** 250n,
    true,
    "claiming",
    8n,
  ]);
  equal(row?.txHash, newDelivery(1).txHash);
  deliveries.setClaimState({ commitment: hashOf(1), dest: bsc }, "lost");
  deliveries.record(newDelivery(1));
  equal(deliveries.find(hashOf(1), bsc)?.claimState, "unclaimed");
});

test("deliveries: what has no fee is no_fee from the start, and several become final together", (ledger) => {
  for (const number of [1, 2, 3]) {
    ledger.deliveries.record(newDelivery(number, { isFinal: false, isPaid: number !== 2 }));
  }
  const { dest } = newDelivery(1);
  const states = (): unknown[] =>
    [1, 2, 3].map((number) => ledger.deliveries.find(hashOf(number), dest)?.claimState);
  deepEqual(states(), ["unclaimed", "no_fee", "unclaimed"]);
  ledger.deliveries.record(newDelivery(1, { isPaid: false }));
  ledger.deliveries.record(newDelivery(2));
  deepEqual(states(), ["no_fee", "no_fee", "unclaimed"]);
  ledger.deliveries.markAllFinal([hashOf(2), hashOf(3), hashOf(9)], dest);
  deepEqual([2, 3].map((number) => ledger.deliveries.find(hashOf(number), dest)?.isFinal), [true, true]);
});

test("deliveries: those of one transaction are recorded as one by one, and found receipts are listed apart", (ledger) => {
  const { deliveries } = ledger;
  const { relayer, txHash, block, isFinal } = newDelivery(1, { isFinal: false });
  const source = ethereum;
  deliveries.recordAll([
    { commitment: hashOf(1), dest: bsc, source, fee: 2n ** 250n },
    { commitment: hashOf(2), dest: bsc, source, isPaid: false },
  ], { relayer, txHash, block, isFinal });
  const [first, second] = deliveries.listNotFinal(bsc);
  const { isPaid: _isPaid, ...shared } = newDelivery(1, { isFinal: false });
  const dates = { claimHubBlock: undefined, createdAtMs: 1_000_000, updatedAtMs: 1_000_000 };
  deepEqual(first, { ...shared, ...dates, fee: 2n ** 250n, claimState: "unclaimed" });
  deepEqual(second, { ...shared, ...dates, commitment: hashOf(2), fee: undefined, claimState: "no_fee" });
  deepEqual(deliveries.listFoundNotFinal(bsc), []);
  deliveries.record(newDelivery(3, { isFinal: false, block: { height: 5n, hash: undefined } }));
  deepEqual(deliveries.listFoundNotFinal(bsc).map(({ commitment }) => commitment), [hashOf(3)]);
});

test("deliveries: what the hub has paid stays paid and is not removed", (ledger) => {
  const { deliveries } = ledger;
  deliveries.record(newDelivery(1));
  deliveries.setClaimState({ commitment: hashOf(1), dest: bsc }, "claimed", 77n);
  equal(deliveries.find(hashOf(1), bsc)?.claimHubBlock, 77n);
  throws(
    () => deliveries.setClaimState({ commitment: hashOf(1), dest: bsc }, "unclaimed"),
    /Illegal change/,
  );
  equal(deliveries.remove(hashOf(1), bsc), false);
  throws(() => deliveries.setClaimState({ commitment: hashOf(2), dest: bsc }, "lost"), /No delivery/);
});

test("deliveries: a record that a reorganisation removed is taken back", (ledger) => {
  const { deliveries } = ledger;
  deliveries.record(newDelivery(1, { isFinal: false }));
  deliveries.record(newDelivery(2, { isFinal: false }));
  deepEqual(deliveries.listNotFinal(bsc).map(({ commitment }) => commitment), [hashOf(1), hashOf(2)]);
  equal(deliveries.remove(hashOf(1), bsc), true);
  equal(deliveries.markFinal(hashOf(1), bsc, 9n), false);
  equal(deliveries.markFinal(hashOf(2), bsc, 9n), true);
  deepEqual(deliveries.listNotFinal(bsc), []);
});

test("deliveries: claimable rows are final, unclaimed, provable and of one relayer, oldest block first", (ledger) => {
  const { deliveries } = ledger;
  const other = new Uint8Array(20).fill(1);
  for (const number of [5, 3, 4]) deliveries.record(newDelivery(number));
  deliveries.record(newDelivery(1, { isFinal: false }));
  deliveries.record(newDelivery(2, { relayer: other }));
  deliveries.record(newDelivery(6));
  deliveries.setClaimState({ commitment: hashOf(6), dest: bsc }, "no_fee");
  const query = { source: ethereum, dest: bsc, relayer: newDelivery(1).relayer, maxBlock: 4n, limit: 50 };
  deepEqual(deliveries.listUnclaimed(query).map(({ commitment }) => commitment), [hashOf(3), hashOf(4)]);
  deepEqual(deliveries.listUnclaimed({ ...query, maxBlock: 9n, limit: 1 }).length, 1);
  deepEqual(deliveries.listClaimPairs(), [
    { source: ethereum, dest: bsc, relayer: other, count: 1, oldestBlock: 2n, newestBlock: 2n },
    { source: ethereum, dest: bsc, relayer: query.relayer, count: 3, oldestBlock: 3n, newestBlock: 5n },
  ]);
  const [, pair] = deliveries.listClaimPairs();
  ok(pair !== undefined);
  deepEqual(deliveries.listUnclaimed({ ...pair, maxBlock: 9n, limit: pair.count }).length, 3);
  deepEqual(deliveries.listByClaimState("no_fee", { limit: 5 }).map(({ commitment }) => commitment), [
    hashOf(6),
  ]);
  deepEqual(deliveries.listByClaimState("no_fee", { limit: 5, sinceMs: 1e15 }), []);
  deliveries.setFee(hashOf(3), bsc, 0n);
  equal(deliveries.find(hashOf(3), bsc)?.fee, 0n);
});

const withdrawal = {
  chain: ethereum,
  address: new Uint8Array(20).fill(3),
  nonce: 4n,
  beneficiary: undefined,
  amount: 10n ** 40n,
  hubBlock: 50n,
  state: "requested",
} as const;
const dispatch = { commitment: hashOf(70), encoded: new Uint8Array([1]), hubBlock: 51n };

test("withdrawals: from request to done, with the POST that carries the money", (ledger) => {
  const { withdrawals } = ledger;
  const id = withdrawals.record(withdrawal);
  deepEqual(withdrawals.listOpen().map((row) => [row.id, row.state, row.amount]), [[
    id,
    "requested",
    10n ** 40n,
  ]]);
  throws(() => withdrawals.update(id, { state: "done" }), /Illegal change/);
  throws(() => withdrawals.update(id, { state: "dispatched" }), /without its dispatch/);
  // More has come in since the order was made.
  withdrawals.update(id, { state: "dispatched", dispatch, amount: withdrawal.amount + 5n });
  equal(withdrawals.find(id)?.amount, withdrawal.amount + 5n);
  deepEqual(withdrawals.findByCommitment(hashOf(70))?.dispatch, dispatch);
  const submissionId = ledger.submissions.record(delivery(1, { kind: "withdraw", items: [] }));
  withdrawals.update(id, { state: "dispatched", submissionId, detail: "out of gas" });
  equal(withdrawals.find(id)?.detail, "out of gas");
  withdrawals.update(id, { state: "done" });
  deepEqual([withdrawals.listOpen(ethereum), withdrawals.listRecent(5).length], [[], 1]);
  equal(withdrawals.find(id)?.submissionId, submissionId);
  throws(() => withdrawals.update(9, { state: "done" }), /No withdrawal/);
});

test("withdrawals: one found on the hub is recorded once", (ledger) => {
  const found = { ...withdrawal, nonce: undefined, state: "dispatched", dispatch } as const;
  const id = ledger.withdrawals.record(found);
  equal(ledger.withdrawals.record(found), id);
  deepEqual(ledger.withdrawals.listOpen(bsc), []);
  equal(ledger.withdrawals.listOpen(ethereum).length, 1);
});

test("rewards: recorded once, oldest first, and closed for good", (ledger) => {
  const { rewards } = ledger;
  const key = (reference: string) => ({ kind: "rotation", chain: ethereum, reference }) as const;
  const payload = new Uint8Array();
  for (const [reference, height] of [["8", 90n], ["9", 80n], ["9", 100n]] as const) {
    rewards.record({ ...key(reference), height, payload });
  }
  deepEqual(rewards.listOpen().map(({ reference }) => reference), ["9", "8"]);
  rewards.update(key("9"), { state: "pending", attempts: 1, detail: "sent" });
  equal(rewards.find(key("9"))?.detail, "sent");
  rewards.update(key("9"), { state: "claimed" });
  throws(() => rewards.update(key("9"), { state: "pending" }), /Illegal change/);
  throws(() => rewards.update(key("10"), { state: "pending" }), /No reward/);
  deepEqual(rewards.listOpen().map(({ reference }) => reference), ["8"]);
});

test("journal: what another transaction carries by now stays there when an earlier one loses its block (I5)", ({ submissions }) => {
  const first = submissions.record(delivery(1, { items: [itemOf(1), itemOf(2)] }));
  submissions.update(first, { state: "included", block });
  submissions.settleItems(first, [hashOf(1), hashOf(2)], "not_handled");
  submissions.record(delivery(2, { items: [itemOf(2)] }));
  submissions.reopenItems(first);
  deepEqual(submissions.itemsOf(first).map(({ outcome }) => outcome), [undefined, "not_handled"]);
  // A replacement takes the same nonce: either may be mined, never both.
  const { account, nonce } = newSubmission(1);
  const submission = newSubmission(3, { account, nonce });
  const second = submissions.record(delivery(3, { submission, items: [itemOf(1)], replaces: first }));
  submissions.reopenItems(first);
  equal(submissions.itemsOf(first)[0]?.outcome, undefined);
  equal(submissions.itemsOf(second)[0]?.outcome, undefined);
});

test(
  "retention: ended rows go after their time, and nothing goes that is still owed or under way",
  (ledger, clock) => {
    const { messages, submissions, deliveries } = ledger;
    messages.record(newMessage(1, { state: "gone" }));
    messages.record(newMessage(2));
    messages.record(newMessage(3, { target: bsc, source: hub, state: "delivered" }));
    deliveries.record(newDelivery(3));
    deliveries.record(newDelivery(4));
    deliveries.setClaimState({ commitment: hashOf(4), dest: bsc }, "claimed");
    const done = submissions.record(delivery(1));
    submissions.update(done, { state: "final", block });
    const open = submissions.record(delivery(2));
    const owed = submissions.record(delivery(5, { kind: "withdraw", items: [] }));
    submissions.update(owed, { state: "final", block });
    const withdrawalId = ledger.withdrawals.record(withdrawal);
    ledger.withdrawals.update(withdrawalId, { state: "requested", submissionId: owed });
    const startMs = clock.now();
    const nothing = { messages: 0, submissions: 0, deliveries: 0, spending: 0 };
    const pruned = (afterMs: number): unknown => ledger.prune(startMs + afterMs);
    deepEqual(pruned(30 * dayMs), nothing);
    deepEqual(pruned(30 * dayMs + 1), { ...nothing, messages: 1, submissions: 1 });
    deepEqual(pruned(90 * dayMs + 1), { ...nothing, deliveries: 1, spending: 1 });
    equal(submissions.find(done), undefined);
    deepEqual(submissions.itemsOf(done), []);
    equal(submissions.find(open)?.state, "signed");
    equal(submissions.find(owed)?.state, "final");
    equal(messages.find(hashOf(1), hub), undefined);
    equal(messages.find(hashOf(2), hub)?.state, "seen");
    equal(deliveries.find(hashOf(3), bsc)?.claimState, "unclaimed");
    deliveries.setClaimState({ commitment: hashOf(3), dest: bsc }, "claimed");
    equal(ledger.prune(startMs + 90 * dayMs).messages, 1);
  },
);

test("retention: thousands of rows go in pieces", (ledger, clock) => {
  ledger.transaction(() => {
    for (let number = 1; number <= 1_234; number++) {
      ledger.messages.record(newMessage(number, { state: "gone" }));
    }
  });
  equal(ledger.prune(clock.now() + 31 * dayMs).messages, 1_234);
});
