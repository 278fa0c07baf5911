import assert from "node:assert/strict";
import type { Simulation } from "../../../../src/core/chains/submission.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import { type BisectResult, findDeliverable } from "../../../../src/messaging/relay/deliver/bisect_batch.ts";
import { forge } from "../../../support/memory_host.ts";
import { Fixture, memoryLedger, names, Relayer, setUp } from "../fixture.ts";

interface Case {
  readonly fixture: Fixture;
  readonly relayer: Relayer;
  readonly messages: readonly Message[];
  readonly run: () => Promise<BisectResult>;
}

/** `count` messages from one chain, ready to be proved to the hub (or from the hub to the other chain). */
async function prepare(count: number, way: "in" | "out" = "out"): Promise<Case> {
  const { fixture, relayer } = setUp();
  const [source, target] = way === "in" ? [fixture.one, fixture.hub] : [fixture.hub, fixture.two];
  const messages = await fixture.sendFrom(source, target, count);
  const leg = way === "in" ? relayer.leg(relayer.one, relayer.hub) : relayer.leg(relayer.hub, relayer.two);
  const { height } = await leg.target.reads.fetchView(leg.source.id, relayer.signal);
  return {
    fixture,
    relayer,
    messages,
    run: () => findDeliverable(leg, { messages, height, consensusProofs: [] }),
  };
}

