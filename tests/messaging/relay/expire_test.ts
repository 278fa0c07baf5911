import assert from "node:assert/strict";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import { expire } from "../../../src/messaging/relay/expire.ts";
import { outbound, round, settle } from "./rounds.ts";
import { memoryLedger, names, Relayer, World } from "./fixture.ts";

/** Messages to the second chain that time out a while after they left the hub. */
async function sendExpiring(world: World, count: number): Promise<readonly Message[]> {
  const timeoutTimestampSec = BigInt(Math.floor(world.clock.now() / 1_000)) + 200n;
  return await world.sendFrom(world.hub, world.two, count, { timeoutTimestampSec });
}

/** Delivers everything that is due, as a relayer with a database of its own. */
async function deliver(world: World, number: number): Promise<void> {
  const relayer = new Relayer(world, memoryLedger(world), { number });
  await round(relayer, outbound(relayer));
  await world.blocks(1);
}

/** Lets the messages time out, then looks at them with an empty database. */
async function lookAgain(world: World): Promise<Relayer> {
  await world.clock.advance(300_000);
  await world.blocks(1);
  const relayer = new Relayer(world, memoryLedger(world));
  await round(relayer, outbound(relayer));
  return relayer;
}

Deno.test("expire: what we delivered before the database was lost is ours also when it has timed out since (I4)", async () => {
  const world = new World();
  const [message] = await sendExpiring(world, 1);
  assert.ok(message !== undefined);
  await deliver(world, 1);
  const relayer = await lookAgain(world);
  const { state, reason } = relayer.row(message);
  assert.deepEqual([state, reason], ["delivered", "handled_by_us"]);
  const found = relayer.ledger.deliveries.find(message.commitment, names.two);
  assert.equal(toHex(found?.relayer ?? new Uint8Array()), toHex(relayer.address));
  await world.blocks(3);
  await settle(relayer);
  assert.equal(relayer.ledger.deliveries.find(message.commitment, names.two)?.isFinal, true);
});

Deno.test("expire: a receipt of somebody else ends a message as theirs, none as timed out", async () => {
  const world = new World();
  const [theirs] = await sendExpiring(world, 1);
  await deliver(world, 2);
  const [nobodys] = await sendExpiring(world, 1);
  assert.ok(theirs !== undefined && nobodys !== undefined);
  const relayer = await lookAgain(world);
  assert.equal(relayer.row(theirs).state, "delivered_by_other");
  assert.deepEqual([relayer.row(nobodys).state, relayer.row(nobodys).reason], ["timed_out", "expired"]);
  assert.equal(relayer.ledger.deliveries.find(theirs.commitment, names.two), undefined);
});

Deno.test("expire: more messages than fit into one question end in one round, and without an answer none does", async () => {
  const world = new World();
  const messages = await sendExpiring(world, 250);
  await world.clock.advance(300_000);
  await world.blocks(1);
  const relayer = new Relayer(world, memoryLedger(world));
  relayer.two.faults.add("fetchCertainReceipts", { kind: "throw", code: "timeout" }, { skip: 1 });
  await assert.rejects(round(relayer, outbound(relayer)));
  const ended = (): number => messages.filter((each) => relayer.row(each).state === "timed_out").length;
  assert.equal(ended(), 100);
  await round(relayer, outbound(relayer));
  assert.equal(ended(), 250);
});

Deno.test("expire: a node that is behind our own delivery does not make it time out, and its fee is claimed", async () => {
  const world = new World();
  const [message] = await sendExpiring(world, 1);
  assert.ok(message !== undefined);
  await deliver(world, 1);
  await world.clock.advance(300_000);
  await world.blocks(1);
  const relayer = new Relayer(world, memoryLedger(world));
  relayer.two.areWitnessesUp = false;
  await round(relayer, outbound(relayer));
  relayer.two.areWitnessesUp = true;
  // One node tells the time, another one the receipts: it has not seen the delivery yet.
  relayer.two.readsBehind = 3n;
  const { deps, settings, signal } = relayer;
  await expire(deps, settings, outbound(relayer), world.two.head.timeSec, signal);
  assert.equal(relayer.row(message).state, "delivered");
});

Deno.test("expire: while no endpoint past the timeout confirms the receipts, nothing ends", async () => {
  const world = new World();
  const [message] = await sendExpiring(world, 1);
  assert.ok(message !== undefined);
  await world.clock.advance(300_000);
  await world.blocks(1);
  const relayer = new Relayer(world, memoryLedger(world));
  relayer.two.areWitnessesUp = false;
  await round(relayer, outbound(relayer));
  assert.notEqual(relayer.row(message).state, "timed_out");
  relayer.two.areWitnessesUp = true;
  await round(relayer, outbound(relayer));
  assert.equal(relayer.row(message).state, "timed_out");
});

Deno.test("expire: messages that wait for certain receipts neither keep the leg busy nor hold up those behind them", async () => {
  const world = new World();
  const expired = await sendExpiring(world, 120);
  await world.clock.advance(300_000);
  await world.blocks(1);
  const [fresh] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(fresh !== undefined);
  const relayer = new Relayer(world, memoryLedger(world));
  relayer.two.areWitnessesUp = false;
  const first = await round(relayer, outbound(relayer));
  assert.deepEqual(first, { sent: 1, hasMore: false });
  assert.equal(relayer.row(fresh).state, "submitted");
  assert.ok(expired.every((each) => relayer.row(each).state === "seen"));
});
