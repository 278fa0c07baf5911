import assert from "node:assert/strict";
import type { Simulation } from "../../../../src/core/chains/submission.ts";
import type { Message, PostRequest } from "../../../../src/core/ismp/message.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { type BisectResult, findDeliverable } from "../../../../src/messaging/relay/deliver/bisect_batch.ts";
import { forge } from "../../../support/memory_host.ts";
import { names, type Scene, setUp } from "../fixture.ts";
import { raceWith } from "../competitor.ts";

/** Looks for what can be delivered of all messages, or of those that are given. */
type Find = (some?: readonly Message[], consensusProofs?: readonly Uint8Array[]) => Promise<BisectResult>;

/** `count` messages from one chain, ready to be proved to the hub (or from the hub to the other chain). */
async function prepare(
  count: number,
  way: "in" | "out" = "out",
  changesOf: (index: number) => Partial<PostRequest> = () => ({}),
): Promise<Scene & { readonly messages: readonly Message[]; readonly run: Find }> {
  const scene = setUp();
  const { fixture, relayer } = scene;
  const [leg, source, target] = way === "in"
    ? [scene.inbound, fixture.one, fixture.hub]
    : [scene.leg, fixture.hub, fixture.two];
  const messages = Array.from({ length: count }, (_, index) => fixture.message(changesOf(index)));
  for (const message of messages) source.dispatch(message);
  await fixture.blocks(1);
  await fixture.update(source, target);
  const { height } = await leg.target.reads.fetchView(leg.source.id, relayer.signal);
  const run: Find = (some = messages, consensusProofs = []) =>
    findDeliverable(leg, { messages: some, height, consensusProofs });
  return { ...scene, messages, run };
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
    const tries = relayer.hub.count("simulate");
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
  relayer.two.alterSimulation = async (found) => {
    if (found.kind === "refused") await fixture.clock.sleep(10_000, relayer.signal);
    return found;
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
  assert.equal(relayer.two.count("simulate"), 1);
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
  const timeoutTimestampSec = BigInt(Math.floor(new FakeClock().now() / 1000)) + 2n;
  const changes = [{}, { timeoutTimestampSec }, { dest: names.one }, {}];
  const { fixture, messages, run } = await prepare(4, "out", (index) => changes[index] ?? {});
  await raceWith(fixture, messages.slice(0, 1));
  await fixture.blocks(1);
  const { accepted, refused } = await run();
  assert.deepEqual(accepted.map(({ messages: some }) => numbers(some, messages)), [[3]]);
  const codes = new Map(refused.map(({ message, code }) => [messages.indexOf(message), code]));
  assert.deepEqual([...codes].sort(), [[0, "duplicate"], [1, "timed_out"], [2, "bad_destination"]]);
});

Deno.test("bisect: one message that the source cannot prove does not hold up the others", async () => {
  const { fixture, messages, run } = await prepare(6);
  const ghost = fixture.message();
  const { accepted, refused } = await run([...messages, ghost]);
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
  for (const code of ["unspecified", "bad_proof"] as const) {
    const { relayer, messages, run } = await prepare(9);
    let simulations = 0;
    relayer.two.simulate = (): Promise<Simulation> => {
      simulations++;
      return Promise.resolve({ kind: "refused", refusal: { code, detail: "ProofInvalid", step: 0 } });
    };
    const { accepted, refused } = await run(messages, [Uint8Array.of(1)]);
    assert.deepEqual([accepted, simulations], [[], 1]);
    assert.deepEqual(refused.map(({ code }) => code), messages.map(() => "bad_proof"));
  }
});
