import assert from "node:assert/strict";
import type { Hex } from "../../../src/core/encoding/bytes.ts";
import { parseRow, toMessageRow } from "../../../src/messaging/relay/messages.ts";
import { RpcFault } from "../../../src/core/rpc/call.ts";
import { NEVER_MS } from "../../../src/messaging/relay/decisions/retry_schedule.ts";
import type { LegRun } from "../../../src/messaging/relay/leg.ts";
import { noteLegKnown, scanLeg, startCursor } from "../../../src/messaging/relay/scan.ts";
import { mine, outbound, readAgain, round, settle } from "./rounds.ts";
import { Fixture, interrupt, names, Relayer, sender, setUp, setUpWith } from "./fixture.ts";
import { faultOf } from "../../support/rpc_faults.ts";
import { withLedgerFile } from "../../support/ledger.ts";

async function scan(relayer: Relayer, leg: LegRun): Promise<number> {
  const view = await leg.target.reads.fetchView(leg.source.id, relayer.signal);
  const { found, isComplete } = await scanLeg(leg, view);
  assert.ok(isComplete);
  return found;
}

async function start(relayer: Relayer, leg: LegRun): Promise<void> {
  const view = await leg.target.reads.fetchView(leg.source.id, relayer.signal);
  await startCursor(leg, view);
}

const cursorOf = (relayer: Relayer): bigint | undefined => relayer.ledger.cursors.find(names.one, names.hub);

const limits = { limits: { blocksPerEventQuery: 2n } };

Deno.test("scan: rows and cursor appear together, and the cursor stops at what the target can verify", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  const messages = await fixture.sendFrom(fixture.one, fixture.hub, 3);
  fixture.one.dispatch(fixture.message());
  await fixture.blocks(1);
  await start(relayer, leg);
  assert.equal(await scan(relayer, leg), 3);
  const { height } = await relayer.hub.fetchView(relayer.one.id, relayer.signal);
  assert.equal(cursorOf(relayer), height);
  for (const message of messages) assert.equal(relayer.row(message, names.hub).state, "seen");
  assert.equal(await scan(relayer, leg), 0, "a second scan finds nothing new");
});

Deno.test("scan: one that takes minutes is logged with the block that it has reached", async () => {
  const { fixture, relayer, inbound: leg } = setUp({ chain: limits });
  await fixture.blocks(9);
  await fixture.update(fixture.one, fixture.hub);
  const { height } = await relayer.hub.fetchView(relayer.one.id, relayer.signal);
  await start(relayer, leg);
  const fetchEvents = relayer.one.fetchEvents.bind(relayer.one);
  relayer.one.fetchEvents = async (...range) => {
    await fixture.clock.advance(200_000);
    return await fetchEvents(...range);
  };
  await scan(relayer, leg);
  const [line] = relayer.log.linesOf("long_wait.blocks");
  assert.deepEqual([line?.fields.at, line?.fields.to], [5n, height]);
});

Deno.test("scan: a stored message that is not the one of its row is refused", () => {
  const fixture = new Fixture();
  const found = {
    seenAtHeight: 1n,
    state: "seen",
    reason: "waiting_for_update",
    nextAttemptAtMs: 0,
  } as const;
  const [message, other] = [fixture.message(), fixture.message()];
  const row = toMessageRow(message, { source: names.one, target: names.hub }, found);
  assert.deepEqual(parseRow(row), message);
  assert.throws(() => parseRow({ ...row, commitment: other.commitment }), /holds message/);
});

