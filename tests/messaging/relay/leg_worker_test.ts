import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Message } from "../../../src/core/ismp/message.ts";
import { legWorker } from "../../../src/messaging/relay/leg_worker.ts";
import type { FindObstacle, Obstacle, RelaySettings } from "../../../src/messaging/relay/leg.ts";
import { settleWorker } from "../../../src/messaging/relay/settle/settle_worker.ts";
import { Wake } from "../../../src/core/runtime/waiting.ts";
import { running } from "./market.ts";
import { mine, outbound, round, settle } from "./rounds.ts";
import { delivered, Fixture, interrupt, memoryLedger, names, Relayer, setUp, setUpWith } from "./fixture.ts";

/** A relayer whose one leg (and its settling) runs until it is disposed of. */
function withLeg(
  fixture: Fixture,
  way: "in" | "out",
  findObstacle?: FindObstacle,
): Relayer & AsyncDisposable {
  const { relayer, ...legs } = setUp({ fixture });
  const leg = { ...way === "in" ? legs.inbound : legs.leg, findObstacle };
  return Object.assign(relayer, running(relayer, leg));
}

const isDelivered = (fixture: Fixture, message: Message | undefined): boolean =>
  message !== undefined && delivered(fixture.two).concat(delivered(fixture.hub)).includes(message.commitment);

Deno.test("leg: it waits in quiet until the target knows the source, and says so every five minutes", async () => {
  const fixture = new Fixture();
  await using relayer = withLeg(fixture, "out");
  await fixture.clock.advance(304_000);
  assert.equal(relayer.ledger.cursors.find(names.hub, names.two), undefined);
  const told = relayer.log.events("info").filter((event) => event.startsWith("long_wait."));
  assert.deepEqual(told, ["long_wait.source_height"]);
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await fixture.blocks(10);
  assert.ok(isDelivered(fixture, message));
});

for (const [way, reason] of [["out", "target_unprovable"], ["in", "source_not_accepted"]] as const) {
  Deno.test(`leg: messages behind an obstacle (${reason}) are held with it, time out, and continue when it is gone`, async () => {
    const fixture = new Fixture();
    const [source, target] = way === "out" ? [fixture.hub, fixture.two] : [fixture.one, fixture.hub];
    let obstacle: Obstacle | undefined = { reason, detail: "words" };
    const [message] = await fixture.sendFrom(source, target, 1);
    const soon = BigInt(Math.floor(fixture.clock.now() / 1000)) + 300n;
    const [late] = await fixture.sendFrom(source, target, 1, { timeoutTimestampSec: soon });
    await using relayer = withLeg(fixture, way, () => Promise.resolve(obstacle));
    const at = way === "out" ? names.two : names.hub;
    await fixture.blocks(20);
    for (const each of [message, late]) {
      const row = relayer.row(each, at);
      assert.deepEqual([row.state, row.reason, row.detail], ["held", reason, "words"]);
    }
    assert.equal(relayer[way === "out" ? "two" : "hub"].calls.includes("simulate"), false);
    assert.deepEqual(relayer.log.events("warn"), ["leg_blocked"]);
    await fixture.blocks(300);
    assert.equal(relayer.row(late, at).state, "timed_out");
    const [more] = await fixture.sendFrom(source, target, 1);
    await fixture.blocks(10);
    obstacle = undefined;
    await fixture.blocks(10);
    assert.ok(isDelivered(fixture, message));
    assert.ok(isDelivered(fixture, more));
    assert.equal(isDelivered(fixture, late), false);
    assert.ok(relayer.log.events("info").includes("leg_unblocked"));
  });
}

for (const reason of ["target_unprovable", "no_fee_source"] as const) {
  Deno.test(`leg: what an earlier run of the program held as ${reason} continues after a start without that`, async () => {
    const { fixture, first: message, relayer: { ledger } } = await setUpWith(1);
    const run = async (settings: Partial<RelaySettings>, found?: Obstacle): Promise<unknown[]> => {
      const { relayer, leg } = setUp({ fixture, ledger, settings });
      await using _ = running(relayer, { ...leg, findObstacle: () => Promise.resolve(found) });
      await fixture.blocks(10);
      return relayer.stateOf(message);
    };
    const isObstacle = reason === "target_unprovable";
    const before = isObstacle
      ? await run({}, { reason, detail: "words" })
      : await run({ configured: new Set([names.hub, names.two]) });
    assert.deepEqual(before, ["held", reason]);
    assert.deepEqual(await run({}), ["delivered", "handled_by_us"]);
  });
}

