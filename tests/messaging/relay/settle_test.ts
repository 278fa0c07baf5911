import assert from "node:assert/strict";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { Ledger } from "../../../src/messaging/ledger/ledger.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import type { PostRequest } from "../../../src/core/ismp/message.ts";
import { NEVER_MS } from "../../../src/messaging/relay/decisions/retry_schedule.ts";
import type { Leg } from "../../../src/messaging/relay/leg.ts";
import type { MemoryNode } from "../../support/memory_node.ts";
import { inbound, outbound, round, settle } from "./rounds.ts";
import { delivered, memoryLedger, names, Relayer, type RelayerOptions, World } from "./fixture.ts";

interface Case {
  readonly world: World;
  readonly relayer: Relayer;
  readonly leg: Leg;
  readonly messages: readonly Message[];
  readonly first: Message;
}

/** Messages that were sent to the second chain and wait in its pool. */
async function sent(count: number, options: RelayerOptions = {}, lag = 2n): Promise<Case> {
  const world = new World({ two: { finalityLag: lag } });
  const messages = await world.sendFrom(world.hub, world.two, count);
  const [first] = messages;
  assert.ok(first !== undefined);
  const relayer = new Relayer(world, memoryLedger(world), options);
  const leg = outbound(relayer);
  assert.equal((await round(relayer, leg)).sent, count);
  return { world, relayer, leg, messages, first };
}

/** State of the only submission that carries the message. */
function stateOf({ relayer, first }: Pick<Case, "relayer" | "first">): string | undefined {
  return relayer.submissions(first).at(-1)?.state;
}

function record({ ledger }: Relayer, { commitment }: Message): ReturnType<Ledger["deliveries"]["find"]> {
  return ledger.deliveries.find(commitment, names.two);
}

/** A delivery by a competitor, in the pool before anything that comes later. */
async function raceWith(world: World, messages: readonly Message[], number = 2): Promise<Relayer> {
  const competitor = new Relayer(world, memoryLedger(world), { number });
  const { height } = await competitor.two.fetchView(competitor.hub.id, competitor.signal);
  const proof = await competitor.hub.proveMessages(messages, height, competitor.two, competitor.signal);
  const delivery = { steps: [{ kind: "messages" as const, messages, proof }] };
  const simulation = await competitor.two.simulate(delivery, competitor.signal);
  assert.ok(simulation.kind === "accepted");
  const signed = await competitor.two.sign(
    delivery,
    simulation,
    { nonceAtLeast: undefined },
    competitor.signal,
  );
  assert.ok(signed.kind === "signed");
  await competitor.two.broadcast(signed.submission, competitor.signal);
  return competitor;
}

Deno.test("settle: what waits in the pool is counted and left alone", async () => {
  const { relayer } = await sent(2);
  assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
});

Deno.test("settle: a handled message is delivered and recorded at inclusion, and final later", async () => {
  const { world, relayer, first } = await sent(2);
  await world.blocks(1);
  assert.deepEqual(await settle(relayer), { waiting: 0, hasChanges: true });
  assert.equal(stateOf({ relayer, first }), "included");
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(relayer.row(first).reason, "handled_by_us");
  assert.deepEqual(record(relayer, first)?.block, {
    height: world.two.head.height,
    hash: world.two.head.hash,
  });
  assert.equal(record(relayer, first)?.isFinal, false);
  assert.deepEqual(await settle(relayer), { waiting: 0, hasChanges: false });
  await world.blocks(2);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "final");
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(record(relayer, first)?.claimState, "unclaimed");
});

Deno.test("settle: a message that was mined without effect is not delivered (F15)", async () => {
  const { world, relayer, messages, first } = await sent(3);
  world.two.failing.add(first.commitment);
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "held");
  assert.equal(relayer.row(first).reason, "not_executed");
  assert.equal(relayer.row(first).nextAttemptAtMs, NEVER_MS, "failures are retried only where asked for");
  assert.equal(record(relayer, first), undefined);
  for (const message of messages.slice(1)) assert.equal(relayer.row(message).state, "delivered");
});

