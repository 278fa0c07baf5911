import { collectMessages } from "../../../../src/core/chains/submission.ts";
import assert from "node:assert/strict";
import type { Message } from "../../../../src/core/ismp/message.ts";
import type { LegRun } from "../../../../src/messaging/relay/leg.ts";
import { COST_18, payAndUpdate, PRICE_WEI, profitOf, running } from "../market.ts";
import { mine, outbound, round, settle, trust } from "../rounds.ts";
import { delivered, Fixture, names, Relayer, setUp, setUpWith } from "../fixture.ts";
import { withLedgerFile } from "../../../support/ledger.ts";

/** Sizes of the transactions that were wasted, in order. */
function wasted(fixture: Fixture): number[] {
  return fixture.two.reverted().map(({ delivery }) => collectMessages(delivery).length);
}

/** One round, and blocks until what it sent is settled. */
async function roundAndSettle(fixture: Fixture, relayer: Relayer, leg: LegRun): Promise<void> {
  await round(relayer, leg);
  await fixture.blocks(1 + Number(fixture.two.finalityLag));
  await settle(relayer);
  await settle(relayer);
  await fixture.clock.advance(5_000);
}

function spoil(fixture: Fixture, message: Message): Message {
  fixture.two.spoiling.add(message.commitment);
  return message;
}

Deno.test("reverting message: two of them in one batch are both found, and no other message waits for longer than a round", async () => {
  const { fixture, relayer, leg, messages } = await setUpWith(16);
  const bad = [spoil(fixture, messages[0]), spoil(fixture, messages[9])];
  trust(leg, messages);
  for (let times = 0; times < 10; times++) {
    await roundAndSettle(fixture, relayer, leg);
    for (const message of messages.filter((each) => !bad.includes(each))) {
      const row = relayer.row(message);
      assert.notEqual(row.state, "held");
      assert.ok(row.state === "delivered" || row.nextAttemptAtMs <= fixture.clock.now());
    }
  }
  assert.equal(delivered(fixture.two).length, 14);
  assert.deepEqual(bad.map((message) => relayer.row(message).reason), ["reverted", "reverted"]);
});

Deno.test("reverting message: after a restart the members of a reverted batch still go in halves, fresh messages apart from them", async () => {
  const fixture = new Fixture();
  const messages = await fixture.sendFrom(fixture.hub, fixture.two, 8);
  spoil(fixture, messages[3]);
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    const before = new Relayer(fixture, ledger);
    await roundAndSettle(fixture, before, outbound(before));
    assert.deepEqual(wasted(fixture), [8]);
    const after = new Relayer(fixture, reopen());
    const leg = outbound(after);
    const fresh = await fixture.sendFrom(fixture.hub, fixture.two, 3);
    await roundAndSettle(fixture, after, leg);
    assert.deepEqual(wasted(fixture), [8, 4]);
    for (let times = 0; times < 4; times++) await roundAndSettle(fixture, after, leg);
    assert.deepEqual(wasted(fixture), [8, 4, 2, 1]);
    assert.equal(delivered(fixture.two).length, 7 + fresh.length);
    assert.deepEqual(fresh.map((message) => after.submissions(message).length), [1, 1, 1]);
  });
});

Deno.test("reverting message: what does not pay in the small batch it got is tried again, and goes once it does", async () => {
  const { fixture, relayer } = setUp();
  const fee18 = 2n * COST_18;
  const messages = await payAndUpdate(fixture, [fee18, fee18, fee18, COST_18 * 3n / 2n]);
  const spoiler = spoil(fixture, messages[0]);
  const leg = { ...outbound(relayer), profit: profitOf(relayer, 10) };
  await roundAndSettle(fixture, relayer, leg);
  assert.deepEqual(wasted(fixture), [4]);
  fixture.two.priceWei = 1_000n * PRICE_WEI;
  // One batch at a time while nothing was won yet.
  for (let half = 0; half < 2; half++) await round(relayer, leg);
  for (const message of messages) {
    assert.equal(relayer.row(message).reason, "unprofitable");
    assert.ok(relayer.row(message).nextAttemptAtMs < fixture.clock.now() + 60_000);
  }
  fixture.two.priceWei = PRICE_WEI * 3n / 2n;
  {
    await using _ = running(relayer, leg);
    await fixture.blocks(120);
  }
  assert.equal(delivered(fixture.two).length, 2);
  assert.equal(relayer.row(spoiler).reason, "reverted");
  const { reason, batchLimit } = relayer.row(messages[3]);
  assert.deepEqual([reason, batchLimit], ["unprofitable", undefined], "the reason of the reverts is found");
});

Deno.test("reverting message: after a host froze no message is blamed; the batch stays together, and may go before the revert is final", async () => {
  const { fixture, relayer, leg, first } = await setUpWith(4, { nodes: { two: { finalityLag: 5n } } });
  await round(relayer, leg);
  for (const to of ["ready", "submitted"] as const) {
    relayer.ledger.messages.transition(first.commitment, names.two, { to, attempts: 9 });
  }
  fixture.two.freeze(true);
  await mine(relayer);
  assert.equal(relayer.row(first).attempts, 10, "earlier ones count on, and make the pause no longer");
  fixture.two.freeze(false);
  await fixture.blocks(1);
  await fixture.clock.advance(5_000);
  assert.equal((await round(relayer, leg)).sent, 4);
  await mine(relayer, 6);
  await settle(relayer);
  assert.deepEqual(wasted(fixture), [4]);
  const submissions = relayer.submissions(first);
  const sizes = submissions.map(({ id }) => relayer.ledger.submissions.itemsOf(id).length);
  assert.deepEqual([submissions.map(({ state }) => state), sizes], [["failed", "final"], [4, 4]]);
  const record = relayer.ledger.deliveries.find(first.commitment, names.two);
  assert.equal(record?.txHash, submissions[1]?.submission.hash);
});
