import assert from "node:assert/strict";
import type { Message } from "../../../src/core/ismp/message.ts";
import { CompetitorDeliveries } from "../../../src/messaging/relay/competitor_deliveries.ts";
import { running } from "./market.ts";
import { outbound, round, settle } from "./rounds.ts";
import { delivered, memoryLedger, names, Relayer, World } from "./fixture.ts";

interface Case {
  readonly world: World;
  readonly relayer: Relayer;
  readonly message: Message;
}

/** A relayer that has just seen another one's delivery, which is not final. */
async function prepare(): Promise<Case> {
  const world = new World({ two: { finalityLag: 40n } });
  const [message] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(message !== undefined);
  const competitor = new Relayer(world, memoryLedger(world), { number: 2 });
  await round(competitor, outbound(competitor));
  await world.blocks(1);
  await settle(competitor);
  const relayer = new Relayer(world, memoryLedger(world));
  await round(relayer, outbound(relayer));
  assert.equal(relayer.row(message).state, "delivered_by_other");
  return { world, relayer, message };
}

Deno.test("others: a delivery that a reorganisation takes away comes back to us", async () => {
  const { world, relayer, message } = await prepare();
  world.two.reorganise(1, "forget");
  assert.deepEqual(delivered(world.two), []);
  await running(relayer, outbound(relayer), async () => {
    await world.blocks(130);
    assert.deepEqual([relayer.row(message).state, relayer.row(message).reason], [
      "delivered",
      "handled_by_us",
    ]);
    assert.deepEqual(delivered(world.two), [message.commitment]);
  });
});

Deno.test("others: a delivery that becomes final is read once more and left alone", async () => {
  const { world, relayer, message } = await prepare();
  await running(relayer, outbound(relayer), async () => {
    await world.blocks(130);
    const looks = (): number => relayer.two.calls.filter((method) => method === "fetchFinalHeight").length;
    const before = looks();
    await world.blocks(130);
    assert.equal(looks(), before, "nothing is left to look at");
    assert.equal(relayer.row(message).state, "delivered_by_other");
  });
});

Deno.test("others: a start looks at the last hour again, and at nothing older", async () => {
  for (const [waitMs, state] of [[1_800_000, "ready"], [3_700_000, "delivered_by_other"]] as const) {
    const { world, relayer, message } = await prepare();
    world.two.reorganise(1, "forget");
    await world.clock.advance(waitMs);
    const others = new CompetitorDeliveries(relayer.deps, relayer.two);
    for (let look = 0; look < 5; look++) {
      await others.check(relayer.signal);
      await world.blocks(45);
    }
    assert.equal(relayer.row(message, names.two).state, state);
  }
});

Deno.test("others: a receipt that a second endpoint does not confirm ends nothing; the message waits and is looked at again", async () => {
  const world = new World();
  const [message] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(message !== undefined);
  const competitor = new Relayer(world, memoryLedger(world), { number: 2 });
  await round(competitor, outbound(competitor));
  await world.blocks(1);
  const relayer = new Relayer(world, memoryLedger(world));
  relayer.two.areWitnessesUp = false;
  await round(relayer, outbound(relayer));
  assert.deepEqual([relayer.row(message).state, relayer.row(message).reason], ["held", "race"]);
  assert.deepEqual(relayer.submissions(message), []);
  relayer.two.areWitnessesUp = true;
  await world.clock.advance(10_000);
  await round(relayer, outbound(relayer));
  assert.equal(relayer.row(message).state, "delivered_by_other");
});

for (const hasWitness of [true, false]) {
  Deno.test(`others: a node that is behind takes back no delivery that is final, ${hasWitness ? "with" : "without"} a second opinion`, async () => {
    const { world, relayer, message } = await prepare();
    const others = new CompetitorDeliveries(relayer.deps, relayer.two);
    relayer.two.areWitnessesUp = hasWitness;
    for (let look = 0; look < 5; look++) {
      relayer.two.readsBehind = world.two.head.height - 1n;
      await others.check(relayer.signal);
      await world.blocks(45);
    }
    assert.equal(relayer.row(message).state, "delivered_by_other");
    // What could not be confirmed is looked at again.
    relayer.two.areWitnessesUp = true;
    const looks = (): number =>
      relayer.two.calls.filter((method) => method === "fetchCertainReceipts").length;
    const before = looks();
    relayer.two.readsBehind = world.two.head.height - 1n;
    await others.check(relayer.signal);
    assert.equal(looks() > before, !hasWitness);
    assert.equal(relayer.row(message).state, "delivered_by_other");
  });
}
