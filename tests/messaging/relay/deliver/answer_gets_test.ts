import assert from "node:assert/strict";
import { fromHex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { getMessage, type GetRequest, type Message } from "../../../../src/core/ismp/message.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import type { LegRun } from "../../../../src/messaging/relay/leg.ts";
import { hold } from "../../../../src/messaging/relay/messages.ts";
import { forge } from "../../../support/memory_host.ts";
import { answer, mine, readAgain, round } from "../rounds.ts";
import { delivered, Fixture, interrupt, memoryLedger, names, Relayer, sender } from "../fixture.ts";

interface Case {
  readonly fixture: Fixture;
  readonly relayer: Relayer;
  readonly leg: LegRun;
  /** Makes questions of the first chain about the second one, and lets the hub know the first. */
  readonly ask: (...changes: Partial<GetRequest>[]) => Promise<Extract<Message, { kind: "get" }>[]>;
}

const slot = (contract: number, place: number): Uint8Array => {
  const key = new Uint8Array(52).fill(contract, 0, 20);
  key[51] = place;
  return key;
};

/** The hub knows block 5 of the second chain; a relayer that answers. */
async function prepare(hub: { challengePeriodSec?: bigint } = {}): Promise<Case> {
  const fixture = new Fixture({ hub });
  await fixture.blocks(8);
  fixture.hub.accept(fixture.two, 5n);
  await fixture.blocks(1);
  const relayer = new Relayer(fixture, memoryLedger(fixture));
  const chains = new Map([[names.one, relayer.one], [names.two, relayer.two]]);
  const leg = relayer.leg(relayer.one, relayer.hub, { answering: { hub: relayer.hub.hubCalls, chains } });
  let nonce = 0n;
  const ask: Case["ask"] = async (...changes) => {
    const messages = changes.map((change) =>
      getMessage({
        source: names.one,
        dest: names.two,
        nonce: nonce++,
        from: fromHex(sender),
        keys: [slot(1, 1)],
        height: 5n,
        context: new Uint8Array(),
        timeoutTimestampSec: 0n,
        ...change,
      })
    );
    for (const message of messages) fixture.one.dispatch(message);
    await fixture.blocks(1);
    await fixture.update(fixture.one, fixture.hub);
    return messages;
  };
  return { fixture, relayer, leg, ask };
}

const stateOf = (relayer: Relayer, message: Message | undefined): unknown[] =>
  message === undefined ? [] : relayer.stateOf(message, names.hub);

Deno.test("answer: questions about one block are answered at once, and the response goes back after its timeout", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const endsSoon = BigInt(Math.floor(fixture.clock.now() / 1000)) + 120n;
  const gets = await ask({}, { keys: [slot(1, 2)], timeoutTimestampSec: endsSoon });
  assert.equal(await answer(relayer, leg), false);
  assert.equal(relayer.hub.count("prepareCall"), 1);
  assert.equal(relayer.two.count("proveState"), 1);
  await mine(relayer, 1, relayer.hub);
  for (const get of gets) assert.deepEqual(stateOf(relayer, get), ["delivered", "handled_by_us"]);
  await fixture.clock.advance(600_000);
  await fixture.blocks(1);
  await fixture.update(fixture.hub, fixture.one);
  await round(relayer, relayer.leg(relayer.hub, relayer.one));
  await fixture.blocks(1);
  assert.deepEqual(delivered(fixture.one).sort(), gets.map(({ commitment }) => commitment).sort());
});

Deno.test("answer: two heights and two contracts need an answer each (F23)", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  fixture.hub.accept(fixture.two, 7n);
  await fixture.blocks(1);
  const gets = await ask({}, { height: 7n }, { keys: [slot(2, 1)] }, { keys: [slot(1, 9)] });
  await answer(relayer, leg);
  assert.equal(relayer.hub.count("prepareCall"), 3);
  await fixture.blocks(1);
  assert.deepEqual(delivered(fixture.hub).sort(), gets.map(({ commitment }) => commitment).sort());
});

Deno.test("answer: a block that the hub does not know yet is waited for (F23)", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const [get] = await ask({ height: 9n });
  await answer(relayer, leg);
  assert.deepEqual(stateOf(relayer, get), ["held", "waiting_for_update"]);
  fixture.hub.accept(fixture.two, 9n);
  await fixture.blocks(20);
  await answer(relayer, leg);
  assert.equal(stateOf(relayer, get)[0], "submitted");
});

