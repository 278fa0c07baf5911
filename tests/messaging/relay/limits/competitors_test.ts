import assert from "node:assert/strict";
import type { Message } from "../../../../src/core/ismp/message.ts";
import { confirmForeignReceipts } from "../../../../src/messaging/relay/settle/receipt_checks.ts";
import { raceWith } from "../competitor.ts";
import { running } from "../market.ts";
import { mine, outbound, round, settle } from "../rounds.ts";
import { delivered, memoryLedger, names, Relayer, type Scene, setUp, setUpWith } from "../fixture.ts";
import {
  afterCompetitorSeen,
  batchLimit,
  type Competition,
  competitorBackoffMs,
  inFlightLimit,
  MAX_IN_FLIGHT,
  NO_COMPETITION,
  recall,
} from "../../../../src/messaging/relay/limits/competitors.ts";

type Case = Scene & { readonly competitor: Relayer; readonly message: Message };

/** A relayer that has just seen another one's delivery, which is not final. */
async function prepare(): Promise<Case> {
  const { fixture, relayer: competitor, leg, first: message } = await setUpWith(1, {
    nodes: { two: { finalityLag: 40n } },
    number: 2,
  });
  await round(competitor, leg);
  await mine(competitor);
  const scene = setUp({ fixture });
  await round(scene.relayer, scene.leg);
  assert.equal(scene.relayer.row(message).state, "delivered_by_other");
  return { ...scene, competitor, message };
}

for (const isRemoved of [false, true]) {
  Deno.test(`competitors: a delivery that ${isRemoved ? "a reorganisation removes is made by us" : "becomes final is read once more"}, and then left alone`, async () => {
    const { fixture, relayer, message } = await prepare();
    if (isRemoved) fixture.two.reorganise(1, "forget");
    assert.equal(delivered(fixture.two).length, isRemoved ? 0 : 1);
    await using _ = running(relayer, outbound(relayer));
    await fixture.blocks(130);
    const looks = (): number => relayer.two.count("fetchFinalHeight");
    const before = looks();
    await fixture.blocks(130);
    assert.equal(looks(), before, "nothing is left to look at");
    assert.equal(relayer.row(message).state, isRemoved ? "delivered" : "delivered_by_other");
    assert.deepEqual(delivered(fixture.two), [message.commitment]);
  });
}

Deno.test("competitors: a receipt is confirmed by a final block only, so that one removed before is noticed at once", async () => {
  const { fixture, relayer, message } = await prepare();
  await fixture.clock.advance(1_000);
  await confirmForeignReceipts(relayer.on(relayer.two));
  await fixture.blocks(16);
  assert.equal(await confirmForeignReceipts(relayer.on(relayer.two)), false);
  fixture.two.reorganise(18, "forget");
  await fixture.blocks(60);
  assert.equal(await confirmForeignReceipts(relayer.on(relayer.two)), true);
  assert.equal(relayer.row(message).state, "ready");
});

Deno.test("competitors: a delivery that one reorganisation moves and the next one removes is made by us", async () => {
  const { fixture, relayer, competitor, message } = await prepare();
  await fixture.clock.advance(1_000);
  await confirmForeignReceipts(relayer.on(relayer.two));
  // The block in which it was seen becomes final without it.
  fixture.two.reorganise(1, "forget");
  await fixture.blocks(30);
  const [theirs] = competitor.submissions(message);
  assert.ok(theirs !== undefined);
  fixture.two.submit(theirs.submission.hash);
  await fixture.blocks(12);
  assert.equal(await confirmForeignReceipts(relayer.on(relayer.two)), false);
  fixture.two.reorganise(20, "forget");
  await fixture.blocks(70);
  assert.equal(relayer.row(message).state, "delivered_by_other");
  assert.equal(await confirmForeignReceipts(relayer.on(relayer.two)), true);
  assert.equal(relayer.row(message).state, "ready");
});

