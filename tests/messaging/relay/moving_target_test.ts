/** What a target knows of the source changes in the wrong moment: updates, challenge periods, heights that are gone. */
import assert from "node:assert/strict";
import { outbound, round, settle } from "./rounds.ts";
import { running } from "./market.ts";
import { delivered, memoryLedger, names, Relayer, World } from "./fixture.ts";

interface Case {
  readonly world: World;
  readonly relayer: Relayer;
}

function prepare(): Case {
  const world = new World();
  return { world, relayer: new Relayer(world, memoryLedger(world)) };
}

Deno.test("moving target: a height that the target evicts before the proof is checked costs nothing but time (F9)", async () => {
  const { world, relayer } = prepare();
  const [message] = await world.sendFrom(world.hub, world.two, 1);
  assert.ok(message !== undefined);
  relayer.two.faults.add("simulate", {
    kind: "interrupt",
    when: "before",
    act: () => {
      world.two.evict(world.hub);
      world.two.produceBlock();
    },
  });
  await running(relayer, outbound(relayer), async () => {
    await world.blocks(5);
    assert.deepEqual(delivered(world.two), []);
    assert.equal(relayer.row(message).state, "held");
    await world.update(world.hub, world.two);
    await world.blocks(30);
    assert.deepEqual(delivered(world.two), [message.commitment]);
  });
  assert.equal(world.two.reverted().length, 0);
  assert.deepEqual(relayer.log.events("error"), []);
});

Deno.test("moving target: a challenge period that begins and ends while the relayer runs is kept (F9)", async () => {
  const { world, relayer } = prepare();
  await running(relayer, outbound(relayer), async () => {
    const [first] = await world.sendFrom(world.hub, world.two, 1);
    await world.blocks(10);
    assert.deepEqual(delivered(world.two), [first?.commitment], "without a period at once");
    world.two.challengePeriodSec = 60n;
    const [second] = await world.sendFrom(world.hub, world.two, 1);
    await world.blocks(40);
    assert.equal(delivered(world.two).length, 1, "not before the period is over");
    await world.blocks(40);
    assert.deepEqual(delivered(world.two), [first?.commitment, second?.commitment]);
    world.two.challengePeriodSec = 0n;
    await world.sendFrom(world.hub, world.two, 1);
    await world.blocks(10);
    assert.equal(delivered(world.two).length, 3, "without a period at once again");
  });
  assert.equal(world.two.reverted().length, 0);
});

Deno.test("moving target: two updates within one poll lose nothing and send nothing twice (F10)", async () => {
  const { world } = prepare();
  const relayer = new Relayer(world, memoryLedger(world), { pollIntervalMs: 30_000 });
  await running(relayer, outbound(relayer), async () => {
    await world.blocks(35);
    const first = await world.sendFrom(world.hub, world.two, 2);
    const second = await world.sendFrom(world.hub, world.two, 2);
    assert.deepEqual(delivered(world.two), [], "both updates fall between two polls");
    await world.blocks(60);
    const all = [...first, ...second].map(({ commitment }) => commitment);
    assert.deepEqual(delivered(world.two).sort(), all.sort());
    const batches = new Set(
      [...first, ...second].flatMap((each) => relayer.submissions(each)).map(({ id }) => id),
    );
    assert.equal(batches.size, 1, "one transaction carries what both updates made provable");
  });
});

Deno.test("moving target: an update between reading the target and waiting is seen at the next poll (F10)", async () => {
  const { world, relayer } = prepare();
  const message = world.message();
  world.hub.dispatch(message);
  await world.blocks(1 + Number(world.hub.finalityLag));
  relayer.two.faults.add("fetchView", {
    kind: "interrupt",
    when: "after",
    act: () => {
      world.two.accept(world.hub);
      world.two.produceBlock();
    },
  });
  await running(relayer, outbound(relayer), async () => {
    await world.clock.advance(0);
    assert.equal(relayer.ledger.cursors.find(names.hub, names.two), undefined, "it read before the update");
    await world.blocks(5);
    assert.deepEqual(delivered(world.two), [message.commitment]);
  });
});

Deno.test("moving target: hours without an update are spent in quiet, and the next one serves (F10)", async () => {
  const { world, relayer } = prepare();
  await world.sendFrom(world.hub, world.two, 1);
  await running(relayer, outbound(relayer), async () => {
    await world.blocks(10);
    const before = delivered(world.two).length;
    const message = world.message();
    world.hub.dispatch(message);
    await world.blocks(5);
    await world.clock.advance(2 * 3_600_000);
    assert.equal(delivered(world.two).length, before);
    assert.equal(world.two.poolSize, 0, "nothing is tried that the target cannot verify");
    await world.update(world.hub, world.two);
    await world.blocks(10);
    assert.ok(delivered(world.two).includes(message.commitment));
    assert.deepEqual(relayer.log.events("error"), []);
    assert.deepEqual(relayer.log.events("warn"), []);
  });
});

Deno.test("moving target: what times out between planning and sending ends, and the rest of its batch arrives (F14)", async () => {
  const { world, relayer } = prepare();
  const soon = BigInt(Math.floor(world.clock.now() / 1_000)) + 90n;
  const [late] = await world.sendFrom(world.hub, world.two, 1, { timeoutTimestampSec: soon });
  const others = await world.sendFrom(world.hub, world.two, 2);
  assert.ok(late !== undefined);
  relayer.two.faults.add("sign", {
    kind: "interrupt",
    when: "after",
    act: () => world.clock.jump(120_000),
  });
  await round(relayer, outbound(relayer));
  await world.blocks(3);
  await settle(relayer);
  assert.equal(world.two.reverted().length, 1, "the whole batch was in vain");
  await running(relayer, outbound(relayer), () => world.blocks(30));
  assert.equal(relayer.row(late).state, "timed_out");
  assert.deepEqual(delivered(world.two).sort(), others.map(({ commitment }) => commitment).sort());
  assert.equal(world.two.reverted().length, 1);
});

for (const [way, byMs] of [["forward by a day", 86_400_000], ["back by ten minutes", -600_000]] as const) {
  Deno.test(`moving target: a clock that jumps ${way} loses nothing and sends nothing twice (F27)`, async () => {
    const { world, relayer } = prepare();
    await running(relayer, outbound(relayer), async () => {
      const before = await world.sendFrom(world.hub, world.two, 2);
      world.clock.jump(byMs);
      const after = await world.sendFrom(world.hub, world.two, 2);
      if (byMs < 0) await world.clock.advance(-byMs);
      await world.blocks(60);
      const all = [...before, ...after].map(({ commitment }) => commitment);
      assert.deepEqual(delivered(world.two).sort(), all.sort());
      assert.equal(world.two.reverted().length, 0);
      assert.deepEqual(relayer.log.events("error"), []);
    });
  });
}
