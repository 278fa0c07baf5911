import { deepEqual, equal, notEqual, ok, throws } from "node:assert/strict";
import { type MessageRow, neverMs, onLedger } from "../../support/ledger.ts";
import { bsc, ethereum, hashOf, hub, newMessage, newSubmission } from "../../support/ledger_rows.ts";
import * as z from "zod";

/** Here, so that the report names this file. */
const test = (name: string, work: Parameters<typeof onLedger>[0]): void => Deno.test(name, onLedger(work));

const leg = { source: ethereum, target: hub };

test("messages: a row comes back as it was recorded, with the widest numbers", (ledger) => {
  const message = newMessage(1, {
    kind: "getResponse",
    requestCommitment: hashOf(2),
    nonce: 2n ** 64n - 1n,
    timeoutSec: 2n ** 64n - 1n,
    seenAtHeight: 2n ** 63n - 1n,
    encoded: new Uint8Array(100_000).fill(5),
    state: "held",
    reason: "unprofitable",
    detail: "needs more",
    requiredUsd18: 2n ** 200n,
    offeredUsd18: -5n,
    attempts: 3,
    nextAttemptAtMs: neverMs,
  });
  equal(ledger.messages.record(message), "new");
  deepEqual(ledger.messages.find(hashOf(1), hub), {
    ...message,
    refusals: 0,
    batchLimit: undefined,
    createdAtMs: 1_000_000,
    updatedAtMs: 1_000_000,
  });
  equal(ledger.messages.find(hashOf(1), bsc), undefined);
});

test("messages: numbers that no u64 holds are refused before they are stored", (ledger) => {
  throws(() => ledger.messages.record(newMessage(1, { nonce: 2n ** 64n })), RangeError);
  throws(() => ledger.messages.record(newMessage(1, { timeoutSec: -1n })), RangeError);
  throws(() => ledger.messages.record(newMessage(1, { seenAtHeight: 2n ** 63n })), RangeError);
  deepEqual(ledger.messages.countByState(), []);
});

test("messages: a known message stays as it is, and the same commitment has a row per target", (ledger) => {
  ledger.messages.record(newMessage(1));
  ledger.messages.transition(hashOf(1), hub, { to: "ready" });
  equal(ledger.messages.record(newMessage(1)), "known");
  equal(ledger.messages.find(hashOf(1), hub)?.state, "ready");
  equal(ledger.messages.record(newMessage(1, { target: bsc, source: hub })), "new");
});

test(
  "messages: what a transaction carries is ready and submitted at once, all of it or none",
  (ledger, clock) => {
    const { messages } = ledger;
    for (const number of [1, 2, 3, 4]) messages.record(newMessage(number));
    messages.transition(hashOf(2), hub, { to: "held", reason: "race", attempts: 2 });
    messages.transition(hashOf(3), hub, { to: "ready" });
    ledger.transaction(() => messages.submitAll([1, 2, 3].map(hashOf), hub));
    const rows = messages.findAll([1, 2, 3, 4].map(hashOf), hub);
    deepEqual(rows.map((row) => [row?.state, row?.reason]), [
      ["submitted", undefined],
      ["submitted", undefined],
      ["submitted", undefined],
      ["seen", undefined],
    ]);
    equal(rows[1]?.attempts, 2);
    const atMs = clock.now();
    deepEqual(messages.listChanges(hashOf(2), hub), [
      { state: "seen", reason: undefined, detail: undefined, atMs },
      { state: "held", reason: "race", detail: undefined, atMs },
      { state: "submitted", reason: undefined, detail: undefined, atMs },
    ]);
    // One that is under way, one that has ended, one that is unknown.
    messages.transition(hashOf(3), hub, { to: "delivered", reason: "handled_by_us" });
    for (const wrong of [1, 3, 9]) {
      throws(() => ledger.transaction(() => messages.submitAll([hashOf(4), hashOf(wrong)], hub)));
      equal(messages.find(hashOf(4), hub)?.state, "seen");
    }
  },
);

