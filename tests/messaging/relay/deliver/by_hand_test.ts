/** Messages that an operator has delivered by hand: whatever the profit rule says, and only that. */
import assert from "node:assert/strict";
import type { Ledger } from "../../../../src/messaging/ledger/ledger.ts";
import { deliverByHand } from "../../../../src/messaging/relay/deliver/by_hand.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import type { LegRun } from "../../../../src/messaging/relay/leg.ts";
import { recordMissed } from "../../../../src/messaging/relay/scan.ts";
import { readTransactionRevenue } from "../../../../src/messaging/relay/settle/replacement.ts";
import { COST_18, pay, payAndUpdate, profitOf, prove, running, stepsOf } from "../market.ts";
import { mine, round, suspend } from "../rounds.ts";
import { delivered, Fixture, memoryLedger, names, Relayer, type Scene, sender, setUp } from "../fixture.ts";
import { fromHex } from "../../../../src/core/encoding/bytes.ts";

type Held = Scene & { readonly poor: Message };

/** A message that does not pay, held by the profit rule. */
async function holdPoor(): Promise<Held> {
  const scene = setUp();
  const { fixture, relayer } = scene;
  const [poor] = await payAndUpdate(fixture, [5n]);
  const leg = relayer.leg(relayer.hub, relayer.two, { profit: profitOf(relayer, 10) });
  await round(relayer, leg);
  assert.deepEqual(relayer.stateOf(poor), ["held", "unprofitable"]);
  return { ...scene, leg, poor };
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
    await readTransactionRevenue({ ...relayer.on(relayer.two), profit: leg.profit }, submission),
    { kind: "any" },
    "a stuck one is replaced at any price",
  );
  const again = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.deepEqual([again.outcome, again.transaction], ["waiting", submission.submission.hash]);
  await mine(relayer, 2, relayer.two);
  assert.equal(relayer.row(poor).state, "delivered");
  assert.deepEqual(delivered(fixture.two), [poor.commitment]);
  const over = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(over.outcome, "over");
});

