import assert from "node:assert/strict";
import { toHex } from "../../../../src/core/encoding/bytes.ts";
import type { Ledger } from "../../../../src/messaging/ledger/ledger.ts";
import type { Message, PostRequest } from "../../../../src/core/ismp/message.ts";
import { getMessage, getResponseMessage } from "../../../../src/core/ismp/message.ts";
import { NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { raceWith } from "../competitor.ts";
import { inbound, mine, outbound, round, settle, trust } from "../rounds.ts";
import {
  delivered,
  Fixture,
  getRequest,
  interrupt,
  memoryLedger,
  names,
  Relayer,
  type Scene,
  sender,
  type SetUp,
  setUp,
  setUpWith,
} from "../fixture.ts";

type Case = Scene & { readonly messages: readonly Message[]; readonly first: Message };

/** Messages that were sent to the second chain and wait in its pool. */
async function sent(count: number, options: SetUp = {}, lag = 2n): Promise<Case> {
  const scene = await setUpWith(count, { nodes: { two: { finalityLag: lag } }, ...options });
  assert.equal((await round(scene.relayer, scene.leg)).sent, count);
  return scene;
}

/** State of the only submission that carries the message. */
function stateOf({ relayer, first }: Pick<Case, "relayer" | "first">): string | undefined {
  return relayer.submissions(first).at(-1)?.state;
}

function record({ ledger }: Relayer, { commitment }: Message): ReturnType<Ledger["deliveries"]["find"]> {
  return ledger.deliveries.find(commitment, names.two);
}

Deno.test("settle: a handled message is delivered and recorded at inclusion, and final later", async () => {
  const { fixture, relayer, first } = await sent(2);
  assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
  await fixture.blocks(1);
  assert.deepEqual(await settle(relayer), { waiting: 0, hasChanges: true });
  assert.equal(stateOf({ relayer, first }), "included");
  assert.deepEqual(relayer.stateOf(first), ["delivered", "handled_by_us"]);
  assert.deepEqual(record(relayer, first)?.block, {
    height: fixture.two.head.height,
    hash: fixture.two.head.hash,
  });
  assert.equal(record(relayer, first)?.isFinal, false);
  assert.deepEqual(await settle(relayer), { waiting: 0, hasChanges: false });
  await mine(relayer, 2);
  assert.equal(stateOf({ relayer, first }), "final");
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(record(relayer, first)?.claimState, "unclaimed");
});

Deno.test("settle: a message that was mined without effect is not delivered (F15)", async () => {
  const { fixture, relayer, messages, first } = await sent(3);
  fixture.two.failing.add(first.commitment);
  await mine(relayer);
  assert.deepEqual(relayer.stateOf(first), ["held", "not_executed"]);
  assert.equal(relayer.row(first).nextAttemptAtMs, NEVER_MS, "failures are retried only where asked for");
  assert.equal(record(relayer, first), undefined);
  for (const message of messages.slice(1)) assert.equal(relayer.row(message).state, "delivered");
});

for (const isAgreed of [true, false]) {
  const then = isAgreed ? "counts by the receipts of the host" : "waits while endpoints disagree about those";
  Deno.test(`settle: a transaction whose logs a node leaves out ${then}`, async () => {
    const { relayer, messages, first } = await sent(3);
    const { two } = relayer;
    const find = two.fetchOutcome.bind(two);
    two.fetchOutcome = async (...args) => ({ ...await find(...args), handled: [] });
    if (!isAgreed) {
      two.fetchCertainReceipts = (asked) => Promise.resolve(asked.map(() => ({ kind: "unsure" })));
    }
    await mine(relayer);
    const state = isAgreed ? "delivered" : "submitted";
    for (const message of messages) assert.equal(relayer.row(message).state, state);
    assert.equal(
      record(relayer, first)?.txHash,
      isAgreed ? relayer.submissions(first)[0]?.submission.hash : undefined,
    );
    assert.deepEqual(relayer.ledger.suspensions.listActive(names.two), []);
    await mine(relayer, 3);
    assert.equal(stateOf({ relayer, first }), "final");
  });
}

Deno.test("settle: with a retry frequency, a message without effect is tried again, but not within a day", async () => {
  const { fixture, relayer, leg, first } = await sent(1, { settings: { retryFrequencySec: 600 } });
  fixture.two.failing.add(first.commitment);
  await mine(relayer);
  const { nextAttemptAtMs } = relayer.row(first);
  assert.equal(nextAttemptAtMs, fixture.clock.now() + 86_400_000);
  fixture.two.failing.clear();
  await fixture.clock.advance(86_400_000);
  await round(relayer, leg);
  await mine(relayer);
  assert.equal(relayer.row(first).state, "delivered");
});

Deno.test("settle: after a lost race the competitor's messages are ended and the others tried again", async () => {
  const { fixture, relayer, messages: [first, second] } = await setUpWith(3);
  await raceWith(fixture, [first]);
  await round(relayer, outbound(relayer));
  await mine(relayer);
  assert.equal(fixture.two.reverted().length, 1);
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.equal(record(relayer, first), undefined);
  assert.deepEqual(relayer.stateOf(second), ["ready", "race"]);
  assert.ok(relayer.row(second).nextAttemptAtMs >= fixture.clock.now() + 30_000, "the competitor goes first");
  await fixture.clock.advance(120_000);
  await round(relayer, outbound(relayer));
  await mine(relayer);
  assert.equal(relayer.row(second).state, "delivered");
  assert.equal(fixture.two.reverted().length, 1);
  assert.deepEqual(relayer.log.events("error"), []);
  assert.deepEqual(relayer.log.events("warn"), []);
});

Deno.test("settle: a revert without a competitor is tried twice at once, then left to the schedule", async () => {
  const { fixture, relayer, leg, first } = await sent(1);
  // The module takes the message in a simulation and makes the transaction fail in the block.
  const ghost = fixture.message();
  trust(relayer.on(relayer.two), [first]);
  fixture.two.spoiling.add(first.commitment);
  const revertNext = async (): Promise<void> => {
    await fixture.blocks(2 + Number(fixture.two.finalityLag));
    await settle(relayer);
    await settle(relayer);
  };
  for (let attempt = 1; attempt <= 2; attempt++) {
    await revertNext();
    assert.equal(relayer.row(first).reason, "reverted");
    assert.ok(relayer.row(first).nextAttemptAtMs <= fixture.clock.now() + 4_000);
    await fixture.clock.advance(5_000);
    await round(relayer, leg);
    assert.equal(relayer.row(first).state, "submitted", `attempt ${attempt}`);
  }
  await revertNext();
  assert.equal(relayer.row(first).state, "held");
  assert.equal(relayer.row(first).nextAttemptAtMs, NEVER_MS);
  assert.equal(relayer.ledger.messages.find(ghost.commitment, names.two), undefined);
});

Deno.test("settle: messages that went again with a nonce that was used by then are given back", async () => {
  const { fixture, relayer, leg, messages, first } = await setUpWith(2);
  trust(relayer.on(relayer.two), messages);
  await round(relayer, leg);
  fixture.two.spoiling.add(first.commitment);
  await mine(relayer);
  assert.deepEqual(messages.map((each) => relayer.row(each).state), ["ready", "ready"]);
  await fixture.clock.advance(5_000);
  await round(relayer, leg);
  assert.equal(relayer.row(first).state, "submitted");
  fixture.two.useNonce(toHex(relayer.address));
  await mine(relayer, 3);
  assert.deepEqual(relayer.submissions(first).map(({ submission }) => submission.nonce), [0n, 1n]);
  assert.equal(relayer.row(first).state, "ready");
  await fixture.clock.advance(5_000);
  for (let block = 0; block < 4; block++) {
    await round(relayer, leg);
    await mine(relayer);
    await fixture.clock.advance(5_000);
  }
  assert.deepEqual(delivered(fixture.two), [messages[1]?.commitment]);
});

Deno.test("settle: attempts that failed for other reasons do not use up the prompt ones", async () => {
  const { fixture, relayer, leg, first } = await setUpWith(1);
  const { account } = relayer;
  fixture.two.unfunded.add(account);
  for (let attempt = 0; attempt < 5; attempt++) {
    await round(relayer, leg);
    await fixture.clock.advance(100_000);
  }
  assert.equal(relayer.row(first).attempts, 5);
  fixture.two.unfunded.clear();
  await round(relayer, leg);
  fixture.two.freeze(true);
  await mine(relayer);
  assert.ok(relayer.row(first).nextAttemptAtMs <= fixture.clock.now() + 4_000);
});

Deno.test("settle: what is in no block after a day is given up, whatever endpoints say; its receipt still counts", async () => {
  const { fixture, relayer, first } = await sent(1);
  relayer.two.fetchOutcome = () => Promise.resolve({ kind: "pending" });
  fixture.two.isFull = true;
  await fixture.clock.advance(86_000_000);
  await settle(relayer);
  assert.equal(relayer.row(first).state, "submitted");
  await fixture.clock.advance(400_000);
  await settle(relayer);
  assert.deepEqual([stateOf({ relayer, first }), relayer.row(first).state], ["dropped", "ready"]);
  fixture.two.isFull = false;
  await fixture.blocks(4);
  await fixture.clock.advance(120_000);
  await round(relayer, outbound(relayer));
  await mine(relayer, 4);
  assert.deepEqual([relayer.row(first).state, record(relayer, first)?.isFinal], ["delivered", true]);
});

for (const isSeen of [true, false]) {
  Deno.test(`settle: our receipts settle no transaction that a node behind does not know, unless it ${isSeen ? "knows it then" : "has had time to"}`, async () => {
    const { fixture, relayer, first } = await sent(2);
    await fixture.blocks(1);
    const known = relayer.two.fetchOutcome.bind(relayer.two);
    relayer.two.fetchOutcome = () => Promise.resolve({ kind: "unknown" });
    assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
    assert.equal(stateOf({ relayer, first }), "broadcast");
    if (isSeen) relayer.two.fetchOutcome = known;
    else await fixture.clock.advance(61_000);
    await settle(relayer);
    assert.deepEqual([stateOf({ relayer, first }), relayer.row(first).state], [
      isSeen ? "included" : "dropped",
      "delivered",
    ]);
    if (isSeen) assert.equal(record(relayer, first)?.txHash, relayer.submissions(first)[0]?.submission.hash);
  });
}

Deno.test("settle: an extrinsic that left the pool is given up after three blocks and sent again", async () => {
  const { fixture, relayer } = setUp();
  const [first] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await round(relayer, inbound(relayer));
  fixture.hub.clearMempool();
  await settle(relayer, relayer.hub);
  await mine(relayer, 2, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "submitted", "two blocks are too early");
  await mine(relayer, 1, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "ready");
  await fixture.clock.advance(5_000);
  await round(relayer, inbound(relayer));
  await mine(relayer, 1, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "delivered");
  assert.equal(relayer.ledger.deliveries.find(first.commitment, names.hub)?.claimState, "no_fee");
});

Deno.test("settle: an equal batch of another relayer in the hub's pool ends as delivered by them", async () => {
  const { fixture, relayer } = setUp();
  const [first] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  const competitor = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  await round(competitor, inbound(competitor));
  await round(relayer, inbound(relayer));
  assert.equal(fixture.hub.mempoolSize, 1);
  await mine(relayer, 4, relayer.hub);
  assert.equal(relayer.row(first, names.hub).state, "delivered_by_other");
});

/** A delivery included in a block of a chain whose blocks are final after five others. */
async function included(): Promise<Case> {
  const prepared = await sent(2, {}, 5n);
  await prepared.fixture.blocks(1);
  await settle(prepared.relayer);
  assert.equal(prepared.relayer.row(prepared.first).state, "delivered");
  return prepared;
}

Deno.test("settle: after a reorganisation back into the pool the messages are under way again, and count in the new block", async () => {
  const { fixture, relayer, first } = await included();
  fixture.two.reorganise(1);
  fixture.two.isFull = true;
  await mine(relayer, 6);
  assert.equal(stateOf({ relayer, first }), "broadcast");
  assert.equal(relayer.row(first).state, "submitted");
  assert.equal(record(relayer, first), undefined);
  fixture.two.isFull = false;
  await fixture.blocks(1);
  const { height, hash } = fixture.two.head;
  await mine(relayer, 5);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "final");
  assert.equal(relayer.row(first).state, "delivered");
  assert.deepEqual(record(relayer, first)?.block, { height, hash });
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(delivered(fixture.two).length, 2);
});