test("messages: how one was found is a change of its own unless it is as nearly all are", (ledger, clock) => {
  const { messages } = ledger;
  const atMs = clock.now();
  messages.record(newMessage(1, { state: "held", reason: "left_to_fleet", detail: "second" }));
  messages.record(newMessage(2));
  const found = { state: "held", reason: "left_to_fleet", detail: "second", atMs };
  deepEqual(messages.listChanges(hashOf(1), hub), [found]);
  deepEqual(messages.listChanges(hashOf(2), hub), [{
    state: "seen",
    reason: undefined,
    detail: undefined,
    atMs,
  }]);
  deepEqual(messages.listChanges(hashOf(3), hub), []);
  messages.transition(hashOf(1), hub, { to: "timed_out", reason: "expired" });
  deepEqual(messages.listChanges(hashOf(1), hub).map(({ state }) => state), ["held", "timed_out"]);
});

test(
  "messages: due rows come by height, nonce and commitment, page by page, without the others",
  (ledger, clock) => {
    const add = (number: number, height: bigint, change = {}): void =>
      void ledger.messages.record(newMessage(number, { seenAtHeight: height, ...change }));
    add(5, 9n, { nonce: 10n });
    add(4, 9n, { nonce: 9n });
    add(3, 9n, { nonce: 9n });
    add(2, 10n);
    add(1, 8n);
    add(6, 1n, { nextAttemptAtMs: clock.now() + 1 });
    add(7, 1n, { state: "rejected" });
    add(8, 1n, { target: bsc });
    add(9, 1n, { nextAttemptAtMs: neverMs });
    add(10, 1n);
    ledger.messages.transition(hashOf(10), hub, { to: "ready" });
    ledger.messages.transition(hashOf(10), hub, { to: "submitted" });
    const seen: number[] = [];
    let afterKey: MessageRow | undefined;
    do {
      const rows = ledger.messages.listDue({ ...leg, nowMs: clock.now(), limit: 2, afterKey });
      ok(rows.length <= 2);
      seen.push(...rows.map(({ commitment }) => Number(commitment)));
      afterKey = rows.at(-1);
    } while (afterKey !== undefined);
    deepEqual(seen, [1, 3, 4, 5, 2]);
    deepEqual(ledger.messages.listSubmitted({ ...leg, limit: 10 }).map(({ commitment }) => commitment), [
      hashOf(10),
    ]);
  },
);

test(
  "messages: the next due time is the earliest of the open rows that come by themselves",
  (ledger, clock) => {
    equal(ledger.messages.nextDueAt(ethereum, hub), undefined);
    equal(ledger.messages.hasOpen(ethereum, hub), false);
    ledger.messages.record(newMessage(4, { nextAttemptAtMs: clock.now() + 5, state: "gone" }));
    equal(ledger.messages.hasOpen(ethereum, hub), false);
    ledger.messages.record(newMessage(1, { nextAttemptAtMs: neverMs }));
    equal(ledger.messages.nextDueAt(ethereum, hub), undefined);
    equal(ledger.messages.hasOpen(ethereum, hub), true);
    ledger.messages.record(newMessage(2, { nextAttemptAtMs: clock.now() + 70 }));
    ledger.messages.record(newMessage(3, { nextAttemptAtMs: clock.now() + 50 }));
    equal(ledger.messages.nextDueAt(ethereum, hub), clock.now() + 50);
    deepEqual(ledger.messages.listDue({ ...leg, nowMs: clock.now() + 49, limit: 9 }), []);
    equal(ledger.messages.listDue({ ...leg, nowMs: clock.now() + 50, limit: 9 }).length, 1);
  },
);

test("messages: a change replaces reason and detail, and keeps what it does not name", (ledger, clock) => {
  ledger.messages.record(newMessage(1));
  ledger.messages.transition(hashOf(1), hub, {
    to: "held",
    reason: "unprofitable",
    detail: "why",
    attempts: 2,
    requiredUsd18: 7n,
    offeredUsd18: 3n,
    nextAttemptAtMs: 5_000_000,
  });
  clock.jump(10);
  const row = ledger.messages.transition(hashOf(1), hub, { to: "ready" });
  deepEqual(row, ledger.messages.find(hashOf(1), hub));
  deepEqual(
    [
      row.state,
      row.reason,
      row.detail,
      row.attempts,
      row.requiredUsd18,
      row.offeredUsd18,
      row.nextAttemptAtMs,
    ],
    ["ready", undefined, undefined, 2, 7n, 3n, 5_000_000],
  );
  deepEqual([row.createdAtMs, row.updatedAtMs], [1_000_000, 1_000_010]);
  throws(() => ledger.messages.transition(hashOf(2), hub, { to: "ready" }), /No message/);
});