Deno.test("by hand: at the same time as a round of the leg, it is sent once", async () => {
  const { relayer, leg, poor } = await holdPoor();
  const free = relayer.leg(relayer.hub, relayer.two);
  relayer.ledger.messages.wake(names.hub, names.two, "unprofitable");
  const row = relayer.row(poor);
  await Promise.all([round(relayer, free), deliverByHand(leg, row, { isDryRun: false })]);
  assert.equal(relayer.ledger.submissions.listUnresolved(names.two).length, 1);
  await mine(relayer, 2, relayer.two);
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

Deno.test("by hand: a dry run to the hub tells that the sender has no bandwidth left, and proves nothing for it", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  fixture.hub.meter(fromHex(sender), 5n);
  const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await round(relayer, leg);
  assert.equal(relayer.row(message, names.hub).reason, "no_bandwidth");
  const asked = relayer.hub.calls.length;
  const result = await deliverByHand(leg, relayer.row(message, names.hub), { isDryRun: true });
  assert.equal(result.outcome, "waiting");
  assert.match(
    result.text,
    /^KUSAMA-4009 would refuse it: it needs \d+ bytes, the sender has 5 left at the hub$/,
  );
  assert.ok(!relayer.hub.calls.slice(asked).includes("simulate"));
});

Deno.test("by hand: a message above what the target knows, and one of suspended modules, wait, and say for what", async () => {
  const { relayer, leg, poor } = await holdPoor();
  const row = { ...relayer.row(poor), seenAtHeight: 10n ** 9n };
  const early = await deliverByHand(leg, row, { isDryRun: false });
  assert.equal(early.outcome, "waiting");
  assert.match(early.text, /knows KUSAMA-4009 up to block \d+, the message is in block 1000000000/);
  suspend(relayer, poor);
  const suspended = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(suspended.outcome, "waiting");
  assert.match(suspended.text, /`release` them first/);
});

/** A host that knows an old height of the hub; messages to it do not pay. */
async function startBundling(options: { readonly challengePeriodSec?: bigint } = {}): Promise<Fixture> {
  const fixture = new Fixture({ two: { setId: 0n, ...options } });
  await fixture.blocks(3);
  await fixture.update(fixture.hub, fixture.two);
  return fixture;
}

/** A chain with a relayer, and a leg that takes proofs and messages together. */
function bundling(fixture: Fixture, ledger?: Ledger): Scene {
  const scene = setUp({ fixture, ledger });
  const { relayer } = scene;
  const bundles = { hub: relayer.hub, receiver: relayer.two };
  return { ...scene, leg: relayer.leg(relayer.hub, relayer.two, { bundles, profit: profitOf(relayer, 10) }) };
}

/** A message that the target cannot verify yet and that does not pay: a relayer has found it, and is gone. */
async function holdAbove(fixture: Fixture): Promise<Held> {
  const [poor] = await pay(fixture, [5n]);
  await prove(fixture, "messaging");
  const first = bundling(fixture);
  {
    await using _ = running(first.relayer, first.leg);
    await fixture.blocks(5);
  }
  assert.equal(first.relayer.row(poor).state, "held");
  assert.deepEqual(stepsOf(fixture), []);
  return { ...bundling(fixture, first.relayer.ledger), poor };
}

Deno.test("by hand: the consensus proofs that the target lacks go in front, and a dry run says what they cost", async () => {
  const fixture = await startBundling();
  await prove(fixture, "rotation");
  const { relayer, leg, poor } = await holdAbove(fixture);
  const row = relayer.row(poor);
  const tried = await deliverByHand(leg, row, { isDryRun: true });
  assert.deepEqual([tried.outcome, tried.text], [
    "possible",
    `${names.two} would accept it with 2 consensus proofs of the hub in front.`,
  ]);
  const { consensusProofs } = tried;
  assert.ok(consensusProofs !== undefined && tried.gas !== undefined);
  assert.deepEqual([consensusProofs.count, consensusProofs.sets], [2, [1n]]);
  assert.ok(consensusProofs.height >= row.seenAtHeight && consensusProofs.height === tried.provedAt);
  assert.ok(consensusProofs.bytes > 0 && consensusProofs.gas > 0n && consensusProofs.gas < tried.gas);
  assert.equal(consensusProofs.costWei, consensusProofs.gas * fixture.two.priceWei);
  assert.deepEqual(relayer.row(poor), row);
  const sent = await deliverByHand(leg, row, { isDryRun: false });
  assert.equal(sent.outcome, "sent");
  const again = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.deepEqual([again.outcome, again.transaction], ["waiting", sent.transaction]);
  await mine(relayer, 3, relayer.two);
  assert.deepEqual(stepsOf(fixture), [["consensus", "consensus", "messages"]]);
  assert.equal(relayer.row(poor).state, "delivered");
});

Deno.test("by hand: proofs that do not fit beside the message go ahead of it", async () => {
  const fixture = await startBundling();
  for (let each = 0; each < 3; each++) await prove(fixture, "rotation");
  const { relayer, leg, poor } = await holdAbove(fixture);
  const tried = await deliverByHand(leg, relayer.row(poor), { isDryRun: true });
  assert.deepEqual([tried.outcome, tried.consensusProofs?.count, tried.consensusProofs?.sets], [
    "possible",
    3,
    [1n, 2n, 3n],
  ]);
  assert.match(tried.text, /^3 consensus proofs of the hub go ahead of the message, .*relay it again when/);
  const ahead = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  const [submission] = relayer.ledger.submissions.listUnresolved(names.two);
  assert.deepEqual([ahead.outcome, ahead.transaction], ["waiting", submission?.submission.hash]);
  const early = await deliverByHand(leg, relayer.row(poor), { isDryRun: false });
  assert.equal(early.outcome, "waiting", "one transaction at a time");
  await mine(relayer, 5, relayer.two);
  assert.equal((await deliverByHand(leg, relayer.row(poor), { isDryRun: false })).outcome, "sent");
  await mine(relayer, 3, relayer.two);
  assert.equal(relayer.row(poor).state, "delivered");
  assert.deepEqual(stepsOf(fixture), [["consensus", "consensus", "consensus"], ["consensus", "messages"]]);
});

Deno.test("by hand: where no proof can go with the message, it is said why", async () => {
  const fixture = await startBundling();
  const { relayer, leg, poor } = await holdAbove(fixture);
  const row = relayer.row(poor);
  const above = { ...row, seenAtHeight: 10n ** 9n };
  const textOf = async (at: LegRun, of = row): Promise<string> => {
    const { outcome, text } = await deliverByHand(at, of, { isDryRun: false });
    assert.equal(outcome, "waiting");
    return text;
  };
  assert.match(await textOf(leg, above), /, since the hub has accepted no proof of that block /);
  assert.match(await textOf({ ...leg, bundles: undefined }), /next update of the light client\.$/);
  for (const { height } of fixture.hub.head.state.proofs.list) relayer.hub.acceptedProofs.missing.add(height);
  assert.match(await textOf(leg), /, since the hub's node does not serve the bytes of the proof\.$/);
  assert.deepEqual(stepsOf(fixture), []);
});

Deno.test("by hand: no proof goes with a message to a chain where heights have a challenge period", async () => {
  const fixture = await startBundling({ challengePeriodSec: 600n });
  const { relayer, leg } = bundling(fixture);
  const [late] = await pay(fixture, [5n]);
  await prove(fixture, "messaging");
  await fixture.update(fixture.hub, fixture.two);
  await round(relayer, leg);
  const row = { ...relayer.row(late), seenAtHeight: 10n ** 9n };
  const { outcome, text } = await deliverByHand(leg, row, { isDryRun: false });
  assert.equal(outcome, "waiting");
  assert.match(text, /, since no proof can go with the message where heights have a challenge period\.$/);
});

Deno.test("missed messages: blocks read again find what has no row, once, and no block ahead of the leg", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  const [first] = await fixture.sendFrom(fixture.one, fixture.hub, 3);
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