Deno.test("settle: of two transactions with one message a reorganisation takes back both, with the record", async () => {
  const { fixture, relayer, leg, first } = await sent(1, { settings: { retryFrequencySec: 600 } }, 4n);
  fixture.two.failing.add(first.commitment);
  await mine(relayer);
  fixture.two.failing.delete(first.commitment);
  await fixture.clock.advance(86_400_000);
  const before = fixture.two.head.height;
  await round(relayer, leg);
  await mine(relayer);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["included", "included"]);
  assert.ok(record(relayer, first) !== undefined);
  fixture.two.reorganise(Number(fixture.two.head.height - before) + 1);
  fixture.two.isFull = true;
  await mine(relayer, 6);
  assert.deepEqual(relayer.submissions(first).map(({ state }) => state), ["broadcast", "broadcast"]);
  assert.equal(record(relayer, first), undefined);
  assert.equal(relayer.row(first).state, "submitted");
});

Deno.test("settle: a block that is gone with everything in it is reported and cost nothing; the bytes go out again, and are paid once", async () => {
  const { fixture, relayer, first } = await included();
  const spent = (): unknown[] =>
    relayer.ledger.spending.listMined(names.two, 0).map(({ result, costWei }) => [result, costWei]);
  const paid = [["delivered", 200_000n * fixture.two.priceWei]];
  assert.deepEqual(spent(), paid);
  fixture.two.reorganise(1, "forget");
  await mine(relayer, 6);
  assert.deepEqual([relayer.row(first).state, spent()], ["submitted", []]);
  assert.equal(relayer.log.linesOf("transaction_failed.reorganised").length, 1);
  await settle(relayer);
  await mine(relayer, 6);
  assert.equal(relayer.row(first).state, "delivered");
  assert.deepEqual([record(relayer, first)?.isFinal, spent()], [true, paid]);
});