Deno.test("settle: with a retry frequency, a message without effect is tried again, but not within a day", async () => {
  const { world, relayer, leg, first } = await sent(1, { settings: { retryFrequencySec: 600 } });
  world.two.failing.add(first.commitment);
  await world.blocks(1);
  await settle(relayer);
  const { nextAttemptAtMs } = relayer.row(first);
  assert.equal(nextAttemptAtMs, world.clock.now() + 86_400_000);
  world.two.failing.clear();
  await world.clock.advance(86_400_000);
  await round(relayer, leg);
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "delivered");
});

Deno.test("settle: after a lost race the competitor's messages are ended and the others tried again", async () => {
  const world = new World();
  const messages = await world.sendFrom(world.hub, world.two, 3);
  const [first, second] = messages;
  assert.ok(first !== undefined && second !== undefined);
  await raceWith(world, [first]);
  const relayer = new Relayer(world, memoryLedger(world));
  await round(relayer, outbound(relayer));
  await world.blocks(1);
  await settle(relayer);
  assert.equal(world.two.reverted().length, 1);
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.equal(record(relayer, first), undefined);
  assert.equal(relayer.row(second).state, "ready");
  assert.equal(relayer.row(second).reason, "race");
  assert.ok(relayer.row(second).nextAttemptAtMs >= world.clock.now() + 30_000, "the competitor goes first");
  await world.clock.advance(120_000);
  await round(relayer, outbound(relayer));
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(second).state, "delivered");
  assert.equal(world.two.reverted().length, 1);
  assert.deepEqual(relayer.log.events("error"), []);
  assert.deepEqual(relayer.log.events("warn"), []);
});

Deno.test("settle: a revert without a competitor is tried twice at once, then left to the schedule", async () => {
  const { world, relayer, leg, first } = await sent(1);
  // The module takes the message in a simulation and makes the transaction fail in the block.
  const ghost = world.message();
  world.two.spoiling.add(first.commitment);
  const revertNext = async (): Promise<void> => {
    await world.blocks(2 + Number(world.two.finalityLag));
    await settle(relayer);
    await settle(relayer);
  };
  for (let attempt = 1; attempt <= 2; attempt++) {
    await revertNext();
    assert.equal(relayer.row(first).reason, "reverted");
    assert.ok(relayer.row(first).nextAttemptAtMs <= world.clock.now() + 4_000);
    await world.clock.advance(5_000);
    await round(relayer, leg);
    assert.equal(relayer.row(first).state, "submitted", `attempt ${attempt}`);
  }
  await revertNext();
  assert.equal(relayer.row(first).state, "held");
  assert.equal(relayer.row(first).nextAttemptAtMs, NEVER_MS);
  assert.equal(relayer.ledger.messages.find(ghost.commitment, names.two), undefined);
});

Deno.test("settle: messages that went again with a nonce that was used by then are given back", async () => {
  const world = new World();
  const messages = await world.sendFrom(world.hub, world.two, 2);
  const [first] = messages;
  assert.ok(first !== undefined);
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  await round(relayer, leg);
  world.two.spoiling.add(first.commitment);
  await world.blocks(1);
  await settle(relayer);
  assert.deepEqual(messages.map((each) => relayer.row(each).state), ["ready", "ready"]);
  await world.clock.advance(5_000);
  await round(relayer, leg);
  assert.equal(relayer.row(first).state, "submitted");
  world.two.useNonce(toHex(relayer.address));
  await world.blocks(3);
  await settle(relayer);
  assert.deepEqual(relayer.submissions(first).map(({ submission }) => submission.nonce), [0n, 1n]);
  assert.equal(relayer.row(first).state, "ready");
  await world.clock.advance(5_000);
  for (let block = 0; block < 4; block++) {
    await round(relayer, leg);
    await world.blocks(1);
    await settle(relayer);
    await world.clock.advance(5_000);
  }
  assert.deepEqual(delivered(world.two), [messages[1]?.commitment]);
});