Deno.test("scan: a chain that joins minutes after the start begins at the block of the start, also where its node forgets", async () => {
  for (
    const [isKnown, isForgetful, found] of [[true, false, 3], [true, true, 3], [false, false, 0]] as const
  ) {
    const { fixture, relayer } = setUp();
    await fixture.sendFrom(fixture.one, fixture.hub, 2);
    await fixture.blocks(10);
    const leg = relayer.leg(relayer.one, relayer.hub, { initialHeight: undefined });
    if (isKnown) noteLegKnown(leg, leg.clock.now());
    const before = fixture.one.head.height - 5n;
    await fixture.blocks(2);
    const missed = await fixture.sendFrom(fixture.one, fixture.hub, 3);
    await fixture.blocks(60);
    noteLegKnown(leg, leg.clock.now()); // as a restart does
    await fixture.update(fixture.one, fixture.hub);
    const fetchBlockTime = relayer.one.reads.fetchBlockTime;
    relayer.one.reads.fetchBlockTime = (height, signal) =>
      isForgetful && height <= before
        ? Promise.reject(faultOf("pruned"))
        : fetchBlockTime.call(relayer.one.reads, height, signal);
    await start(relayer, leg);
    assert.equal(await scan(relayer, leg), found);
    const rows = missed.filter(({ commitment }) => relayer.ledger.messages.find(commitment, names.hub));
    assert.equal(rows.length, found);
  }
});

Deno.test("scan: very many rows come in slices, the cursor with the last, and a crash between two loses nothing", async () => {
  const fixture = new Fixture();
  const messages = Array.from({ length: 250 }, () => fixture.message());
  for (const message of messages) fixture.one.dispatch(message);
  await fixture.blocks(1);
  await fixture.update(fixture.one, fixture.hub);
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    const first = new Relayer(fixture, ledger);
    await start(first, first.leg(first.one, first.hub));
    const whole = first.ledger.transaction;
    let written = 0;
    const failing = first.leg(first.one, first.hub, {
      ledger: {
        ...ledger,
        transaction: (work) => {
          if (++written === 3) first.kill(); // the first is of a block without any
          return whole(work);
        },
      },
    });
    await assert.rejects(scan(first, failing));
    const rows = (relayer: Relayer): number =>
      relayer.ledger.messages.countByState().reduce((sum, { count }) => sum + count, 0);
    const second = new Relayer(fixture, reopen());
    assert.deepEqual([rows(second), cursorOf(second)], [200, 1n]);
    await scan(second, second.leg(second.one, second.hub));
    assert.equal(rows(second), messages.length);
    const { height } = await second.hub.fetchView(second.one.id, second.signal);
    assert.equal(cursorOf(second), height);
  });
});

Deno.test("scan: a crash between reading and writing loses nothing (F1)", async () => {
  const fixture = new Fixture();
  const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await withLedgerFile(fixture.clock, async (ledger, reopen) => {
    const { relayer: first, inbound: leg } = setUp({ fixture, ledger });
    await start(first, leg);
    interrupt(first.one, "fetchEvents", () => first.kill(), "after");
    await assert.rejects(scan(first, leg), /killed/);
    const { relayer: second, inbound: again } = setUp({ fixture, ledger: reopen() });
    assert.equal(cursorOf(second), 0n);
    assert.equal(await scan(second, again), 1);
    assert.equal(second.row(message, names.hub).state, "seen");
  });
});

Deno.test("scan: when writing a row fails, the cursor stays as well", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  await fixture.blocks(1);
  // Of one block, so that they are written together.
  for (let message = 0; message < 2; message++) fixture.one.dispatch(fixture.message());
  await fixture.blocks(1);
  fixture.hub.accept(fixture.one, 3n);
  await fixture.blocks(1);
  let writes = 0;
  const { messages } = relayer.ledger;
  const record = messages.record.bind(messages);
  messages.record = (row) => {
    if (++writes === 2) throw new Error("disk full");
    return record(row);
  };
  await start(relayer, leg);
  await assert.rejects(scan(relayer, leg), /disk full/);
  assert.equal(cursorOf(relayer), 1n, "the block before was written by itself");
  assert.deepEqual(messages.countByState(), []);
  assert.equal(await scan(relayer, leg), 2);
});