Deno.test("settle: a delivery that reverts in its new block is taken back, with its record", async () => {
  const { fixture, relayer, messages, first } = await included();
  const [, second = first] = messages;
  fixture.two.reorganise(1, "forget");
  await raceWith(fixture, [first]);
  await fixture.blocks(1);
  const [journalled] = relayer.submissions(first);
  assert.ok(journalled !== undefined);
  fixture.two.submit(journalled.submission.hash);
  await mine(relayer, 6);
  assert.equal(fixture.two.reverted().length, 1);
  assert.equal(stateOf({ relayer, first }), "failed");
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.equal(record(relayer, first), undefined);
  assert.equal(relayer.row(second).state, "ready", "it has to be delivered again");
  assert.equal(record(relayer, second), undefined);
});

Deno.test("settle: a delivery whose nonce something else takes after a reorganisation is taken back", async () => {
  const { fixture, relayer, first } = await included();
  const { account } = relayer;
  fixture.two.reorganise(1, "forget");
  fixture.two.useNonce(account);
  await mine(relayer, 6);
  assert.equal(stateOf({ relayer, first }), "replaced");
  assert.equal(relayer.row(first).state, "ready");
  assert.equal(record(relayer, first), undefined);
});

Deno.test("settle: a revert that a reorganisation turns into a delivery is recorded as ours", async () => {
  const { fixture, relayer, leg, first } = await setUpWith(1, { nodes: { two: { finalityLag: 5n } } });
  await raceWith(fixture, [first]);
  await round(relayer, leg);
  await mine(relayer);
  assert.equal(relayer.row(first).state, "delivered_by_other");
  assert.equal(stateOf({ relayer, first }), "included", "the revert is not final yet");
  fixture.two.reorganise(1, "forget");
  const [journalled] = relayer.submissions(first);
  assert.ok(journalled !== undefined);
  fixture.two.submit(journalled.submission.hash);
  await mine(relayer, 6);
  await settle(relayer);
  assert.equal(stateOf({ relayer, first }), "final");
  assert.equal(relayer.row(first).state, "delivered");
  assert.equal(record(relayer, first)?.isFinal, true);
});