test(
  "messages: several rows are found in the order asked for, and change together or not at all",
  (ledger, clock) => {
    for (const number of [1, 2, 3]) ledger.messages.record(newMessage(number));
    const rows = ledger.messages.findAll([hashOf(3), hashOf(9), hashOf(1)], hub);
    deepEqual(rows, [
      ledger.messages.find(hashOf(3), hub),
      undefined,
      ledger.messages.find(hashOf(1), hub),
    ]);
    clock.jump(10);
    ledger.messages.transitionAll([hashOf(1), hashOf(2)], hub, { to: "ready" });
    deepEqual(
      [1, 2, 3].map((number) => ledger.messages.find(hashOf(number), hub)?.state),
      ["ready", "ready", "seen"],
    );
    equal(ledger.messages.find(hashOf(2), hub)?.updatedAtMs, 1_000_010);
    const change = { to: "submitted" } as const;
    throws(
      () => ledger.transaction(() => ledger.messages.transitionAll([hashOf(1), hashOf(3)], hub, change)),
      /Illegal change of a message: seen to submitted/,
    );
    throws(
      () => ledger.transaction(() => ledger.messages.transitionAll([hashOf(1), hashOf(9)], hub, change)),
      /No message/,
    );
    equal(ledger.messages.find(hashOf(1), hub)?.state, "ready");
  },
);

test("messages: expired rows are listed by timeout, due or not, but responses and endless requests are not", (ledger) => {
  ledger.messages.record(newMessage(1, { timeoutSec: 100n, nextAttemptAtMs: neverMs }));
  ledger.messages.record(newMessage(2, { timeoutSec: 99n }));
  ledger.messages.record(newMessage(3, { timeoutSec: 101n }));
  ledger.messages.record(newMessage(4, { timeoutSec: 0n }));
  ledger.messages.record(newMessage(5, { timeoutSec: 50n, kind: "getResponse" }));
  ledger.messages.record(newMessage(6, { timeoutSec: 50n, state: "gone" }));
  const list = (nowSec: bigint, limit = 9): number[] =>
    ledger.messages.listExpired({ ...leg, nowSec, limit }).map(({ commitment }) => Number(commitment));
  deepEqual(list(100n), [2, 1]);
  deepEqual(list(98n), []);
  deepEqual(list(200n, 1), [2]);
});

test("messages: waking makes the rows of one reason due and no others", (ledger, clock) => {
  const held = { state: "held", nextAttemptAtMs: neverMs } as const;
  ledger.messages.record(newMessage(1, { ...held, reason: "unprofitable" }));
  ledger.messages.record(newMessage(2, { ...held, reason: "too_large" }));
  ledger.messages.record(newMessage(3, { ...held, reason: "unprofitable", target: bsc }));
  equal(ledger.messages.wake(ethereum, hub, "unprofitable"), 1);
  const due = ledger.messages.listDue({ ...leg, nowMs: clock.now(), limit: 9 });
  deepEqual(due.map(({ commitment }) => commitment), [hashOf(1)]);
});

test(
  "messages: after the clock was set back, those that wait for times that it had are due, and no others",
  (ledger, clock) => {
    const waiting = { state: "held", reason: "race" } as const;
    const before = clock.now();
    ledger.messages.record(newMessage(1, { ...waiting, nextAttemptAtMs: before + 3_600_000 }));
    clock.jump(2_545_000);
    ledger.messages.record(newMessage(2, { ...waiting, nextAttemptAtMs: clock.now() + 30_000 }));
    ledger.messages.record(newMessage(3, { ...waiting, nextAttemptAtMs: neverMs }));
    equal(ledger.messages.wakeFromFuture(), 0);
    clock.jump(-2_545_000);
    equal(ledger.messages.wakeFromFuture(), 1);
    const due = ledger.messages.listDue({ ...leg, nowMs: clock.now(), limit: 9 });
    deepEqual(due.map(({ commitment }) => commitment), [hashOf(2)]);
    equal(ledger.messages.wakeFromFuture(), 0);
  },
);