/** Numbers of messages as they were prepared. */
function numbers(messages: readonly Message[], all: readonly Message[]): number[] {
  return messages.map((message) => all.indexOf(message));
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

Deno.test("bisect: a good batch costs one proof and one simulation", async () => {
  const { relayer, messages, run } = await prepare(100);
  const { accepted, refused } = await run();
  assert.deepEqual(accepted.map((part) => numbers(part.messages, messages)), [range(0, 100)]);
  assert.equal(refused.length, 0);
  assert.deepEqual(relayer.hub.calls.concat(relayer.two.calls).sort(), [
    "fetchHostParams",
    "fetchView",
    "proveMessages",
    "simulate",
  ]);
});

for (const bad of [0, 41, 99]) {
  Deno.test(`bisect: one bad message out of 100, at place ${bad}, does not hold up the others (F14)`, async () => {
    const { relayer, fixture, messages, run } = await prepare(100, "in");
    fixture.hub.failing.add(messages[bad]?.commitment ?? "0x");
    const { accepted, refused } = await run();
    assert.deepEqual(accepted.map((part) => numbers(part.messages, messages)), [
      range(0, 100).filter((number) => number !== bad),
    ]);
    assert.deepEqual(refused.map(({ message, code }) => [messages.indexOf(message), code]), [
      [bad, "module_failed"],
    ]);
    const tries = relayer.hub.calls.filter((method) => method === "simulate").length;
    assert.ok(tries <= 16, `${tries} simulations`);
  });
}

Deno.test("bisect: two messages that only fail together travel apart (F14)", async () => {
  const { fixture, messages, run } = await prepare(8);
  const [first, last] = [messages[1], messages[6]];
  assert.ok(first !== undefined && last !== undefined);
  fixture.two.quarrels.push([first.commitment, last.commitment]);
  const { accepted, refused } = await run();
  assert.equal(refused.length, 0);
  assert.deepEqual(accepted.map((part) => numbers(part.messages, messages)), [range(0, 4), range(4, 8)]);
});

Deno.test("bisect: when every message is bad, each is refused and nothing is accepted", async () => {
  const { fixture, messages, run } = await prepare(7, "in");
  for (const { commitment } of messages) fixture.hub.failing.add(commitment);
  const { accepted, refused } = await run();
  assert.equal(accepted.length, 0);
  assert.deepEqual(numbers(refused.map(({ message }) => message), messages), range(0, 7));
});

Deno.test("bisect: one message whose trace is too large is found, refused alone, and the others are taken", async () => {
  const { fixture, messages, run } = await prepare(8);
  fixture.two.untraceable.add(messages[5]?.commitment ?? "0x");
  const { accepted, refused } = await run();
  assert.deepEqual(accepted.map((part) => numbers(part.messages, messages)), [[0, 1, 2, 3, 4, 6, 7]]);
  assert.deepEqual(refused.map(({ message, code }) => [messages.indexOf(message), code]), [
    [5, "untraceable"],
  ]);
});

Deno.test("bisect: messages whose traces take ten seconds each hold up the others by the depth of the search, not by their number", async () => {
  const { fixture, relayer, messages, run } = await prepare(64);
  for (let index = 0; index < 64; index += 3) {
    fixture.two.untraceable.add(messages[index]?.commitment ?? "0x");
  }
  const simulate = relayer.two.simulate.bind(relayer.two);
  relayer.two.simulate = async (delivery, signal) => {
    const simulation = await simulate(delivery, signal);
    if (simulation.kind === "refused") await fixture.clock.sleep(10_000, signal);
    return simulation;
  };
  const startMs = fixture.clock.now();
  const { accepted, refused } = await fixture.clock.run(run());
  assert.deepEqual([accepted.flatMap((part) => part.messages).length, refused.length], [42, 22]);
  assert.ok(fixture.clock.now() - startMs <= 70_000, `${fixture.clock.now() - startMs} ms`);
});

Deno.test("bisect: a refusal about the chain is not taken apart", async () => {
  const { relayer, fixture, run } = await prepare(50);
  fixture.two.freeze(true);
  await fixture.blocks(1);
  const { accepted, refused } = await run();
  assert.equal(accepted.length, 0);
  assert.equal(refused.length, 50);
  assert.ok(refused.every(({ code }) => code === "host_frozen"));
  assert.equal(relayer.two.calls.filter((method) => method === "simulate").length, 1);
});

Deno.test("bisect: a message whose module would fail unnoticed is taken out of the batch (F14)", async () => {
  const { fixture, messages, run } = await prepare(5);
  fixture.two.failing.add(messages[2]?.commitment ?? "0x");
  const { accepted, refused } = await run();
  assert.deepEqual(accepted.map((part) => numbers(part.messages, messages)), [[0, 1, 3, 4]]);
  assert.deepEqual(refused.map(({ message, code }) => [messages.indexOf(message), code]), [
    [2, "not_executed"],
  ]);
});

Deno.test("bisect: a duplicate, an expired message and one for another chain are distinguished (F14)", async () => {
  const fixture = new Fixture();
  const soon = BigInt(Math.floor(fixture.clock.now() / 1000)) + 2n;
  const changes = [{}, { timeoutTimestampSec: soon }, { dest: names.one }, {}];
  const messages = changes.map((change) => fixture.message(change));
  for (const message of messages) fixture.hub.dispatch(message);
  await fixture.blocks(1);
  await fixture.update(fixture.hub, fixture.two);
  const competitor = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  const leg = competitor.leg(competitor.hub, competitor.two);
  const { height } = await leg.target.reads.fetchView(leg.source.id, competitor.signal);
  const [duplicate] = messages;
  assert.ok(duplicate !== undefined);
  const { accepted: [part] } = await findDeliverable(leg, {
    messages: [duplicate],
    height,
    consensusProofs: [],
  });
  assert.ok(part !== undefined);
  const signed = await competitor.two.sign(
    part.delivery,
    { simulation: part.simulation, nonceAtLeast: undefined },
    competitor.signal,
  );
  assert.ok(signed.kind === "signed");
  await competitor.two.broadcast(signed.submission, competitor.signal);
  await fixture.blocks(1);
  const { accepted, refused } = await findDeliverable(
    leg,
    { messages, height, consensusProofs: [] },
  );
  assert.deepEqual(accepted.map(({ messages: some }) => numbers(some, messages)), [[3]]);
  const codes = new Map(refused.map(({ message, code }) => [messages.indexOf(message), code]));
  assert.deepEqual([...codes].sort(), [[0, "duplicate"], [1, "timed_out"], [2, "bad_destination"]]);
});

Deno.test("bisect: one message that the source cannot prove does not hold up the others", async () => {
  const { fixture, relayer, messages } = await prepare(6);
  const leg = relayer.leg(relayer.hub, relayer.two);
  const { height } = await leg.target.reads.fetchView(leg.source.id, relayer.signal);
  const ghost = fixture.message();
  const { accepted, refused } = await findDeliverable(
    leg,
    { messages: [...messages, ghost], height, consensusProofs: [] },
  );
  assert.deepEqual(accepted.map((part) => numbers(part.messages, messages)), [range(0, 6)]);
  assert.deepEqual(refused.map(({ message, code }) => [message, code]), [[ghost, "bad_proof"]]);
});

Deno.test("bisect: a forged proof is refused by every host", async () => {
  for (const way of ["in", "out"] as const) {
    const { relayer, run } = await prepare(2, way);
    for (const chain of [relayer.one, relayer.hub]) chain.alterProof = forge;
    const { accepted, refused } = await run();
    assert.equal(accepted.length, 0);
    assert.deepEqual(refused.map(({ code }) => code), ["bad_proof", "bad_proof"]);
  }
});

Deno.test("bisect: an endpoint that does not answer is the leg's matter, not the messages'", async () => {
  const { relayer, run } = await prepare(2);
  relayer.two.faults.add("simulate", { kind: "throw", code: "unreachable" });
  await assert.rejects(run(), { code: "unreachable" });
});

Deno.test("bisect: a refused proof in front of the messages blames no message, and costs one simulation", async () => {
  for (const [found, reported] of [["unspecified", "bad_proof"], ["bad_proof", "bad_proof"]] as const) {
    const { relayer, messages } = await prepare(9);
    const leg = relayer.leg(relayer.hub, relayer.two);
    const { height } = await leg.target.reads.fetchView(leg.source.id, relayer.signal);
    let simulations = 0;
    relayer.two.simulate = (): Promise<Simulation> => {
      simulations++;
      return Promise.resolve({ kind: "refused", refusal: { code: found, detail: "ProofInvalid", step: 0 } });
    };
    const work = { messages, height, consensusProofs: [Uint8Array.of(1)] };
    const { accepted, refused } = await findDeliverable(leg, work);
    assert.deepEqual(accepted, []);
    assert.deepEqual(refused.map(({ code }) => code), messages.map(() => reported));
    assert.equal(simulations, 1);
  }
});