Deno.test("settle: bytes that are being sent are left alone until there is an answer", async () => {
  const { fixture, relayer, first } = await setUpWith(1);
  relayer.two.faults.add("broadcast", { kind: "delay", ms: 5_000 });
  const sending = round(relayer, outbound(relayer));
  await fixture.clock.settle();
  await raceWith(fixture, [first]);
  fixture.two.produceBlock();
  assert.deepEqual(await settle(relayer), { waiting: 1, hasChanges: false });
  assert.equal(stateOf({ relayer, first }), "signed", "it may arrive yet, so nothing is known");
  await fixture.clock.advance(5_000);
  await sending;
  await mine(relayer, 4);
  assert.equal(stateOf({ relayer, first }), "failed");
  assert.equal(relayer.row(first).state, "delivered_by_other");
});

for (const kind of ["post", "getResponse"] as const) {
  for (const isRemoved of [false, true]) {
    Deno.test(`settle: a receipt of ours for a ${kind} that an empty database finds ${isRemoved ? "reopens it when a reorganisation removes it" : "is recorded, and final once confirmed"}`, async () => {
      const fixture = new Fixture({ two: { finalityLag: 5n } });
      const get = getRequest({ from: new Uint8Array(20).fill(1) });
      const message = kind === "post" ? fixture.message() : getResponseMessage({ get, values: [] });
      const request = kind === "post" ? message : getMessage(get);
      if (kind === "getResponse") fixture.two.dispatch(request, 10n ** 18n);
      fixture.hub.dispatch(message);
      await fixture.blocks(1);
      await fixture.update(fixture.hub, fixture.two);
      const before = setUp({ fixture });
      await round(before.relayer, before.leg);
      await fixture.blocks(1);
      const { height } = fixture.two.head;
      const { relayer, leg } = setUp({ fixture });
      await round(relayer, leg);
      await settle(relayer);
      assert.deepEqual([relayer.row(message).state, relayer.submissions(message)], ["delivered", []]);
      assert.deepEqual(record(relayer, request)?.block, { height, hash: undefined });
      assert.equal(record(relayer, request)?.isFinal, false);
      if (isRemoved) fixture.two.reorganise(1, "forget");
      await fixture.blocks(6);
      assert.deepEqual(await settle(relayer), { waiting: 0, hasChanges: isRemoved });
      assert.equal(relayer.row(message).state, isRemoved ? "ready" : "delivered");
      assert.equal(record(relayer, request)?.isFinal, isRemoved ? undefined : true);
      assert.equal((await round(relayer, leg)).sent, isRemoved ? 1 : 0);
    });
  }
}