Deno.test("settle: attempts that failed for other reasons do not use up the prompt ones", async () => {
  const world = new World();
  const [first] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(first !== undefined);
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  const { account } = relayer.two;
  assert.ok(account !== undefined);
  world.two.unfunded.add(account);
  for (let attempt = 0; attempt < 5; attempt++) {
    await round(relayer, leg);
    await world.clock.advance(100_000);
  }
  assert.equal(relayer.row(first).attempts, 5);
  world.two.unfunded.clear();
  await round(relayer, leg);
  world.two.freeze(true);
  await world.blocks(1);
  await settle(relayer);
  assert.ok(relayer.row(first).nextAttemptAtMs <= world.clock.now() + 4_000);
});

Deno.test("settle: a transaction that another one replaced gives its messages back", async () => {
  const { world, relayer, first } = await sent(2);
  const { account } = relayer.two;
  assert.ok(account !== undefined);
  world.two.useNonce(account);
  await world.blocks(1);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "replaced");
  assert.equal(relayer.row(first).state, "ready");
});

Deno.test("settle: a transaction that no node knows is handed over again", async () => {
  const { world, relayer, first } = await sent(1);
  world.two.forgetPool();
  assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
  assert.equal(world.two.poolSize, 1);
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "delivered");
});

Deno.test("settle: our receipts from one node are no reason to give up a transaction that another does not know yet", async () => {
  const { world, relayer, first } = await sent(2);
  await world.blocks(1);
  // The node that is asked for the transaction is behind the one that is asked for the receipts.
  const behind = relayer.two.fetchOutcome.bind(relayer.two);
  relayer.two.fetchOutcome = () => Promise.resolve({ kind: "unknown" });
  assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
  assert.equal(stateOf({ relayer, first }), "broadcast");
  relayer.two.fetchOutcome = behind;
  await settle(relayer);
  const [submission] = relayer.submissions(first);
  assert.equal(submission?.state, "included");
  assert.equal(record(relayer, first)?.txHash, submission.submission.hash);
});

Deno.test("settle: our receipts without their transaction end it when the nodes have had time to learn of it", async () => {
  const { world, relayer, first } = await sent(2);
  await world.blocks(1);
  relayer.two.fetchOutcome = () => Promise.resolve({ kind: "unknown" });
  await world.clock.advance(61_000);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "dropped");
  assert.equal(relayer.row(first).state, "delivered");
});

Deno.test("settle: an extrinsic that left the pool is given up after three blocks and sent anew", async () => {
  const world = new World();
  const [first] = await world.sendFrom(world.one, world.hub, 1);
  assert.ok(first !== undefined);
  const relayer = new Relayer(world, memoryLedger(world));
  await round(relayer, inbound(relayer));
  world.hub.forgetPool();
  await settle(relayer, relayer.hub);
  await world.blocks(2);
  await settle(relayer, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "submitted", "two blocks are too early");
  await world.blocks(1);
  await settle(relayer, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "ready");
  await world.clock.advance(5_000);
  await round(relayer, inbound(relayer));
  await world.blocks(1);
  await settle(relayer, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "delivered");
  assert.equal(relayer.ledger.deliveries.find(first.commitment, names.hub)?.claimState, "no_fee");
});

Deno.test("settle: an equal batch of somebody else in the pool of the hub ends as theirs", async () => {
  const world = new World();
  const [first] = await world.sendFrom(world.one, world.hub, 1);
  assert.ok(first !== undefined);
  const competitor = new Relayer(world, memoryLedger(world), { number: 2 });
  await round(competitor, inbound(competitor));
  const relayer = new Relayer(world, memoryLedger(world));
  await round(relayer, inbound(relayer));
  assert.equal(world.hub.poolSize, 1);
  await world.blocks(4);
  await settle(relayer, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "delivered_by_other");
});