// The first chunk is one block, later ones are as wide as the chain allows.
for (const [name, skip, cursor] of [["first", 0, 0n], ["middle", 1, 1n], ["last", 2, 3n]] as const) {
  Deno.test(`scan: a failure of the ${name} chunk leaves the cursor before it, and the next scan continues (F8)`, async () => {
    const { fixture, relayer, inbound: leg } = setUp({ chain: limits });
    await fixture.blocks(1);
    for (let block = 0; block < 5; block++) {
      fixture.one.dispatch(fixture.message());
      await fixture.blocks(1);
    }
    fixture.hub.accept(fixture.one, 6n);
    await fixture.blocks(1);
    await start(relayer, leg);
    relayer.one.faults.add("fetchEvents", { kind: "throw", code: "range_too_wide" }, { skip });
    await assert.rejects(
      scan(relayer, leg),
      (error: unknown) => error instanceof RpcFault && error.code === "range_too_wide",
    );
    assert.equal(cursorOf(relayer), cursor);
    await scan(relayer, leg);
    assert.equal(cursorOf(relayer), 6n);
    const [count] = relayer.ledger.messages.countByState();
    assert.equal(count?.count, 5 - 1, "block 7 is not accepted yet");
  });
}

Deno.test("scan: the order of events and repeated events make no difference (F11)", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  const messages = await fixture.sendFrom(fixture.one, fixture.hub, 5);
  relayer.one.alterEvents = (events) => [...events, ...events].reverse();
  await start(relayer, leg);
  assert.equal(await scan(relayer, leg), 5);
  const query = { source: names.one, target: names.hub, nowMs: fixture.clock.now(), limit: 10 };
  const due = relayer.ledger.messages.listDue(query).map(({ commitment }) => commitment);
  assert.deepEqual(due, messages.map(({ commitment }) => commitment));
});

Deno.test("scan: initial_height below the cursor reads again without touching what has ended", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await start(relayer, leg);
  await scan(relayer, leg);
  relayer.ledger.messages.transition(message.commitment, names.hub, {
    to: "delivered_by_other",
    reason: "handled_by_other",
  });
  const lines = relayer.log.lines.length;
  await start(relayer, leg);
  assert.equal(cursorOf(relayer), 0n);
  assert.equal(await scan(relayer, leg), 0);
  assert.equal(relayer.row(message, names.hub).state, "delivered_by_other");
  const said = relayer.log.lines.slice(lines).map((line) => line.event);
  assert.ok(!said.includes("message_found"), "nothing is found a second time");
});

Deno.test("scan: initial_height above the cursor skips blocks and says so; a restart without it continues", async () => {
  const { fixture, relayer, inbound } = setUp();
  await fixture.sendFrom(fixture.one, fixture.hub, 1);
  for (const [initialHeight, cursor] of [[100n, 100n], [undefined, 1n]] as const) {
    relayer.ledger.cursors.reset(names.one, names.hub, 1n);
    await start(relayer, { ...inbound, initialHeight });
    assert.deepEqual([cursorOf(relayer), relayer.log.events("warn").length], [cursor, 1]);
  }
});

Deno.test("scan: after a week without the program, blocks older than seven days are left out and reported", async () => {
  const { fixture, relayer, inbound } = setUp();
  const leg = { ...inbound, initialHeight: undefined };
  await fixture.sendFrom(fixture.one, fixture.hub, 1);
  const before = fixture.one.head.height;
  await fixture.clock.advance(8 * 24 * 3_600_000);
  const [young] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  relayer.ledger.cursors.reset(names.one, names.hub, 1n);
  await start(relayer, leg);
  assert.equal(cursorOf(relayer), before);
  assert.equal(await scan(relayer, leg), 1);
  assert.equal(relayer.row(young, names.hub).state, "seen");
  const warning = relayer.log.lines.find(({ level }) => level === "warn");
  assert.equal(warning?.fields["initial_height"], 1n);
});

Deno.test("scan: a height that goes down after a veto does not move the cursor back (F9)", async () => {
  const { fixture, relayer, inbound: leg } = setUp();
  await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await start(relayer, leg);
  await scan(relayer, leg);
  const cursor = cursorOf(relayer);
  fixture.hub.veto(fixture.one);
  await fixture.blocks(1);
  assert.equal(await scan(relayer, leg), 0);
  assert.equal(cursorOf(relayer), cursor);
});