test(
  "messages: after the clock was set back, pairs, rewards, journal, losses and notes keep no times that it had either",
  (ledger, clock) => {
    const pair = { target: bsc, sender: new Uint8Array(20), receiver: new Uint8Array(20).fill(1) };
    const reward = { kind: "rotation", chain: bsc, reference: "7" } as const;
    const day = 86_400_000;
    clock.jump(Date.UTC(2027, 0, 1));
    const ahead = clock.now();
    ledger.transaction(() => {
      const history = { failures: 1, isActive: true, lastTransaction: hashOf(1) };
      ledger.suspensions.write({ ...pair, ...history, nextTryAtMs: ahead + day });
      ledger.rewards.record({ ...reward, height: 1n, payload: new Uint8Array() });
      ledger.rewards.update(reward, { state: "pending", nextAttemptAtMs: ahead + 600_000 });
      ledger.submissions.record({ submission: newSubmission(1), kind: "delivery", items: [] });
      ledger.notes.write("loss_stop", bsc, { untilMs: ahead, isAhead: true });
      ledger.notes.write("one_in_flight", bsc, ahead);
      ledger.notes.write("reconciled", "a leg", 123456789);
      ledger.notes.write("price", bsc, { price27: "2".repeat(30), readAtMs: clock.now() - 400 * day });
    });
    clock.jump(-365 * day);
    equal(ledger.messages.wakeFromFuture(), 2);
    equal(ledger.suspensions.find(pair)?.nextTryAtMs, clock.now());
    equal(ledger.rewards.find(reward)?.nextAttemptAtMs, clock.now());
    equal(ledger.submissions.find(1)?.createdAtMs, clock.now());
    deepEqual(
      [
        ledger.notes.find("loss_stop", bsc, z.unknown()),
        ledger.notes.find("one_in_flight", bsc, z.unknown()),
        ledger.notes.find("reconciled", "a leg", z.unknown()),
      ],
      [undefined, undefined, 123456789],
    );
    notEqual(ledger.notes.find("price", bsc, z.unknown()), undefined);
    equal(ledger.messages.wakeFromFuture(), 0);
  },
);

test("cursors: go up only, unless the operator resets them", (ledger) => {
  const { cursors } = ledger;
  equal(cursors.find(ethereum, hub), undefined);
  cursors.advance(ethereum, hub, 400_000_000_000n);
  cursors.advance(ethereum, hub, 5n);
  equal(cursors.find(ethereum, hub), 400_000_000_000n);
  equal(cursors.find(hub, ethereum), undefined);
  cursors.reset(ethereum, hub, 5n);
  deepEqual(cursors.list(), [{ source: ethereum, target: hub, scanned: 5n }]);
  throws(() => cursors.advance(ethereum, hub, -1n), RangeError);
});

test("transactions: take everything back when the work throws, and do not nest", (ledger) => {
  throws(() =>
    ledger.transaction(() => {
      ledger.messages.record(newMessage(1));
      ledger.cursors.advance(ethereum, hub, 7n);
      throw new Error("stop");
    }), /stop/);
  equal(ledger.messages.find(hashOf(1), hub), undefined);
  equal(ledger.cursors.find(ethereum, hub), undefined);
  throws(() => ledger.transaction(() => ledger.transaction(() => 1)), /do not nest/);
  equal(ledger.transaction(() => ledger.messages.record(newMessage(1))), "new");
  // @ts-expect-error: the types refuse asynchronous work as well
  throws(() => ledger.transaction(() => Promise.resolve(1)), /asynchronous/);
});

test(
  "messages: the limit of a batch stays until it is lifted for those that wait for that reason",
  (ledger, clock) => {
    for (const number of [1, 2]) ledger.messages.record(newMessage(number));
    ledger.messages.transition(hashOf(1), hub, { to: "ready", reason: "reverted", batchLimit: 5 });
    ledger.messages.transition(hashOf(2), hub, { to: "ready", reason: "reverted", batchLimit: 5 });
    const later = { to: "held", reason: "unprofitable", nextAttemptAtMs: clock.now() + 60_000 } as const;
    equal(ledger.messages.transition(hashOf(1), hub, later).batchLimit, 5);
    equal(ledger.messages.liftBatchLimits(newMessage(1).source, hub, "unprofitable"), 1);
    const lifted = ledger.messages.find(hashOf(1), hub);
    deepEqual([lifted?.batchLimit, lifted?.nextAttemptAtMs], [undefined, clock.now()]);
    equal(ledger.messages.find(hashOf(2), hub)?.batchLimit, 5);
  },
);