/** A delivery included in a block of a chain whose blocks are final after five others. */
async function included(): Promise<Case> {
  const prepared = await sent(2, {}, 5n);
  await prepared.world.blocks(1);
  await settle(prepared.relayer);
  assert.equal(prepared.relayer.row(prepared.first).state, "delivered");
  return prepared;
}

Deno.test("settle: after a reorganisation the same transaction counts in its new block", async () => {
  const { world, relayer, first } = await included();
  world.two.reorganise(1);
  world.two.isFull = true;
  await world.blocks(2);
  world.two.isFull = false;
  await world.blocks(1);
  const { height, hash } = world.two.head;
  await world.blocks(5);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "final");
  assert.deepEqual(record(relayer, first)?.block, { height, hash });
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(delivered(world.two).length, 2);
});

Deno.test("settle: after a reorganisation back into the pool the messages are under way again", async () => {
  const { world, relayer, first } = await included();
  world.two.reorganise(1);
  world.two.isFull = true;
  await world.blocks(6);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "broadcast");
  assert.equal(relayer.row(first).state, "submitted");
  assert.equal(record(relayer, first), undefined);
  world.two.isFull = false;
  await world.blocks(6);
  await settle(relayer);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(record(relayer, first)?.isFinal, true);
});

Deno.test("settle: a block that is gone with everything in it is told, and the bytes go out again", async () => {
  const { world, relayer, first } = await included();
  world.two.reorganise(1, "forget");
  await world.blocks(6);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "submitted");
  assert.equal(relayer.log.events("warn").length, 1);
  await settle(relayer);
  await world.blocks(6);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(record(relayer, first)?.isFinal, true);
});

Deno.test("settle: a delivery that reverts in its new block is taken back, with its record", async () => {
  const { world, relayer, messages, first } = await included();
  const [, second] = messages;
  assert.ok(second !== undefined);
  world.two.reorganise(1, "forget");
  await raceWith(world, [first]);
  await world.blocks(1);
  const [journalled] = relayer.submissions(first);
  assert.ok(journalled !== undefined);
  world.two.submit(journalled.submission.hash);
  await world.blocks(6);
  await settle(relayer);
  assert.equal(world.two.reverted().length, 1);
  assert.equal(stateOf({ relayer, first }), "failed");
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.equal(record(relayer, first), undefined);
  assert.equal(relayer.row(second).state, "ready", "it has to be delivered again");
  assert.equal(record(relayer, second), undefined);
});

Deno.test("settle: a delivery whose nonce something else takes after a reorganisation is taken back", async () => {
  const { world, relayer, first } = await included();
  const { account } = relayer.two;
  assert.ok(account !== undefined);
  world.two.reorganise(1, "forget");
  world.two.useNonce(account);
  await world.blocks(6);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "replaced");
  assert.equal(relayer.row(first).state, "ready");
  assert.equal(record(relayer, first), undefined);
});

Deno.test("settle: a revert that a reorganisation turns into a delivery is recorded as ours", async () => {
  const world = new World({ two: { finalityLag: 5n } });
  const [first] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(first !== undefined);
  await raceWith(world, [first]);
  const relayer = new Relayer(world, memoryLedger(world));
  await round(relayer, outbound(relayer));
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.equal(stateOf({ relayer, first }), "included", "the revert is not final yet");
  world.two.reorganise(1, "forget");
  const [journalled] = relayer.submissions(first);
  assert.ok(journalled !== undefined);
  world.two.submit(journalled.submission.hash);
  await world.blocks(6);
  await settle(relayer);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "final");
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(record(relayer, first)?.isFinal, true);
});