Deno.test("settle: a transaction that was given up and is mined after all is found by its receipt", async () => {
  const { fixture, relayer, leg, first } = await sent(1);
  const [original] = relayer.submissions(first);
  assert.ok(original !== undefined);
  // It vanishes, is given up, and turns up in the pool while its successor is being signed.
  fixture.two.clearMempool();
  relayer.ledger.transaction(() => {
    relayer.ledger.submissions.update(original.id, { state: "dropped" });
    relayer.ledger.messages.transition(first.commitment, names.two, { to: "ready" });
  });
  interrupt(relayer.two, "sign", () => fixture.two.submit(original.submission.hash), "after");
  await round(relayer, leg);
  assert.equal(relayer.row(first).reason, "race", "its nonce is taken");
  await fixture.blocks(4);
  await round(relayer, leg);
  assert.equal(relayer.row(first).state, "delivered");
  await mine(relayer, 3);
  assert.equal(record(relayer, first)?.isFinal, true);
  assert.equal(delivered(fixture.two).length, 1);
  assert.equal(fixture.two.reverted().length, 0);
});

Deno.test("settle: a message that was given up meanwhile does not stop the settling of its delivery", async () => {
  const { relayer, first } = await sent(1);
  relayer.ledger.messages.transition(first.commitment, names.two, { to: "timed_out", reason: "expired" });
  await mine(relayer, 4);
  assert.equal(relayer.row(first).state, "timed_out");
  assert.equal(record(relayer, first)?.isFinal, true);
});

