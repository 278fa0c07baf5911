import assert from "node:assert/strict";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import { expire } from "../../../src/messaging/relay/receipts.ts";
import { mine, outbound, round } from "./rounds.ts";
import { Fixture, type Messages, names, Relayer, type Scene, setUp } from "./fixture.ts";

/** Messages to the second chain that time out a while after they left the hub. */
async function sendExpiring<N extends number>(fixture: Fixture, count: N): Promise<Messages<N>> {
  const timeoutTimestampSec = BigInt(Math.floor(fixture.clock.now() / 1_000)) + 200n;
  return await fixture.sendFrom(fixture.hub, fixture.two, count, { timeoutTimestampSec });
}

/** The same, and they have timed out. */
async function setUpExpired<N extends number>(count: N): Promise<Scene & { readonly messages: Messages<N> }> {
  const scene = setUp();
  const messages = await sendExpiring(scene.fixture, count);
  await timeOut(scene.fixture);
  return { ...scene, messages };
}

async function timeOut(fixture: Fixture): Promise<void> {
  await fixture.clock.advance(300_000);
  await fixture.blocks(1);
}

/** Delivers everything that is due, as a relayer with a database of its own. */
async function deliver(fixture: Fixture, number: number): Promise<void> {
  const { relayer, leg } = setUp({ fixture, number });
  await round(relayer, leg);
  await fixture.blocks(1);
}

/** Lets the messages time out, then looks at them with an empty database. */
async function pollAgain(fixture: Fixture): Promise<Relayer> {
  await timeOut(fixture);
  const { relayer, leg } = setUp({ fixture });
  await round(relayer, leg);
  return relayer;
}

Deno.test("expire: what we delivered before the database was lost is ours also when it has timed out since (I4)", async () => {
  const fixture = new Fixture();
  const [message] = await sendExpiring(fixture, 1);
  await deliver(fixture, 1);
  const relayer = await pollAgain(fixture);
  assert.deepEqual(relayer.stateOf(message), ["delivered", "handled_by_us"]);
  const found = relayer.ledger.deliveries.find(message.commitment, names.two);
  assert.equal(toHex(found?.relayer ?? new Uint8Array()), toHex(relayer.address));
  await mine(relayer, 3);
  assert.equal(relayer.ledger.deliveries.find(message.commitment, names.two)?.isFinal, true);
});

Deno.test("expire: a receipt of another relayer ends a message as delivered by them, none as timed out", async () => {
  const fixture = new Fixture();
  const [theirs] = await sendExpiring(fixture, 1);
  await deliver(fixture, 2);
  const [undelivered] = await sendExpiring(fixture, 1);
  const relayer = await pollAgain(fixture);
  assert.equal(relayer.row(theirs).state, "delivered_by_other");
  assert.deepEqual(relayer.stateOf(undelivered), [
    "timed_out",
    "expired",
  ]);
  assert.equal(relayer.ledger.deliveries.find(theirs.commitment, names.two), undefined);
});

Deno.test("expire: more messages than fit into one question end in one round, and without an answer none does", async () => {
  const { relayer, messages } = await setUpExpired(250);
  relayer.two.faults.add("fetchCertainReceipts", { kind: "throw", code: "timeout" }, { skip: 1 });
  await assert.rejects(round(relayer, outbound(relayer)));
  const ended = (): number => messages.filter((each) => relayer.row(each).state === "timed_out").length;
  assert.equal(ended(), 100);
  await round(relayer, outbound(relayer));
  assert.equal(ended(), 250);
});

Deno.test("expire: a node that is behind our own delivery does not make it time out, and its fee is claimed", async () => {
  const { fixture, relayer } = setUp();
  const [message] = await sendExpiring(fixture, 1);
  await deliver(fixture, 1);
  await timeOut(fixture);
  relayer.two.areWitnessesUp = false;
  await round(relayer, outbound(relayer));
  relayer.two.areWitnessesUp = true;
  // One node tells the time, another one the receipts: it has not seen the delivery yet.
  relayer.two.readsBehind = 3n;
  await expire(outbound(relayer), fixture.two.head.timeSec);
  assert.equal(relayer.row(message).state, "delivered");
});

Deno.test("expire: while no endpoint past the timeout confirms the receipts, nothing ends", async () => {
  const { relayer, messages: [message] } = await setUpExpired(1);
  relayer.two.areWitnessesUp = false;
  await round(relayer, outbound(relayer));
  assert.notEqual(relayer.row(message).state, "timed_out");
  relayer.two.areWitnessesUp = true;
  await round(relayer, outbound(relayer));
  assert.equal(relayer.row(message).state, "timed_out");
});

Deno.test("expire: messages that wait for certain receipts neither keep the leg busy nor hold up those behind them", async () => {
  const { fixture, relayer, messages: expired } = await setUpExpired(120);
  const [fresh] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  relayer.two.areWitnessesUp = false;
  const first = await round(relayer, outbound(relayer));
  assert.deepEqual(first, { sent: 1, hasMore: false });
  assert.equal(relayer.row(fresh).state, "submitted");
  assert.ok(expired.every((each) => relayer.row(each).state === "seen"));
});