Deno.test("answer: a block that the hub has skipped is never known, so the question waits for its timeout only (F23)", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const timeoutTimestampSec = BigInt(Math.floor(fixture.clock.now() / 1000)) + 9_000n;
  const [get, other] = await ask({ height: 4n, timeoutTimestampSec }, {});
  assert.ok(get !== undefined);
  await answer(relayer, leg);
  assert.deepEqual(stateOf(relayer, get), ["held", "height_unknown"]);
  assert.equal(stateOf(relayer, other)[0], "submitted");
  await readAgain(relayer, leg, answer);
  assert.equal(relayer.row(get, names.hub).nextAttemptAtMs, NEVER_MS);
  await fixture.clock.advance(3_700_000);
  await fixture.blocks(1);
  await round(relayer, leg);
  assert.deepEqual(stateOf(relayer, get), ["timed_out", "expired"]);
});

Deno.test("answer: the challenge period of the block that is read is waited for (F23)", async () => {
  const { fixture, relayer, leg, ask } = await prepare({ challengePeriodSec: 40n });
  await fixture.clock.advance(60_000);
  fixture.hub.accept(fixture.two, 6n);
  const [get] = await ask({ height: 6n });
  await answer(relayer, leg);
  assert.deepEqual(stateOf(relayer, get), ["held", "challenge_period"]);
  await fixture.clock.advance(60_000);
  await fixture.blocks(1);
  await answer(relayer, leg);
  assert.equal(stateOf(relayer, get)[0], "submitted");
  await fixture.blocks(1);
  assert.equal(delivered(fixture.hub).length, 1);
});

Deno.test("answer: a question about a chain that is not configured waits, without a call (F23)", async () => {
  const { relayer, leg, ask } = await prepare();
  const [get] = await ask({ dest: parseStateMachine("EVM-77") });
  await answer(relayer, leg);
  assert.deepEqual(stateOf(relayer, get), ["held", "unconfigured_chain"]);
  assert.equal(relayer.hub.count("dryRunCall"), 0);
});

Deno.test("answer: a key that cannot be proven holds up no other question, and is not tried again (F23)", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const gets = await ask({}, { keys: [slot(1, 2)] }, { keys: [slot(1, 3)] });
  relayer.two.unprovable.add(toHex(slot(1, 2)));
  await answer(relayer, leg);
  assert.deepEqual(gets.map((get) => stateOf(relayer, get)[0]), ["submitted", "held", "submitted"]);
  const [, bad] = gets;
  assert.ok(bad !== undefined);
  assert.equal(relayer.row(bad, names.hub).nextAttemptAtMs, NEVER_MS);
  await fixture.blocks(1);
  assert.equal(delivered(fixture.hub).length, 2);
});

Deno.test("answer: a request that its source cannot prove holds up no other one", async () => {
  const { relayer, leg, ask } = await prepare();
  const gets = await ask({}, {}, {});
  const [, bad] = gets;
  const prove = relayer.one.proveMessages.bind(relayer.one);
  relayer.one.proveMessages = async (messages, ...rest) => {
    const isBad = messages.some(({ commitment }) => commitment === bad?.commitment);
    if (isBad) relayer.one.faults.add("proveMessages", { kind: "throw", code: "not_found" });
    return await prove(messages, ...rest);
  };
  await answer(relayer, leg);
  assert.deepEqual(gets.map((get) => stateOf(relayer, get)), [
    ["submitted", undefined],
    ["held", "proof_unavailable"],
    ["submitted", undefined],
  ]);
});

Deno.test("answer: what another relayer answers before we submit ends as delivered by them (F23)", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const competitor = new Relayer(fixture, memoryLedger(fixture), { number: 2 });
  const chains = new Map([[names.one, competitor.one], [names.two, competitor.two]]);
  const theirs = competitor.leg(competitor.one, competitor.hub, {
    answering: { hub: competitor.hub.hubCalls, chains },
  });
  const gets = await ask({}, {});
  await answer(competitor, theirs);
  interrupt(relayer.hub, "dryRunCall", () => void fixture.hub.produceBlock());
  await answer(relayer, leg);
  assert.deepEqual(gets.map((get) => stateOf(relayer, get)[0]), ["held", "held"]);
  await fixture.blocks(20);
  await answer(relayer, leg);
  for (const get of gets) assert.deepEqual(stateOf(relayer, get), ["delivered_by_other", "handled_by_other"]);
  assert.equal(relayer.hub.count("prepareCall"), 0);
});