for (
  const [way, what, code] of [
    ["out", "The host is frozen", "host_unusable.frozen"],
    ["in", "The light client is frozen", "client_unusable.frozen"],
  ] as const
) {
  Deno.test(`leg: ${what}: logged within a round, once, and again when it is over; messages wait for that (F18)`, async () => {
    const fixture = new Fixture();
    await using relayer = withLeg(fixture, way);
    const [source, target] = way === "out" ? [fixture.hub, fixture.two] : [fixture.one, fixture.hub];
    await fixture.blocks(5);
    target.freeze(true);
    const [message] = await fixture.sendFrom(source, target, 1);
    const at = target.id.stateMachine;
    const warnings = relayer.log.lines.filter(({ level }) => level === "warn");
    assert.deepEqual(warnings.map(({ event, fields }) => [event, fields.chain]), [
      [code, target.id.stateMachine],
    ]);
    await fixture.blocks(30);
    assert.deepEqual([relayer.row(message, at).state, relayer.row(message, at).attempts], ["seen", 0]);
    assert.ok(!relayer[way === "out" ? "two" : "hub"].calls.includes("simulate"));
    target.freeze(false);
    await fixture.blocks(10);
    assert.ok(isDelivered(fixture, message));
    const told = relayer.log.linesOf("host_resumed");
    assert.deepEqual(told.map(({ fields }) => fields.chain), [target.id.stateMachine]);
    assert.equal(relayer.log.events("warn").length, 1);
  });
}

for (const [way, family] of [["out", "EVM"], ["in", "Substrate"]] as const) {
  Deno.test(`leg: within the challenge period an older height proves what it can (${family} host) (F9)`, async () => {
    const fixture = new Fixture({ two: { challengePeriodSec: 60n }, hub: { challengePeriodSec: 60n } });
    const [source, target] = way === "out" ? [fixture.hub, fixture.two] : [fixture.one, fixture.hub];
    await using relayer = withLeg(fixture, way);
    const [old] = await fixture.sendFrom(source, target, 1);
    await fixture.blocks(30);
    const [young] = await fixture.sendFrom(source, target, 1);
    await fixture.blocks(24);
    assert.equal(isDelivered(fixture, old), false, "its height is not old enough");
    await fixture.blocks(14);
    assert.ok(isDelivered(fixture, old), "the newer height does not hold it up");
    assert.equal(isDelivered(fixture, young), false);
    await fixture.blocks(40);
    assert.ok(isDelivered(fixture, young));
    assert.deepEqual(relayer.log.events("warn"), []);
  });
}

Deno.test("leg: a height that is vetoed in its challenge period is not used (F9)", async () => {
  const fixture = new Fixture({ two: { challengePeriodSec: 60n } });
  await using relayer = withLeg(fixture, "out");
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await fixture.blocks(30);
  fixture.two.veto(fixture.hub);
  await fixture.blocks(60);
  assert.equal(isDelivered(fixture, message), false);
  assert.equal(fixture.two.reverted().length, 0);
  await fixture.update(fixture.hub, fixture.two);
  await fixture.blocks(80);
  assert.ok(isDelivered(fixture, message));
  assert.deepEqual(relayer.log.events("error"), []);
});

Deno.test("leg: an endpoint that fails is asked every 15 seconds, reported once, and its return is used and reported by then", async () => {
  const fixture = new Fixture();
  await using relayer = withLeg(fixture, "out");
  relayer.two.faults.add("fetchView", { kind: "throw", code: "unreachable" }, { times: 1_000 });
  const callsIn = async (ms: number): Promise<number> => {
    const before = relayer.two.calls.length;
    await fixture.clock.advance(ms);
    return relayer.two.calls.length - before;
  };
  const first = await callsIn(60_000);
  await fixture.clock.advance(600_000);
  const later = await callsIn(60_000);
  assert.ok(first >= 5 && first <= 10, `${first} calls in the first minute`);
  assert.ok(later >= 4 && later <= 6, `${later} calls in a later one`);
  assert.deepEqual(relayer.log.events("warn"), ["leg_paused"]);
  relayer.two.faults.clear("fetchView");
  await fixture.clock.advance(15_000);
  assert.ok(relayer.log.events("info").includes("leg_resumed"));
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await fixture.blocks(10);
  assert.ok(isDelivered(fixture, message));
});

Deno.test("leg: a worker that is started again continues at its cursor, whatever initial_height says (F1)", async () => {
  const { fixture, relayer } = setUp({ initialHeight: 0n });
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  const worker = legWorker(outbound(relayer));
  interrupt(relayer.two, "simulate", () => {
    throw new Error("a defect");
  });
  await assert.rejects(fixture.clock.run(worker.run(relayer.signal)), /a defect/);
  const cursor = relayer.ledger.cursors.find(names.hub, names.two);
  assert.ok(cursor !== undefined && cursor > 0n);
  const reads = (): number => relayer.hub.count("fetchEvents");
  const before = reads();
  const end = worker.run(relayer.signal).catch(() => undefined);
  await fixture.blocks(3);
  assert.equal(reads(), before, "nothing is read a second time");
  assert.ok(isDelivered(fixture, message));
  relayer.kill();
  await end;
});

