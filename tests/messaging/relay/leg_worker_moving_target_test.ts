/** What a target knows of the source changes in the wrong moment: updates, challenge periods, heights that are gone. */
import assert from "node:assert/strict";
import { mine, outbound, round } from "./rounds.ts";
import { running } from "./market.ts";
import { delivered, interrupt, memoryLedger, names, Relayer, setUp, setUpWith } from "./fixture.ts";

Deno.test("moving target: a height that the target evicts before the proof is checked costs nothing but time (F9)", async () => {
  const { fixture, relayer, first: message } = await setUpWith(1);
  interrupt(relayer.two, "simulate", () => {
    fixture.two.evict(fixture.hub);
    fixture.two.produceBlock();
  });
  {
    await using _ = running(relayer, outbound(relayer));
    await fixture.blocks(5);
    assert.deepEqual(delivered(fixture.two), []);
    assert.equal(relayer.row(message).state, "held");
    await fixture.update(fixture.hub, fixture.two);
    await fixture.blocks(30);
    assert.deepEqual(delivered(fixture.two), [message.commitment]);
  }
  assert.equal(fixture.two.reverted().length, 0);
  assert.deepEqual(relayer.log.events("error"), []);
});

Deno.test("moving target: a challenge period that begins and ends while the relayer runs is kept (F9)", async () => {
  const { fixture, relayer } = setUp();
  {
    await using _ = running(relayer, outbound(relayer));
    const [first] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
    await fixture.blocks(10);
    assert.deepEqual(delivered(fixture.two), [first?.commitment], "without a period at once");
    fixture.two.challengePeriodSec = 60n;
    const [second] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
    await fixture.blocks(40);
    assert.equal(delivered(fixture.two).length, 1, "not before the period is over");
    await fixture.blocks(40);
    assert.deepEqual(delivered(fixture.two), [first?.commitment, second?.commitment]);
    fixture.two.challengePeriodSec = 0n;
    await fixture.sendFrom(fixture.hub, fixture.two, 1);
    await fixture.blocks(10);
    assert.equal(delivered(fixture.two).length, 3, "without a period at once again");
  }
  assert.equal(fixture.two.reverted().length, 0);
});

Deno.test("moving target: two updates within one poll lose nothing and send nothing twice (F10)", async () => {
  const { fixture } = setUp();
  const relayer = new Relayer(fixture, memoryLedger(fixture), { pollIntervalMs: 30_000 });
  await using _ = running(relayer, outbound(relayer));
  await fixture.blocks(35);
  const first = await fixture.sendFrom(fixture.hub, fixture.two, 2);
  const second = await fixture.sendFrom(fixture.hub, fixture.two, 2);
  assert.deepEqual(delivered(fixture.two), [], "both updates fall between two polls");
  await fixture.blocks(60);
  const all = [...first, ...second].map(({ commitment }) => commitment);
  assert.deepEqual(delivered(fixture.two).sort(), all.sort());
  const batches = new Set(
    [...first, ...second].flatMap((each) => relayer.submissions(each)).map(({ id }) => id),
  );
  assert.equal(batches.size, 1, "one transaction carries what both updates made provable");
});

Deno.test("moving target: an update between reading the target and waiting is seen at the next poll (F10)", async () => {
  const { fixture, relayer } = setUp();
  const message = fixture.message();
  fixture.hub.dispatch(message);
  await fixture.blocks(1 + Number(fixture.hub.finalityLag));
  interrupt(relayer.two, "fetchView", () => {
    fixture.two.accept(fixture.hub);
    fixture.two.produceBlock();
  }, "after");
  await using _ = running(relayer, outbound(relayer));
  await fixture.clock.advance(0);
  assert.equal(relayer.ledger.cursors.find(names.hub, names.two), undefined, "it read before the update");
  await fixture.blocks(5);
  assert.deepEqual(delivered(fixture.two), [message.commitment]);
});

Deno.test("moving target: what times out between planning and sending ends, and the rest of its batch arrives (F14)", async () => {
  const { fixture, relayer } = setUp();
  const soon = BigInt(Math.floor(fixture.clock.now() / 1_000)) + 90n;
  const [late] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { timeoutTimestampSec: soon });
  const others = await fixture.sendFrom(fixture.hub, fixture.two, 2);
  interrupt(relayer.two, "sign", () => fixture.clock.jump(120_000), "after");
  await round(relayer, outbound(relayer));
  await mine(relayer, 3);
  assert.equal(fixture.two.reverted().length, 1, "the whole batch was wasted");
  {
    await using _ = running(relayer, outbound(relayer));
    await fixture.blocks(30);
  }
  assert.equal(relayer.row(late).state, "timed_out");
  assert.deepEqual(delivered(fixture.two).sort(), others.map(({ commitment }) => commitment).sort());
  assert.equal(fixture.two.reverted().length, 1);
});

for (const [way, byMs] of [["forward by a day", 86_400_000], ["back by ten minutes", -600_000]] as const) {
  Deno.test(`moving target: a clock that jumps ${way} loses nothing and sends nothing twice (F27)`, async () => {
    const { fixture, relayer } = setUp();
    await using _ = running(relayer, outbound(relayer));
    const before = await fixture.sendFrom(fixture.hub, fixture.two, 2);
    fixture.clock.jump(byMs);
    const after = await fixture.sendFrom(fixture.hub, fixture.two, 2);
    if (byMs < 0) await fixture.clock.advance(-byMs);
    await fixture.blocks(60);
    const all = [...before, ...after].map(({ commitment }) => commitment);
    assert.deepEqual(delivered(fixture.two).sort(), all.sort());
    assert.equal(fixture.two.reverted().length, 0);
    assert.deepEqual(relayer.log.events("error"), []);
  });
}