Deno.test("competitors: a delivery that turns out to be ours after a reorganisation is ours, and its fee is claimed", async () => {
  const nodes = { two: { finalityLag: 40n } };
  const { fixture, relayer, leg, first: message } = await setUpWith(1, { nodes });
  await round(relayer, leg);
  const [ours] = relayer.submissions(message);
  assert.ok(ours !== undefined);
  fixture.two.clearMempool();
  await raceWith(fixture, [message]);
  await fixture.blocks(1);
  await fixture.clock.advance(60_000);
  await settle(relayer);
  assert.equal(relayer.row(message).state, "delivered_by_other");
  await fixture.clock.advance(1_000);
  await confirmForeignReceipts(relayer.on(relayer.two));
  fixture.two.reorganise(1, "forget");
  fixture.two.submit(ours.submission.hash);
  await fixture.blocks(60);
  await fixture.clock.advance(20_000);
  await confirmForeignReceipts(relayer.on(relayer.two));
  await mine(relayer, 41);
  const record = relayer.ledger.deliveries.find(message.commitment, names.two);
  assert.deepEqual([relayer.row(message).state, record?.claimState, record?.isFinal], [
    "delivered",
    "unclaimed",
    true,
  ]);
});

Deno.test("competitors: a receipt that a second endpoint does not confirm ends nothing; the message waits and is checked again", async () => {
  const { fixture, relayer, first: message } = await setUpWith(1);
  const competitor = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  await round(competitor, outbound(competitor));
  await fixture.blocks(1);
  relayer.two.areWitnessesUp = false;
  await round(relayer, outbound(relayer));
  assert.deepEqual(relayer.stateOf(message), ["held", "race"]);
  assert.deepEqual(relayer.submissions(message), []);
  assert.ok(!relayer.two.calls.includes("simulate"), "it is not simulated either");
  relayer.two.areWitnessesUp = true;
  await fixture.clock.advance(10_000);
  await round(relayer, outbound(relayer));
  assert.equal(relayer.row(message).state, "delivered_by_other");
});

for (const hasWitness of [true, false]) {
  Deno.test(`competitors: a node that is behind takes back no delivery that is final, ${hasWitness ? "with" : "without"} a second opinion`, async () => {
    const { fixture, relayer, message } = await prepare();
    relayer.two.areWitnessesUp = hasWitness;
    for (let look = 0; look < 5; look++) {
      relayer.two.readsBehind = fixture.two.head.height - 1n;
      await confirmForeignReceipts(relayer.on(relayer.two));
      await fixture.blocks(45);
    }
    assert.equal(relayer.row(message).state, "delivered_by_other");
    // What could not be confirmed is looked at again.
    relayer.two.areWitnessesUp = true;
    const looks = (): number => relayer.two.count("fetchCertainReceipts");
    const before = looks();
    relayer.two.readsBehind = fixture.two.head.height - 1n;
    await confirmForeignReceipts(relayer.on(relayer.two));
    assert.equal(looks() > before, !hasWitness);
    assert.equal(relayer.row(message).state, "delivered_by_other");
  });
}

Deno.test("competitors: after a batch that another relayer spoils with one message, messages pause and go in small batches, which grow again", async () => {
  const { fixture, relayer, leg, messages } = await setUpWith(8);
  const sizes: number[] = [];
  for (const spoiled of [7, 0, undefined, undefined, undefined, undefined]) {
    const last = spoiled === undefined ? undefined : messages[spoiled];
    if (last !== undefined) await raceWith(fixture, [last], 10 + sizes.length);
    sizes.push((await round(relayer, leg)).sent);
    await mine(relayer);
    if (last !== undefined) assert.equal((await round(relayer, leg)).sent, 0, "it pauses");
    await fixture.clock.advance(70_000);
  }
  assert.deepEqual(sizes, [8, 2, 1, 2, 3, 0]);
  assert.equal(fixture.two.reverted().length, 2);
  assert.equal(messages.filter((message) => relayer.row(message).state === "delivered").length, 6);
});