Deno.test("answer: a group that the hub refuses is answered one by one", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const gets = await ask({}, {}, {});
  fixture.hub.failing.add(gets[1]?.commitment ?? "0x");
  await answer(relayer, leg);
  assert.deepEqual(gets.map((get) => stateOf(relayer, get)), [
    ["submitted", undefined],
    ["held", "hub_refused"],
    ["submitted", undefined],
  ]);
  assert.equal(relayer.hub.count("dryRunCall"), 4);
});

Deno.test("answer: a proof that the hub refuses is made again soon, however often the request had to wait before", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const [get] = await ask({});
  assert.ok(get !== undefined);
  relayer.one.alterProof = forge;
  for (let proof = 0; proof < 12; proof++) {
    await answer(relayer, leg);
    const held = relayer.row(get, names.hub);
    assert.deepEqual([held.state, held.reason, held.refusals], ["held", "proof_unavailable", 0]);
    assert.ok(held.nextAttemptAtMs - fixture.clock.now() <= 7 * 60_000);
    await fixture.clock.advance(7 * 60_000);
  }
  relayer.one.alterProof = (proof) => proof;
  await answer(relayer, leg);
  assert.deepEqual(stateOf(relayer, get), ["submitted", undefined]);
});

Deno.test("hold: only refusals of the hub count toward the end of a message that it refuses", async () => {
  const { relayer, ask } = await prepare();
  const [get] = await ask({});
  assert.ok(get !== undefined);
  await round(relayer, relayer.leg(relayer.one, relayer.hub));
  const holdAs = (retryClass: "transient" | "hub_refused"): void =>
    hold(relayer.on(relayer.hub), relayer.row(get, names.hub), { reason: "hub_refused", retryClass });
  for (let wait = 0; wait < 30; wait++) holdAs("transient");
  holdAs("hub_refused");
  const { state, nextAttemptAtMs, refusals } = relayer.row(get, names.hub);
  assert.deepEqual([state, refusals], ["held", 1]);
  assert.ok(nextAttemptAtMs - relayer.deps.clock.now() <= 20_000, "the first refusal waits as a first one");
  for (let refusal = 2; refusal < 10; refusal++) holdAs("hub_refused");
  assert.equal(relayer.row(get, names.hub).state, "held");
  holdAs("hub_refused");
  assert.deepEqual(stateOf(relayer, get), ["rejected", "refused_by_hub"]);
});

Deno.test("answer: a refusal that is about the chain is not asked about every question again", async () => {
  const { fixture, relayer, leg, ask } = await prepare();
  const gets = await ask({}, {}, {});
  // The hub loses the block between our look and its own.
  interrupt(relayer.hub, "dryRunCall", () => {
    fixture.hub.veto(fixture.one);
    fixture.hub.produceBlock();
  });
  await answer(relayer, leg);
  for (const get of gets) assert.deepEqual(stateOf(relayer, get), ["held", "hub_refused"]);
  assert.equal(relayer.hub.count("dryRunCall"), 1);
});

for (
  const [chain, method] of [["two", "proveState"], ["one", "proveMessages"], ["hub", "prepareCall"]] as const
) {
  Deno.test(`answer: an endpoint that fails (${method}) holds only the group that needs it`, async () => {
    const { fixture, relayer, leg, ask } = await prepare();
    const gets = await ask({}, { keys: [slot(2, 1)] });
    relayer[chain].faults.add(method, { kind: "throw", code: "unreachable" });
    await answer(relayer, leg);
    assert.deepEqual(gets.map((get) => stateOf(relayer, get)), [
      ["held", "proof_unavailable"],
      ["submitted", undefined],
    ]);
    await fixture.blocks(5);
    await answer(relayer, leg);
    assert.deepEqual(gets.map((get) => stateOf(relayer, get)[0]), ["submitted", "submitted"]);
  });
}
