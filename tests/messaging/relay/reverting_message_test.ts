import assert from "node:assert/strict";
import type { Message } from "../../../src/core/ismp/message.ts";
import { NEVER_MS } from "../../../src/messaging/relay/decisions/retry_schedule.ts";
import type { Leg } from "../../../src/messaging/relay/leg.ts";
import { COST_18, payAndUpdate, PRICE_WEI, profitOf, running } from "./market.ts";
import { outbound, round, settle } from "./rounds.ts";
import { delivered, memoryLedger, Relayer, withLedger, World } from "./fixture.ts";

/** Sizes of the transactions that were paid for in vain, in order. */
function wasted(world: World): number[] {
  return world.two.reverted().map(({ delivery }) =>
    delivery.steps.flatMap((step) => step.kind === "messages" ? step.messages : []).length
  );
}

/** One round, and blocks until what it sent is settled. */
async function roundAndSettle(world: World, relayer: Relayer, leg: Leg): Promise<void> {
  await round(relayer, leg);
  await world.blocks(1 + Number(world.two.finalityLag));
  await settle(relayer);
  await settle(relayer);
  await world.clock.advance(5_000);
}

function spoil(world: World, message: Message | undefined): Message {
  assert.ok(message !== undefined);
  world.two.spoiling.add(message.commitment);
  return message;
}

Deno.test("spoiler: a batch that one message makes revert goes in halves until that one stands alone, and the others arrive", async () => {
  const world = new World();
  const messages = await world.sendFrom(world.hub, world.two, 20);
  const spoiler = spoil(world, messages[7]);
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  for (let times = 0; times < 8; times++) await roundAndSettle(world, relayer, leg);
  assert.deepEqual(wasted(world), [20, 10, 5, 3, 1]);
  const others = messages.filter((message) => message !== spoiler);
  assert.deepEqual(delivered(world.two).sort(), others.map(({ commitment }) => commitment).sort());
  assert.deepEqual(others.map((message) => relayer.row(message).attempts), others.map(() => 0));
  const { state, reason, attempts, nextAttemptAtMs } = relayer.row(spoiler);
  assert.deepEqual({ state, reason, attempts }, { state: "held", reason: "reverted", attempts: 1 });
  assert.equal(nextAttemptAtMs, NEVER_MS, "it made a transaction revert by itself");
});

Deno.test("spoiler: two of them in one batch are both found, and nobody waits for longer than a round", async () => {
  const world = new World();
  const messages = await world.sendFrom(world.hub, world.two, 16);
  const bad = [spoil(world, messages[0]), spoil(world, messages[9])];
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  for (let times = 0; times < 10; times++) {
    await roundAndSettle(world, relayer, leg);
    for (const message of messages.filter((each) => !bad.includes(each))) {
      const row = relayer.row(message);
      assert.notEqual(row.state, "held");
      assert.ok(row.state === "delivered" || row.nextAttemptAtMs <= world.clock.now());
    }
  }
  assert.equal(delivered(world.two).length, 14);
  assert.deepEqual(bad.map((message) => relayer.row(message).reason), ["reverted", "reverted"]);
});

Deno.test("spoiler: after a restart the members of a reverted batch still go in halves, fresh messages apart from them", async () => {
  const world = new World();
  const messages = await world.sendFrom(world.hub, world.two, 8);
  spoil(world, messages[3]);
  await withLedger(world, async (ledger, reopen) => {
    const before = new Relayer(world, ledger);
    await roundAndSettle(world, before, outbound(before));
    assert.deepEqual(wasted(world), [8]);
    const after = new Relayer(world, reopen());
    const leg = outbound(after);
    const fresh = await world.sendFrom(world.hub, world.two, 3);
    await roundAndSettle(world, after, leg);
    assert.deepEqual(wasted(world), [8, 4]);
    for (let times = 0; times < 4; times++) await roundAndSettle(world, after, leg);
    assert.deepEqual(wasted(world), [8, 4, 2, 1]);
    assert.equal(delivered(world.two).length, 7 + fresh.length);
    assert.deepEqual(fresh.map((message) => after.submissions(message).length), [1, 1, 1]);
  });
});

Deno.test("spoiler: what does not pay in the small batch it got is tried again, and goes once it does", async () => {
  const world = new World();
  const messages = await payAndUpdate(world, Array.from({ length: 4 }, () => 2n * COST_18));
  const spoiler = spoil(world, messages[0]);
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = { ...outbound(relayer), profit: profitOf(relayer, 10) };
  await roundAndSettle(world, relayer, leg);
  assert.deepEqual(wasted(world), [4]);
  world.two.priceWei = 1_000n * PRICE_WEI;
  // One batch at a time while nothing was won yet.
  for (let half = 0; half < 2; half++) await round(relayer, leg);
  for (const message of messages) {
    assert.equal(relayer.row(message).reason, "unprofitable");
    assert.ok(relayer.row(message).nextAttemptAtMs < world.clock.now() + 60_000);
  }
  world.two.priceWei = PRICE_WEI;
  await running(relayer, leg, () => world.blocks(120));
  assert.equal(delivered(world.two).length, 3);
  assert.equal(relayer.row(spoiler).reason, "reverted");
});

Deno.test("spoiler: a host that froze meanwhile is nobody's fault, and the batch stays together", async () => {
  const world = new World();
  const messages = await world.sendFrom(world.hub, world.two, 4);
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  await round(relayer, leg);
  world.two.freeze(true);
  await world.blocks(1);
  await settle(relayer);
  world.two.freeze(false);
  await world.blocks(3);
  await settle(relayer);
  await world.clock.advance(5_000);
  assert.equal((await round(relayer, leg)).sent, 4);
  await world.blocks(3);
  await settle(relayer);
  assert.deepEqual(wasted(world), [4]);
  assert.deepEqual(
    relayer.submissions(messages[0] ?? world.message()).map(({ id }) =>
      relayer.ledger.submissions.itemsOf(id).length
    ),
    [4, 4],
  );
});
