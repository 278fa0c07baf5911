/** Nothing is decided about a message in company: modules of which a batch shows less than they do for one message. */
import assert from "node:assert/strict";
import { NEVER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import { rememberWin } from "../../../../src/messaging/relay/limits/competitors.ts";
import { hold } from "../../../../src/messaging/relay/messages.ts";
import { scanLeg, startCursor } from "../../../../src/messaging/relay/scan.ts";
import { mine, outbound, round, settle, suspend, trust } from "../rounds.ts";
import { delivered, Fixture, Relayer, setUp, setUpWith } from "../fixture.ts";

/** Rounds with blocks between them; the largest number of transactions under way. */
async function work(fixture: Fixture, relayer: Relayer, rounds: number): Promise<number> {
  let most = 0;
  const leg = outbound(relayer);
  for (let turn = 0; turn < rounds; turn++) {
    await round(relayer, leg);
    most = Math.max(most, relayer.ledger.submissions.listInFlight(relayer.two.id.stateMachine).length);
    await mine(relayer, 3);
    await settle(relayer);
    await fixture.clock.advance(10_000);
  }
  return most;
}

Deno.test("alone: a module that takes one message a block gets all of them, one transaction after the other", async () => {
  const { fixture, relayer, messages } = await setUpWith(4);
  trust(outbound(relayer), messages);
  relayer.two.alterSimulation = (found) =>
    found.kind === "refused" ? found : { ...found, handled: found.handled.map((_, index) => index === 0) };
  assert.equal(await work(fixture, relayer, 8), 1);
  assert.deepEqual(delivered(fixture.two).length, 4);
});

Deno.test("alone: messages that lack gas in company only are sent in smaller batches, all of them", async () => {
  const { fixture, relayer, messages } = await setUpWith(40);
  trust(outbound(relayer), messages);
  relayer.two.alterSimulation = (simulation) => {
    if (simulation.kind === "refused") return simulation;
    const fitting = simulation.handled.map((_, index) => index < 16);
    const gasUsed = BigInt(fitting.filter(Boolean).length) * 1_000_000n;
    return {
      ...simulation,
      handled: fitting,
      gasUsed,
      gasLimit: 16_000_000n < gasUsed * 2n ? 16_000_000n : gasUsed * 2n,
    };
  };
  await work(fixture, relayer, 6);
  assert.deepEqual(delivered(fixture.two).length, 40);
});

Deno.test("alone: what fails in company, or behind our own transaction to its module, is judged again soon, whatever its past", async () => {
  const { fixture, relayer, leg, messages: [good, bad] } = await setUpWith(2);
  fixture.two.failing.add(bad.commitment);
  trust(leg, [good]);
  await round(relayer, leg);
  const { reason, batchLimit } = relayer.row(bad);
  assert.deepEqual([reason, batchLimit, relayer.row(good).state], ["reverted", 1, "submitted"]);
  await fixture.clock.advance(60_000);
  await round(relayer, leg);
  assert.deepEqual(
    [relayer.row(bad).reason, relayer.row(bad).state],
    ["reverted", "held"],
    "ours is under way",
  );
  await work(fixture, relayer, 3);
  assert.deepEqual([relayer.row(bad).reason, delivered(fixture.two).length], ["simulation_failed", 1]);
  assert.ok(relayer.row(bad).nextAttemptAtMs < NEVER_MS, "one reading alone decides nothing for good");
  fixture.two.failing.clear();
  await fixture.clock.advance(3 * 3_600_000);
  await work(fixture, relayer, 2);
  assert.equal(relayer.row(bad).state, "delivered");
});

for (
  const [what, isSuspended, states] of [
    ["waits itself keeps no message from going alone", true, ["submitted", "held"]],
    ["goes itself makes one before it wait", false, ["held", "submitted"]],
  ] as const
) {
  Deno.test(`alone: a message to the same module that ${what}`, async () => {
    const { fixture, relayer, leg } = setUp();
    rememberWin(leg);
    const from = new Uint8Array(20).fill(7);
    const [single] = await fixture.sendFrom(fixture.hub, fixture.two, 1);
    const [other] = await fixture.sendFrom(fixture.hub, fixture.two, 1, { from });
    trust(leg, [single, other]);
    const view = await leg.target.reads.fetchView(leg.source.id, leg.signal);
    await startCursor(leg, view);
    await scanLeg(leg, view);
    if (isSuspended) suspend(relayer, other);
    hold(leg, relayer.row(single), { reason: "reverted", retryClass: "transient", batchLimit: 1 });
    await fixture.clock.advance(60_000);
    await round(relayer, leg);
    assert.deepEqual([single, other].map((message) => relayer.row(message).state), states);
  });
}