Deno.test("leg: a hundred messages that others delivered do not make the next ones wait (F14)", async () => {
  const fixture = new Fixture();
  const competitor = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  await fixture.sendFrom(fixture.hub, fixture.two, 300);
  const theirs = outbound(competitor);
  for (let block = 0; block < 3; block++) {
    await round(competitor, theirs);
    await fixture.blocks(1);
    await fixture.clock.advance(4_000);
    await settle(competitor);
  }
  const [ours] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  assert.equal(delivered(fixture.two).length, 300);
  await using relayer = withLeg(fixture, "out");
  const find = (): string | undefined =>
    relayer.ledger.messages.find(ours.commitment, fixture.two.id.stateMachine)?.state;
  // Rows are written in slices, between which the event loop turns; the clock stands still.
  for (let turn = 0; turn < 1_000 && find() !== "submitted"; turn++) {
    await setImmediate();
    await fixture.clock.advance(0);
  }
  assert.equal(find(), "submitted", "in the first round already");
});

Deno.test("leg: a long catch-up delivers what it finds on the way", async () => {
  const fixture = new Fixture();
  for (let some = 0; some < 10; some++) {
    for (let count = 0; count < 30; count++) fixture.hub.dispatch(fixture.message());
    await fixture.blocks(2);
  }
  await fixture.update(fixture.hub, fixture.two);
  const relayer = new Relayer(fixture, memoryLedger(fixture), {
    chain: { limits: { blocksPerEventQuery: 2n } },
  });
  const steps: string[] = [];
  for (const method of ["fetchEvents", "proveMessages"] as const) {
    const act = (): void => void steps.push(method);
    relayer.hub.faults.add(method, { kind: "interrupt", when: "before", act }, { times: 1_000 });
  }
  const leg = outbound(relayer);
  const end = legWorker(leg).run(relayer.signal).catch(() => undefined);
  await fixture.clock.advance(0);
  const whole = steps.indexOf("proveMessages");
  assert.ok(whole >= 4 && whole < steps.lastIndexOf("fetchEvents"), steps.join(" "));
  const { height } = await relayer.two.fetchView(relayer.hub.id, relayer.signal);
  assert.equal(relayer.ledger.cursors.find(names.hub, names.two), height);
  relayer.kill();
  await end;
});

Deno.test("leg: messages that expire while they wait are ended by the target's clock", async () => {
  const fixture = new Fixture();
  fixture.two.freeze(true);
  const soon = BigInt(Math.floor(fixture.clock.now() / 1000)) + 100n;
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { timeoutTimestampSec: soon });
  await using relayer = withLeg(fixture, "out");
  await fixture.blocks(110);
  assert.equal(relayer.row(message).state, "timed_out", "also while the host is frozen");
  fixture.two.freeze(false);
  await fixture.blocks(5);
  assert.equal(relayer.row(message).state, "timed_out");
  assert.equal(fixture.two.reverted().length, 0);
});

Deno.test("settle worker: rows that no open transaction carries are settled again after a start", async () => {
  const { fixture, relayer, leg, first: message } = await setUpWith(1);
  await round(relayer, leg);
  const [journalled] = relayer.submissions(message);
  assert.ok(journalled !== undefined);
  relayer.ledger.transaction(() => {
    relayer.ledger.submissions.update(journalled.id, { state: "dropped" });
  });
  assert.equal(relayer.row(message).state, "submitted");
  const work = { target: relayer.two, sources: [relayer.hub], everyMs: 2_000, legs: [] };
  const worker = settleWorker({ ...relayer.on(relayer.two), ...work, wake: new Wake(fixture.clock) });
  const end = worker.run(relayer.signal).catch(() => undefined);
  await fixture.clock.settle();
  assert.equal(relayer.row(message).state, "ready");
  relayer.kill();
  await end;
});

Deno.test("handler change: what was signed for the old handler reverts, no message is blamed, and the delivery goes through the new one", async () => {
  const { fixture, relayer, leg, first: message } = await setUpWith(1);
  assert.equal((await round(relayer, leg)).sent, 1);
  fixture.two.replaceHandler();
  await mine(relayer);
  assert.equal(relayer.row(message).reason, "reverted");
  assert.equal(relayer.row(message).detail, "UnauthorizedAction");
  await fixture.clock.advance(5_000);
  assert.equal((await round(relayer, leg)).sent, 1);
  await mine(relayer, 4);
  assert.deepEqual(delivered(fixture.two), [message.commitment]);
  assert.equal(relayer.row(message).state, "delivered");
  assert.equal(fixture.two.reverted().length, 1);
});

Deno.test("handler change: while the endpoint with the host's parameters is behind, messages are held and nothing is paid", async () => {
  const { fixture, relayer, leg, first: message } = await setUpWith(1);
  // The parameters are known before governance acts.
  relayer.two.faults.add("sign", { kind: "throw", code: "timeout" });
  await assert.rejects(round(relayer, leg));
  fixture.two.replaceHandler();
  await fixture.blocks(1);
  relayer.two.blocksBehind = 1n;
  assert.equal((await round(relayer, leg)).sent, 0);
  assert.deepEqual(relayer.stateOf(message), ["held", "handler_replaced"]);
  relayer.two.blocksBehind = 0n;
  await fixture.clock.advance(60_000);
  assert.equal((await round(relayer, leg)).sent, 1);
  await mine(relayer, 4);
  assert.equal(relayer.row(message).state, "delivered");
  assert.equal(fixture.two.reverted().length, 0);
});
