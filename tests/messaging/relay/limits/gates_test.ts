/** Messages to modules that accept deliveries of one relayer only. */
import { CONFIRM_AFTER_MS, NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import assert from "node:assert/strict";
import { type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../../src/core/ismp/message.ts";
import type { LegRun, RelaySettings } from "../../../../src/messaging/relay/leg.ts";
import { deliverByHand } from "../../../../src/messaging/relay/deliver/by_hand.ts";
import { NO_COMPETITION, readCompetition } from "../../../../src/messaging/relay/limits/competitors.ts";
import type { FakeClock } from "../../../support/fake_clock.ts";
import { MemoryGates } from "../../../support/memory_gates.ts";
import { delivered, names, Relayer, type Scene, setUpWith } from "../fixture.ts";
import { raceWith } from "../competitor.ts";
import { running } from "../market.ts";
import { mine, outbound, round } from "../rounds.ts";

const DAY_MS = 86_400_000;
const module = new Uint8Array(20).fill(0x77);
const other = new Uint8Array(20).fill(0xd1);

/** A relayer among chains of which the second one has gates, and a message to the module. */
async function prepare(
  settings: Partial<RelaySettings> = {},
): Promise<Scene & { readonly gates: MemoryGates; readonly message: Message }> {
  const { first, ...scene } = await setUpWith(1, { settings, changes: { to: module } });
  const gates = new MemoryGates(scene.fixture.clock);
  scene.relayer.two.gates = gates;
  await scene.fixture.blocks(3);
  return { ...scene, gates, message: first };
}

/** Two attempts a minute apart, since a module's gate may have closed a moment after it was read. */
async function failTwice(relayer: Relayer, leg: LegRun, message: Message): Promise<void> {
  await round(relayer, leg);
  const { nextAttemptAtMs } = relayer.row(message);
  assert.equal(nextAttemptAtMs - leg.clock.now(), 60_000);
  await (leg.clock as FakeClock).advance(60_000);
  await round(relayer, leg);
}

const nameOf = (bytes: Uint8Array): Hex => toHex(bytes);

Deno.test("gates: a message for another relayer is held before it is proved, with its account, and others go", async () => {
  const { fixture, relayer, leg, gates, message } = await prepare();
  gates.accounts.set(nameOf(module), other);
  const [open] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
  await fixture.blocks(3);
  await round(relayer, leg);
  const row = relayer.row(message);
  assert.deepEqual([row.state, row.reason], ["held", "gated"]);
  assert.match(row.detail ?? "", new RegExp(nameOf(other)));
  assert.equal(row.attempts, 0);
  assert.equal(row.nextAttemptAtMs, fixture.clock.now() + DAY_MS);
  assert.equal(relayer.row(open ?? message).state, "submitted");
  assert.equal(relayer.hub.count("proveMessages"), 1);
  for (let rounds = 0; rounds < 20; rounds++) {
    await fixture.blocks(1);
    await round(relayer, leg);
  }
  assert.equal(gates.reads.filter((each) => each === nameOf(module)).length, 1, "remembered");
});

for (const how of ["within a day", "when the host changes", "after a restart"] as const) {
  Deno.test(`gates: a module that opens gets its message ${how}`, async () => {
    const { fixture, relayer, leg, gates, message } = await prepare();
    gates.accounts.set(nameOf(module), other);
    {
      await using _ = running(relayer, leg);
      await fixture.blocks(5);
      assert.equal(relayer.row(message).reason, "gated");
      gates.accounts.clear();
      if (how === "when the host changes") gates.hasHostChanged = true;
      if (how === "within a day") await fixture.clock.advance(DAY_MS);
      if (how !== "after a restart") await fixture.blocks(10);
    }
    if (how === "after a restart") {
      const again = new Relayer(fixture, relayer.ledger);
      again.two.gates = new MemoryGates(fixture.clock);
      await using _ = running(again, outbound(again));
      await fixture.blocks(10);
    }
    assert.deepEqual(delivered(fixture.two), [message.commitment]);
  });
}

Deno.test("gates: a module whose gate closes after it was read holds what fails in two simulations a minute apart", async () => {
  const { fixture, relayer, leg, gates, message } = await prepare();
  await fixture.sendFrom(fixture.hub, fixture.two, 1, { to: module });
  await fixture.blocks(2);
  await round(relayer, leg); // open: both are sent
  await mine(relayer, 2);
  gates.accounts.set(nameOf(module), other);
  const [late] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { to: module });
  fixture.two.failing.add(late.commitment);
  await fixture.blocks(3);
  await round(relayer, leg);
  assert.equal(relayer.row(late).reason, "simulation_failed");
  await fixture.clock.advance(60_000);
  await round(relayer, leg);
  assert.deepEqual([relayer.row(late).reason, relayer.row(message).reason], ["gated", "handled_by_us"]);
});

Deno.test("gates: a module that names others as it likes costs one read a day, and no transaction", async () => {
  const { fixture, relayer, leg, gates, message } = await prepare();
  for (let day = 0; day < 10; day++) {
    gates.accounts.set(nameOf(module), new Uint8Array(20).fill(0x80 + day));
    for (let hour = 0; hour < 24; hour++) {
      await round(relayer, leg);
      await fixture.clock.advance(3_600_000);
    }
  }
  assert.equal(relayer.row(message).reason, "gated");
  assert.equal(gates.reads.length, 10);
  assert.equal(relayer.hub.calls.includes("proveMessages"), false);
  assert.equal(relayer.ledger.submissions.listInFlight(names.two).length, 0);
});

for (
  const [who, settings, isOurs] of [
    ["that nobody but us may deliver", {}, true],
    ["to one of the retry_modules", { retryModules: new Set([nameOf(module)]) }, false],
    ["to one of the retry_modules, with its frequency", {
      retryModules: new Set([nameOf(module)]),
      retryFrequencySec: 60,
    }, false],
  ] as const
) {
  Deno.test(`gates: a message ${who} is never given up`, async () => {
    const { fixture, relayer, leg, gates, message } = await prepare(settings);
    if (isOurs) gates.accounts.set(nameOf(module), relayer.address);
    fixture.two.failing.add(message.commitment);
    await failTwice(relayer, leg, message);
    const held = relayer.row(message);
    assert.deepEqual([held.state, held.reason], ["held", "simulation_failed"]);
    const frequencySec = "retryFrequencySec" in settings ? settings.retryFrequencySec : 300;
    assert.equal(held.nextAttemptAtMs - fixture.clock.now(), frequencySec * 1_000);
    for (let hour = 0; hour < 24 * 40; hour++) {
      await fixture.clock.advance(3_600_000);
      await round(relayer, leg);
    }
    const { nextAttemptAtMs, attempts } = relayer.row(message);
    // Anybody's module may name us, and so have its messages tried indefinitely.
    const maxMs = isOurs ? 7 * DAY_MS : 6 * 3_600_000;
    assert.ok(nextAttemptAtMs - fixture.clock.now() <= maxMs);
    assert.ok(attempts < (isOurs ? 30 : 250), `${attempts} attempts, rarely after a while`);
    fixture.two.failing.clear();
    await fixture.clock.advance(maxMs);
    await round(relayer, leg);
    await fixture.blocks(1);
    assert.deepEqual(delivered(fixture.two), [message.commitment]);
  });
}

Deno.test("gates: without either, a message that its module refuses waits for the operator", async () => {
  const { fixture, relayer, leg, message } = await prepare();
  fixture.two.failing.add(message.commitment);
  await failTwice(relayer, leg, message);
  await fixture.clock.advance(CONFIRM_AFTER_MS);
  await round(relayer, leg);
  assert.equal(relayer.row(message).nextAttemptAtMs, NEVER_MS);
});

Deno.test("gates: by hand a message for another relayer is not sent either, and the gate is read afresh", async () => {
  const { relayer, leg, gates, message } = await prepare();
  gates.accounts.set(nameOf(module), other);
  await round(relayer, leg);
  const refused = await deliverByHand(leg, relayer.row(message), { isDryRun: false });
  assert.equal(refused.outcome, "waiting");
  assert.match(refused.text, new RegExp(nameOf(other)));
  gates.accounts.clear();
  const sent = await deliverByHand(leg, relayer.row(message), { isDryRun: false });
  assert.equal(sent.outcome, "sent");
});

Deno.test("gates: the relayer of a module that delivers what was left to it is no competitor", async () => {
  const { fixture, relayer, leg, gates } = await prepare();
  gates.accounts.set(nameOf(module), other);
  const timeoutTimestampSec = BigInt(Math.floor(fixture.clock.now() / 1000)) + 300n;
  const [message] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { to: module, timeoutTimestampSec });
  await round(relayer, leg);
  assert.deepEqual(relayer.stateOf(message), ["held", "gated"]);
  await raceWith(fixture, [message]);
  await fixture.blocks(400);
  await round(relayer, leg);
  assert.deepEqual(relayer.stateOf(message), ["delivered_by_other", "handled_by_other"]);
  assert.deepEqual(readCompetition(leg), NO_COMPETITION);
});