Deno.test("settle: while a reverted transaction is not final, its messages may go again, one attempt each", async () => {
  const { world, relayer, leg, first } = await sent(1, {}, 5n);
  world.two.freeze(true);
  await world.blocks(1);
  await settle(relayer);
  world.two.freeze(false);
  await world.blocks(1);
  await world.clock.advance(5_000);
  await round(relayer, leg);
  await world.blocks(6);
  await settle(relayer);
  await settle(relayer);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["failed", "final"]);
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(record(relayer, first)?.txHash, relayer.submissions(first)[1]?.submission.hash);
});

Deno.test("settle: bytes that are being handed over are left alone until there is an answer", async () => {
  const world = new World();
  const [first] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(first !== undefined);
  const relayer = new Relayer(world, memoryLedger(world));
  relayer.two.faults.add("broadcast", { kind: "delay", ms: 5_000 });
  const sending = round(relayer, outbound(relayer));
  await world.clock.settle();
  await raceWith(world, [first]);
  world.two.produceBlock();
  assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
  assert.equal(stateOf({ relayer, first }), "signed", "it may arrive yet, so nothing is known");
  await world.clock.advance(5_000);
  await sending;
  await world.blocks(4);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "failed");
  assert.equal(relayer.row(first).state, "delivered_by_other");
});

Deno.test("settle: a nonce that later transactions wait for is used up, even by a revert", async () => {
  const world = new World();
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  const messages: Message[] = [];
  for (let batch = 0; batch < 3; batch++) {
    messages.push(...await world.sendFrom(world.hub, world.two, 1));
    await round(relayer, leg);
    if (batch > 0) continue;
    await world.blocks(4);
    await settle(relayer);
    world.two.isFull = true;
  }
  const [, second, third] = messages;
  assert.ok(second !== undefined && third !== undefined);
  assert.equal(relayer.row(third).state, "submitted", "two are on their way");
  world.two.forgetPool();
  world.two.isFull = false;
  await raceWith(world, [second]);
  world.two.produceBlock();
  await settle(relayer);
  await world.blocks(1);
  await settle(relayer);
  assert.equal(relayer.row(second).state, "delivered_by_other");
  assert.equal(relayer.row(third).state, "delivered");
  assert.equal(world.two.reverted().length, 1);
});

/** A receipt of ours on the second chain that the new, empty ledger knows nothing of. */
async function foundReceipt(): Promise<Case> {
  const { world, messages, first } = await sent(1, {}, 5n);
  await world.blocks(1);
  const relayer = new Relayer(world, memoryLedger(world));
  const leg = outbound(relayer);
  await round(relayer, leg);
  return { world, relayer, leg, messages, first };
}

Deno.test("settle: a receipt of ours without a transaction is recorded, and final once it is confirmed", async () => {
  const { world, relayer, first } = await foundReceipt();
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(relayer.submissions(first).length, 0);
  assert.deepEqual(record(relayer, first)?.block, { height: world.two.head.height, hash: undefined });
  await settle(relayer);
  assert.equal(record(relayer, first)?.isFinal, false);
  await world.blocks(5);
  await settle(relayer);
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(record(relayer, first)?.claimState, "unclaimed");
});

Deno.test("settle: a found receipt that a reorganisation removes brings its message back", async () => {
  const { world, relayer, leg, first } = await foundReceipt();
  world.two.reorganise(1, "forget");
  await world.blocks(6);
  assert.deepEqual(await settle(relayer), { waiting: 0, hasChanges: true });
  assert.equal(relayer.row(first).state, "ready");
  assert.equal(record(relayer, first), undefined);
  assert.equal((await round(relayer, leg)).sent, 1);
});

