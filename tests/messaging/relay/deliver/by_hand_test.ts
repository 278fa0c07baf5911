/** Messages that an operator has delivered by hand: whatever the profit rule says, and only that. */
import assert from "node:assert/strict";
import { deliverByHand } from "../../../../src/messaging/relay/deliver/by_hand.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import type { LegRun } from "../../../../src/messaging/relay/leg.ts";
import { recordMissed } from "../../../../src/messaging/relay/missed_messages.ts";
import { readTransactionRevenue } from "../../../../src/messaging/relay/deliver/revenue.ts";
import { COST_18, payAndUpdate, profitOf } from "../market.ts";
import { round, settle } from "../rounds.ts";
import { delivered, Fixture, memoryLedger, names, Relayer } from "../fixture.ts";
import { neverMs } from "../../../../src/messaging/ledger/ledger.ts";

interface Scene {
  readonly fixture: Fixture;
  readonly relayer: Relayer;
  readonly leg: LegRun;
  readonly poor: Message;
}

/** A message that does not pay, held by the profit rule. */
async function holdPoor(): Promise<Scene> {
  const fixture = new Fixture();
  const [poor] = await payAndUpdate(fixture, [5n]);
  assert.ok(poor !== undefined);
  const relayer = new Relayer(fixture, memoryLedger(fixture));
  const leg = relayer.leg(relayer.hub, relayer.two, { profit: profitOf(relayer, 10) });
  await round(relayer, leg);
  assert.deepEqual([relayer.row(poor).state, relayer.row(poor).reason], ["held", "unprofitable"]);
  return { fixture, relayer, leg, poor };
}

Deno.test("by hand: a dry run says what would happen with all numbers, and changes nothing", async () => {
  const { relayer, leg, poor } = await holdPoor();
  const before = relayer.row(poor);
  const result = await deliverByHand(leg, before, { isDryRun: true });
  assert.equal(result.outcome, "possible");
  const { decision } = result;
  assert.ok(decision !== undefined);
  assert.deepEqual(
    [decision.verdict, decision.feeUsd18, decision.costUsd18, decision.requiredUsd18, decision.priceOrigin],
    ["unprofitable", 5n, COST_18, COST_18 + COST_18 / 10n, "router"],
  );
  assert.deepEqual(relayer.row(poor), before);
  assert.deepEqual(relayer.ledger.submissions.listUnresolved(names.two), []);
});

Deno.test("by hand: what does not pay is sent, journalled with the operator's rule, and settled as ever", async () => {
  const { fixture, relayer, leg, poor } = await holdPoor();
  const result = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(result.outcome, "sent");
  const [submission] = relayer.ledger.submissions.listUnresolved(names.two);
  assert.ok(submission !== undefined);
  assert.equal(result.transaction, submission.submission.hash);
  const { rule, offeredUsd18 } = relayer.ledger.spending.find(submission.id) ?? {};
  assert.deepEqual([rule, offeredUsd18], ["operator", 5n]);
  assert.deepEqual(
    await readTransactionRevenue({ ...relayer.on(relayer.two), replacing: undefined }, submission),
    { kind: "any" },
    "a stuck one is replaced at any price",
  );
  const again = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.deepEqual([again.outcome, again.transaction], ["waiting", submission.submission.hash]);
  await fixture.blocks(2);
  await settle(relayer, relayer.two);
  assert.equal(relayer.row(poor).state, "delivered");
  assert.deepEqual(delivered(fixture.two), [poor.commitment]);
  const over = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(over.outcome, "over");
});

Deno.test("by hand: at the same time as a round of the leg, it is sent once", async () => {
  const { fixture, relayer, leg, poor } = await holdPoor();
  const free = relayer.leg(relayer.hub, relayer.two);
  relayer.ledger.messages.wake(names.hub, names.two, "unprofitable");
  const row = relayer.row(poor);
  await Promise.all([round(relayer, free), deliverByHand(leg, row, { isDryRun: false })]);
  assert.equal(relayer.ledger.submissions.listUnresolved(names.two).length, 1);
  await fixture.blocks(2);
  await settle(relayer, relayer.two);
  assert.equal(relayer.row(poor).state, "delivered");
});

Deno.test("by hand: what another relayer has delivered is not sent again", async () => {
  const { fixture, relayer, leg, poor } = await holdPoor();
  const other = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  await round(other, other.leg(other.hub, other.two));
  await fixture.blocks(5);
  const result = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(result.outcome, "over");
  assert.equal(relayer.row(poor).state, "delivered_by_other");
});

Deno.test("by hand: a message above what the target knows, a frozen target and suspended modules wait, and say for what", async () => {
  const { fixture, relayer, leg, poor } = await holdPoor();
  const late = fixture.message();
  fixture.one.dispatch(late, 5n);
  fixture.hub.dispatch(late);
  await fixture.blocks(1);
  const row = { ...relayer.row(poor), seenAtHeight: 10n ** 9n };
  const early = await deliverByHand(leg, row, { isDryRun: false });
  assert.equal(early.outcome, "waiting");
  assert.match(early.text, /knows KUSAMA-4009 up to block \d+, the message is in block 1000000000/);
  const to = poor.kind === "post" ? poor.request.to : new Uint8Array();
  const from = poor.kind === "post" ? poor.request.from : new Uint8Array();
  relayer.ledger.suspensions.write({
    target: names.two,
    from,
    to,
    failures: 3,
    isActive: true,
    nextTryAtMs: neverMs,
    trial: undefined,
    lastTransaction: poor.commitment,
  });
  const suspended = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(suspended.outcome, "waiting");
  assert.match(suspended.text, /`release` them first/);
});

Deno.test("missed messages: blocks read again find what has no row, once, and no block ahead of the leg", async () => {
  const fixture = new Fixture();
  const [first] = await fixture.sendFrom(fixture.one, fixture.hub, 3);
  assert.ok(first !== undefined);
  const relayer = new Relayer(fixture, memoryLedger(fixture));
  const leg = relayer.leg(relayer.one, relayer.hub);
  const everything = { from: 1n, to: 10n ** 9n };
  assert.equal((await recordMissed(leg, everything)).read, undefined);
  await fixture.blocks(1);
  const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
  relayer.ledger.cursors.reset(names.one, names.hub, view.height);
  const found = await recordMissed(leg, everything);
  assert.deepEqual([found.read?.to, found.messages, found.missed.length], [view.height, 3, 3]);
  assert.equal(relayer.ledger.messages.find(first.commitment, names.hub)?.state, "seen");
  assert.deepEqual((await recordMissed(leg, everything)).missed, []);
});