Deno.test("scan: a message that a filter rejected is let in again once the filter has changed", async () => {
  const { fixture, relayer: { ledger } } = setUp();
  const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  for (
    const [module, expected] of [["0x00", ["rejected", "module_filter"]], [sender, [
      "seen",
      undefined,
    ]]] as const
  ) {
    const { relayer, inbound: leg } = setUp({
      fixture,
      ledger,
      settings: { moduleFilter: new Set([module]) },
    });
    await start(relayer, leg);
    assert.equal(await scan(relayer, leg), 1);
    assert.deepEqual(relayer.stateOf(message, names.hub), expected);
  }
});

Deno.test("scan: a request of a module of the hub that is not listed waits for a second reading of the list (F21)", async () => {
  const { relayer, leg, first: message } = await setUpWith(1, { changes: { source: names.hub } });
  await start(relayer, leg);
  await scan(relayer, leg);
  assert.deepEqual(relayer.stateOf(message), ["held", "hub_originated"]);
});

for (const [then, listed] of [["submitted", [sender]], ["rejected", []]] as const) {
  Deno.test(`scan: requests of the hub that wait for its list delay no others, and are ${then} then`, async () => {
    const hub: { list?: ReadonlyMap<Hex, bigint> } = {};
    const { fixture, relayer, leg, messages: waiting } = await setUpWith(3, {
      settings: { listedModules: () => hub.list },
      chain: { limits: { maxMessagesPerStep: 3 } },
      changes: { source: names.hub },
    });
    const users = await fixture.sendFrom(fixture.hub, fixture.two, 2);
    assert.deepEqual(await round(relayer, leg), { sent: 0, hasMore: true }, "a page of messages that wait");
    assert.deepEqual(await round(relayer, leg), { sent: 2, hasMore: false });
    assert.ok(users.every((message) => relayer.row(message).state === "submitted"));
    assert.deepEqual(await round(relayer, leg), { sent: 0, hasMore: false }, "no loop without a pause");
    await mine(relayer, 8);
    hub.list = new Map(listed.map((module) => [module, 1n]));
    await round(relayer, leg);
    await readAgain(relayer, leg);
    assert.deepEqual(waiting.map((message) => relayer.row(message).state), [then, then, then]);
  });
}

Deno.test("scan: a raised fee leaves messages alone that wait for something else", async () => {
  const { fixture, relayer, inbound: leg } = setUp({ settings: { retryFrequencySec: 60 } });
  const [message] = await fixture.sendFrom(fixture.one, fixture.hub, 1);
  await start(relayer, leg);
  await scan(relayer, leg);
  fixture.hub.dispatch(message);
  await fixture.blocks(1);
  await fixture.update(fixture.hub, fixture.two);
  const out = outbound(relayer);
  await start(relayer, out);
  await scan(relayer, out);
  const change = { to: "held", reason: "simulation_failed", nextAttemptAtMs: NEVER_MS } as const;
  relayer.ledger.messages.transition(message.commitment, names.two, change);
  fixture.one.fund(message.commitment, 5n);
  await fixture.blocks(1);
  await fixture.update(fixture.one, fixture.hub);
  await scan(relayer, leg);
  assert.equal(relayer.row(message).nextAttemptAtMs, NEVER_MS);
});

for (const state of ["rejected", "timed_out", "delivered_by_other"] as const) {
  Deno.test(`scan: the event of a delivery of ours becomes its record where the message counts as ${state}`, async () => {
    const { fixture, relayer, first: message } = await setUpWith(1);
    const before = setUp({ fixture });
    assert.equal((await round(before.relayer, before.leg)).sent, 1);
    await fixture.blocks(1);
    // The database that knew of it is lost.
    const ends = { source: names.hub, target: names.two };
    relayer.ledger.messages.record(toMessageRow(message, ends, { seenAtHeight: 1n, state }));
    const back = relayer.leg(relayer.two, relayer.hub);
    await fixture.update(fixture.two, fixture.hub);
    await round(relayer, back);
    await settle(relayer);
    const record = relayer.ledger.deliveries.find(message.commitment, names.two);
    assert.deepEqual([record?.claimState, record?.isFinal], ["unclaimed", true]);
    assert.equal(relayer.row(message).state, state === "delivered_by_other" ? "delivered" : state);
  });
}