Deno.test("settle: a transaction that was given up and is mined after all is found by its receipt", async () => {
  const { world, relayer, leg, first } = await sent(1);
  const [original] = relayer.submissions(first);
  assert.ok(original !== undefined);
  // It vanishes, is given up, and turns up in the pool while its successor is being signed.
  world.two.forgetPool();
  relayer.ledger.transaction(() => {
    relayer.ledger.submissions.update(original.id, { state: "dropped" });
    relayer.ledger.messages.transition(first.commitment, names.two, { to: "ready" });
  });
  const { account } = relayer.two;
  assert.ok(account !== undefined);
  relayer.two.faults.add("sign", {
    kind: "interrupt",
    when: "after",
    act: () => world.two.submit(original.submission.hash),
  });
  await round(relayer, leg);
  assert.equal(relayer.row(first).reason, "race", "its nonce is taken");
  await world.blocks(4);
  await round(relayer, leg);
  assert.equal(relayer.row(first).state, "delivered");
  await world.blocks(3);
  await settle(relayer);
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(delivered(world.two).length, 1);
  assert.equal(world.two.reverted().length, 0);
});

Deno.test("settle: a message that was given up meanwhile does not stop the settling of its delivery", async () => {
  const { world, relayer, first } = await sent(1);
  relayer.ledger.messages.transition(first.commitment, names.two, { to: "timed_out", reason: "expired" });
  await world.blocks(4);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "timed_out");
  assert.equal(record(relayer, first)?.isFinal, true);
});

Deno.test("settle: an answer that makes no sense for one transaction does not hold up the others", async () => {
  const world = new World();
  const relayer = new Relayer(world, memoryLedger(world), {
    chain: { limits: { maxMessagesPerStep: 1, maxCallBytes: 100_000, blocksPerEventQuery: undefined } },
  });
  const messages: Message[] = [];
  const send = async (): Promise<void> => {
    messages.push(...await world.sendFrom(world.one, world.hub, 1));
    await round(relayer, inbound(relayer));
  };
  await send();
  await send();
  await world.blocks(1);
  relayer.hub.faults.add("fetchOutcome", { kind: "throw", code: "malformed" });
  await assert.rejects(settle(relayer, relayer.hub), { code: "malformed" });
  const states = messages.map((message) => relayer.row(message, names.hub).state);
  assert.deepEqual(states, ["submitted", "delivered"]);
  relayer.hub.faults.add("fetchOutcome", { kind: "throw", code: "unreachable" });
  await assert.rejects(settle(relayer, relayer.hub), { code: "unreachable" });
  await settle(relayer, relayer.hub);
  assert.equal(relayer.row(messages[0] ?? { commitment: "0x" }, names.hub).state, "delivered");
});

const claims: readonly [string, (world: World) => MemoryNode, Partial<PostRequest>, string][] = [
  ["between two chains", (world) => world.two, {}, "unclaimed"],
  ["from the hub itself", (world) => world.two, { source: names.hub }, "no_fee"],
  ["to the hub", (world) => world.hub, { dest: names.hub }, "no_fee"],
  ["on its way through the hub", (world) => world.hub, {}, "no_fee"],
];
for (const [which, sinkOf, changes, expected] of claims) {
  for (const way of ["by a transaction", "found by its receipt"]) {
    Deno.test(`settle: a delivery ${which}, ${way}, is recorded as ${expected} (F2)`, async () => {
      const world = new World();
      const target = sinkOf(world);
      const [first] = await world.sendFrom(target === world.two ? world.hub : world.one, target, 1, changes);
      assert.ok(first !== undefined);
      const settings = changes.source === names.hub
        ? { moduleFilter: new Set(["0x00000000000000000000000000000000000000aa"] as const) }
        : {};
      const run = async (relayer: Relayer): Promise<void> => {
        await round(relayer, target === world.two ? outbound(relayer) : inbound(relayer));
        await world.blocks(1);
        await settle(relayer, target === world.two ? relayer.two : relayer.hub);
      };
      let relayer = new Relayer(world, memoryLedger(world), { settings });
      await run(relayer);
      if (way !== "by a transaction") {
        relayer = new Relayer(world, memoryLedger(world), { settings });
        await run(relayer);
      }
      const found = relayer.ledger.deliveries.find(first.commitment, target.id.stateMachine);
      assert.equal(found?.claimState, expected);
    });
  }
}