const us = new Uint8Array(20).fill(1);
const them = new Uint8Array(20).fill(2);
const lost = (by: Uint8Array, from: Competition = NO_COMPETITION): Competition =>
  afterCompetitorSeen(from, { relayers: [by], nowMs: 1_000, isLoss: true });
const facts = (ourself: Uint8Array, height = 5n): Parameters<typeof competitorBackoffMs>[1] => ({
  height,
  ourself,
  pollIntervalMs: 1_000,
});

Deno.test("competition: the first transaction goes alone, many may follow it, and one while others are seen", () => {
  const won = { ...NO_COMPETITION, hasWon: true };
  const seen = afterCompetitorSeen(won, { relayers: [them], nowMs: 1, isLoss: false });
  const limits = [NO_COMPETITION, won, seen].map((competition) => inFlightLimit(competition, 1));
  assert.deepEqual(limits, [1, MAX_IN_FLIGHT, 1]);
  assert.deepEqual(
    [1_000, 30_999, 31_000].map((nowMs) => inFlightLimit(lost(them), nowMs)),
    [0, 0, 1],
  );
});

Deno.test("competition: only who has lost a race leaves messages to others", () => {
  assert.equal(competitorBackoffMs(NO_COMPETITION, facts(us)), 0);
  const seen = afterCompetitorSeen(NO_COMPETITION, { relayers: [them], nowMs: 1, isLoss: false });
  assert.equal(competitorBackoffMs(seen, facts(us)), 0);
  assert.ok(competitorBackoffMs(lost(them), facts(us)) >= 30_000);
});

Deno.test("competition: when both have lost, exactly one of them goes first, and it is not always the same", () => {
  const firsts = new Set<string>();
  for (let height = 0n; height < 20n; height++) {
    const ours = competitorBackoffMs(lost(them), facts(us, height));
    const theirs = competitorBackoffMs(lost(us), facts(them, height));
    assert.ok(Math.abs(ours - theirs) >= 30_000, `at ${height}: ${ours} and ${theirs}`);
    firsts.add(ours < theirs ? "we" : "they");
  }
  assert.equal(firsts.size, 2);
});

Deno.test("competition: others that are not seen for an hour are forgotten", () => {
  const competition = lost(them);
  assert.deepEqual(recall(competition, 1_000 + 3_600_000), competition);
  assert.deepEqual(recall(competition, 1_001 + 3_600_000), NO_COMPETITION);
  assert.deepEqual(
    recall({ ...competition, lostAtMs: 5_000_000 }, 1_000),
    NO_COMPETITION,
    "a clock set back",
  );
});

Deno.test("competition: after a lost race messages pause, go alone, and then in batches that grow more slowly with each loss", () => {
  const limitsOf = (competition: Competition): readonly number[] =>
    [0, 29_999, 30_000, 60_000, 90_000, 270_000].map((afterMs) => batchLimit(competition, 1_000 + afterMs));
  assert.deepEqual(limitsOf(lost(them)), [0, 0, 1, 2, 4, 256]);
  assert.deepEqual(limitsOf(lost(them, lost(them))), [0, 0, 1, 1, 2, 16]);
  let often = lost(them);
  for (let loss = 0; loss < 100; loss++) often = lost(them, often);
  assert.deepEqual(limitsOf(often), [0, 0, 1, 1, 1, 2]);
  assert.equal(batchLimit(NO_COMPETITION, 1_000), Infinity);
});

Deno.test("competition: many addresses of one competitor make nobody wait for longer than one of them", () => {
  let competition = lost(them);
  const longest = (): number =>
    Math.max(
      ...Array.from(
        { length: 100 },
        (_, height) => competitorBackoffMs(competition, facts(us, BigInt(height))),
      ),
    );
  const before = longest();
  for (let number = 10; number < 30; number++) {
    competition = lost(new Uint8Array(20).fill(number), competition);
    assert.equal(longest(), before);
  }
});