Deno.test("settle: an answer that makes no sense for one transaction does not hold up the others", async () => {
  const { fixture, relayer } = setUp({ chain: { limits: { maxMessagesPerStep: 1 } } });
  const messages: Message[] = [];
  const send = async (): Promise<void> => {
    messages.push(...await fixture.sendFrom(fixture.one, fixture.hub, 1));
    await round(relayer, inbound(relayer));
  };
  await send();
  await send();
  await fixture.blocks(1);
  relayer.hub.faults.add("fetchOutcome", { kind: "throw", code: "malformed" });
  await assert.rejects(settle(relayer, relayer.hub), { code: "malformed" });
  const states = messages.map((message) => relayer.row(message, names.hub).state);
  assert.deepEqual(states, ["submitted", "delivered"]);
  relayer.hub.faults.add("fetchOutcome", { kind: "throw", code: "unreachable" });
  await assert.rejects(settle(relayer, relayer.hub), { code: "unreachable" });
  await settle(relayer, relayer.hub);
  assert.equal(relayer.row(messages[0] ?? { commitment: "0x" }, names.hub).state, "delivered");
});

const claims: readonly [string, "two" | "hub", Partial<PostRequest>, string][] = [
  ["between two chains", "two", {}, "unclaimed"],
  ["from the hub itself", "two", { source: names.hub }, "no_fee"],
  ["to the hub", "hub", { dest: names.hub }, "no_fee"],
  ["on its way through the hub", "hub", {}, "no_fee"],
];
for (const [which, target, changes, expected] of claims) {
  for (const way of ["by a transaction", "found by its receipt"]) {
    Deno.test(`settle: a delivery ${which}, ${way}, is recorded as ${expected} (F2)`, async () => {
      const fixture = new Fixture();
      const source = target === "two" ? fixture.hub : fixture.one;
      const [first] = await fixture.sendFrom(source, fixture[target], 1, changes);
      const settings = changes.source === undefined ? {} : { moduleFilter: new Set([sender]) };
      const run = async (): Promise<Relayer> => {
        const { relayer, leg, inbound } = setUp({ fixture, settings });
        await round(relayer, target === "two" ? leg : inbound);
        await mine(relayer, 1, relayer[target]);
        return relayer;
      };
      if (way === "found by its receipt") await run();
      const { ledger } = await run();
      assert.equal(ledger.deliveries.find(first.commitment, names[target])?.claimState, expected);
    });
  }
}
