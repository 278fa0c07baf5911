import assert from "node:assert/strict";
import { fromHex, type Hex } from "../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import { readBandwidth } from "../../../src/messaging/relay/limits/bandwidth.ts";
import { inbound, mine, round } from "./rounds.ts";
import { delivered, Fixture, names, Relayer, sender, setUp } from "./fixture.ts";

const poor: Hex = "0x00000000000000000000000000000000000000dd";
/** Bytes that one of the messages of these tests costs. */
const MESSAGE_BYTES = 576n;

interface Course {
  readonly fixture: Fixture;
  readonly relayer: Relayer;
  readonly good: readonly Message[];
  readonly bad: readonly Message[];
  /** Rounds until all the good ones had arrived. */
  readonly rounds: number;
  /** Requests to both chains meanwhile. */
  readonly requests: number;
}

/** `bad` messages that the hub refuses, in front of 100 good ones; rounds until those have arrived. */
async function play(
  bad: number,
  refuse: (fixture: Fixture, bad: readonly Message[]) => void,
): Promise<Course> {
  const { fixture, relayer, inbound: leg } = setUp();
  const refused = Array.from({ length: bad }, () => fixture.message({ from: fromHex(poor) }));
  refuse(fixture, refused);
  for (const message of refused) fixture.one.dispatch(message);
  const good = Array.from({ length: 100 }, () => fixture.message());
  for (const message of good) fixture.one.dispatch(message);
  await fixture.blocks(1);
  await fixture.update(fixture.one, fixture.hub);
  let rounds = 0;
  const isOver = (): boolean => new Set(delivered(fixture.hub)).isSupersetOf(new Set(commitmentsOf(good)));
  while (!isOver()) {
    rounds++;
    assert.ok(rounds < 20, `${delivered(fixture.hub).length} of 100 after ${rounds} rounds`);
    await round(relayer, leg);
    await mine(relayer, 1, relayer.hub);
  }
  const requests = relayer.one.calls.length + relayer.hub.calls.length;
  return { fixture, relayer, good, bad: refused, rounds, requests };
}

const commitmentsOf = (messages: readonly Message[]): string[] =>
  messages.map(({ commitment }) => commitment);

Deno.test("admission: 2,000 messages without bandwidth do not hold up 100 good ones, and nothing is proved for them", async () => {
  const alone = await play(0, () => undefined);
  const crowded = await play(2_000, (fixture) => fixture.hub.meter(fromHex(poor), 0n));
  assert.equal(crowded.rounds, alone.rounds);
  // One request for each page of due messages beside those of the good ones.
  assert.ok(
    crowded.requests <= alone.requests * 1.2,
    `${crowded.requests} requests, ${alone.requests} alone`,
  );
  const { relayer, bad } = crowded;
  for (const message of bad) {
    const { state, reason, detail } = relayer.row(message, names.hub);
    assert.deepEqual([state, reason], ["held", "no_bandwidth"]);
    assert.equal(detail, `needs ${MESSAGE_BYTES} bytes, the sender has 0 left at the hub`);
  }
});

Deno.test("admission: 2,000 messages whose module fails on the hub hold up 100 good ones by a round at most", async () => {
  const alone = await play(0, () => undefined);
  const crowded = await play(2_000, (fixture, bad) => {
    for (const { commitment } of bad) fixture.hub.failing.add(commitment);
  });
  assert.ok(crowded.rounds <= alone.rounds + 1, `${crowded.rounds} rounds, ${alone.rounds} alone`);
  // One batch is taken apart; what is left of that sender waits for its share.
  const simulations = crowded.relayer.hub.count("simulate");
  assert.ok(simulations < 500, `${simulations} simulations`);
});

