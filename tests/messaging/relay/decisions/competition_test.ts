import assert from "node:assert/strict";
import {
  afterCompetitorSeen,
  afterWin,
  type Competition,
  competitorBackoffMs,
  inFlightLimit,
  MAX_IN_FLIGHT,
  NO_COMPETITION,
  recall,
} from "../../../../src/messaging/relay/limits/competitors.ts";

const us = new Uint8Array(20).fill(1);
const them = new Uint8Array(20).fill(2);
const lost = (by: Uint8Array, from: Competition = NO_COMPETITION, carried?: number): Competition =>
  afterCompetitorSeen(from, { relayers: [by], nowMs: 1_000, isLoss: true, carried });
const facts = (ourself: Uint8Array, height = 5n): Parameters<typeof competitorBackoffMs>[1] => ({
  height,
  ourself,
  pollIntervalMs: 1_000,
});

Deno.test("competition: the first transaction goes alone, many may follow it, and one while others are seen", () => {
  const limits = [];
  let competition = NO_COMPETITION;
  for (let win = 0; win < MAX_IN_FLIGHT + 2; win++) {
    limits.push(inFlightLimit(competition, 0));
    competition = afterWin(competition);
  }
  assert.deepEqual(limits.slice(0, 4), [1, 8, 8, 8]);
  assert.deepEqual(new Set(limits.slice(1)), new Set([MAX_IN_FLIGHT]));
  assert.equal(
    inFlightLimit(afterCompetitorSeen(competition, { relayers: [them], nowMs: 1, isLoss: false }), 1),
    1,
  );
  assert.deepEqual(
    [1_000, 30_999, 31_000].map((nowMs) => inFlightLimit(lost(them, NO_COMPETITION, 9), nowMs)),
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
});

Deno.test("competition: a lost batch is halved, what is lost after it goes alone, and wins double it", () => {
  const half = lost(them, NO_COMPETITION, 40);
  const single = lost(them, half, 20);
  const limits = [half, single, afterWin(single), afterWin(afterWin(single))].map(({ batchLimit }) =>
    batchLimit
  );
  assert.deepEqual(limits, [20, 1, 2, 4]);
  assert.equal(lost(them, NO_COMPETITION, 1).batchLimit, 1);
  let won = single;
  for (let win = 0; win < 8; win++) won = afterWin(won);
  assert.equal(won.batchLimit, undefined);
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
