import assert from "node:assert/strict";
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