Deno.test("admission: what was refused before takes a fifth of a round, fresh messages go first", async () => {
  const { fixture, relayer, bad } = await play(1_700, (node, messages) => {
    for (const { commitment } of messages) node.hub.failing.add(commitment);
  });
  const leg = inbound(relayer);
  for (let times = 0; times < 60; times++) await round(relayer, leg);
  // All of them are due again.
  await fixture.clock.advance(3_600_000);
  await fixture.sendFrom(fixture.one, fixture.hub, 1);
  const before = relayer.hub.count("simulate");
  const fresh = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await round(relayer, leg);
  await fixture.blocks(1);
  for (const message of fresh) assert.ok(delivered(fixture.hub).includes(message.commitment));
  const tried = bad.filter((message) =>
    relayer.row(message, names.hub).updatedAtMs >= fixture.clock.now() - 2_000
  );
  assert.ok(tried.length > 0 && tried.length <= 200 / 5, `${tried.length} were tried again`);
  assert.ok(relayer.hub.count("simulate") > before);
});

Deno.test("admission: a sender's bandwidth is counted over its messages; what it does not cover waits until some is bought", async () => {
  const { fixture, relayer } = setUp();
  fixture.hub.meter(fromHex(sender), 2n * MESSAGE_BYTES + 100n);
  const messages = await fixture.sendFrom(fixture.one, fixture.hub, 3);
  await round(relayer, inbound(relayer));
  await fixture.blocks(1);
  assert.deepEqual(delivered(fixture.hub).length, 2);
  const waiting = messages.map((message) => relayer.row(message, names.hub)).filter(({ reason }) =>
    reason === "no_bandwidth"
  );
  assert.deepEqual(waiting.map(({ detail }) => detail), [
    "needs 576 bytes, the sender has 100 left at the hub",
  ]);
  // Not due for hours, and nothing is enough yet: it is not a try.
  await fixture.clock.advance(3_600_000);
  await round(relayer, inbound(relayer));
  assert.deepEqual(readBandwidth(relayer.ledger, names.one), [{ sender, left: 100n }]);
  const [held] = waiting;
  assert.ok(held !== undefined);
  const before = relayer.row(held, names.hub);
  for (let times = 0; times < 3; times++) await round(relayer, inbound(relayer));
  const after = relayer.row(held, names.hub);
  assert.equal(after.attempts, before.attempts);
  assert.ok(after.nextAttemptAtMs > fixture.clock.now() + 30_000);
  // Bought since.
  fixture.hub.meter(fromHex(sender), 10_000n);
  await fixture.blocks(1);
  await round(relayer, inbound(relayer));
  await fixture.blocks(1);
  assert.equal(delivered(fixture.hub).length, 3);
  await round(relayer, inbound(relayer));
  assert.deepEqual(readBandwidth(relayer.ledger, names.one), []);
});

for (
  const [what, timeoutInSec, end] of [
    ["no timeout", 0, "rejected"],
    ["a timeout within 30 days", 20 * 86_400, "timed_out"],
  ] as const
) {
  Deno.test(`admission: a message with ${what} that the hub continues refusing ends as ${end}`, async () => {
    const { fixture, relayer, inbound: leg } = setUp();
    fixture.hub.meter(fromHex(sender), 0n);
    const timeoutTimestampSec = timeoutInSec === 0
      ? 0n
      : BigInt(Math.floor(fixture.clock.now() / 1000) + timeoutInSec);
    const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1, { timeoutTimestampSec });
    let tries = 0;
    for (let hour = 0; hour < 31 * 24; hour++) {
      const before = relayer.ledger.messages.find(message.commitment, names.hub)?.attempts ?? 0;
      await round(relayer, leg);
      if (relayer.row(message, names.hub).attempts > before) tries++;
      await fixture.clock.advance(3_600_000);
      await fixture.blocks(1);
    }
    const { state, reason } = relayer.row(message, names.hub);
    assert.equal(state, end);
    assert.equal(reason, end === "rejected" ? "refused_by_hub" : "expired");
    if (end === "rejected") assert.equal(tries, 10);
    else assert.ok(tries <= 20 * 4 + 10, `${tries} tries in 20 days`);
    assert.ok(!relayer.one.calls.includes("proveMessages"), "nothing is proved for nothing");
  });
}
