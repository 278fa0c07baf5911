/** Two relayers of their own side by side on the same chains, with seeds for everything that is left to chance. */
import assert from "node:assert/strict";
import { unresolvedSubmissionStates } from "../../../src/messaging/ledger/ledger.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { Randomness } from "../../../src/core/runtime/clock.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { delivered, Fixture, memoryLedger, names, Relayer } from "./fixture.ts";

interface Course {
  readonly fixture: Fixture;
  readonly random: Randomness;
  readonly messages: Message[];
  /** Seconds between blocks of the destination. */
  readonly blockSec: number;
}

function newCourse(seed: number): Course {
  const random = seededRandomness(seed);
  const blockSec = 1 + Math.floor(random.fraction() * 12);
  return { fixture: new Fixture(), random, messages: [], blockSec };
}

/** One second: messages leave, blocks come, commitments move. */
async function second({ fixture, random, messages, blockSec }: Course, at: number): Promise<void> {
  await fixture.clock.advance(1_000);
  if (at < 240 && random.fraction() < 0.2) {
    const count = 1 + Math.floor(random.fraction() * 6);
    for (let index = 0; index < count; index++) {
      const message = fixture.message();
      messages.push(message);
      fixture.one.dispatch(message);
    }
  }
  if (at % 2 === 0) fixture.one.produceBlock();
  if (at % 6 === 0) fixture.hub.produceBlock();
  if (at % blockSec === 0) fixture.two.produceBlock();
  if (at % 12 === 0) {
    fixture.hub.accept(fixture.one);
    fixture.two.accept(fixture.hub);
  }
}

function join(course: Course, number: number): Relayer {
  const seed = Math.floor(course.random.fraction() * 2 ** 32);
  const latency = seededRandomness(seed + 1);
  return new Relayer(course.fixture, memoryLedger(course.fixture), {
    number,
    seed,
    pollIntervalMs: 3_000,
    chain: { latencyMs: () => 10 + Math.floor(latency.fraction() * 400) },
  });
}

/** No message is in two transactions of which either may still deliver it (docs/architecture/messaging.md, I5). */
function checkAttempts(relayer: Relayer, target: StateMachine): void {
  const { submissions } = relayer.ledger;
  const open = submissions.listUnresolved(target)
    .filter(({ state }) => unresolvedSubmissionStates.some((unresolved) => unresolved === state))
    .flatMap(({ id }) => submissions.itemsOf(id))
    .filter(({ outcome }) => outcome === undefined).map(({ commitment }) => commitment);
  assert.equal(new Set(open).size, open.length, "one unresolved attempt for each message");
}

function checkEnd(course: Course, relayers: readonly Relayer[]): void {
  const { fixture, messages } = course;
  const all = messages.map(({ commitment }) => commitment).sort();
  assert.ok(all.length > 0);
  assert.deepEqual([...delivered(fixture.two)].sort(), all, "delivered once each");
  for (const relayer of relayers) {
    const name = toHex(relayer.address);
    const errors = relayer.log.lines.filter(({ level }) => level === "error");
    assert.deepEqual(errors, [], "no error lines");
    const ours = fixture.two.deliveries().filter((delivery) => toHex(delivery.relayer) === name);
    for (const { commitment } of ours) {
      assert.equal(
        relayer.ledger.deliveries.find(commitment, names.two)?.isFinal,
        true,
        "every delivery of ours is recorded",
      );
    }
    const { length } = relayer.ledger.deliveries.listByClaimState("unclaimed", { limit: 10_000 });
    assert.equal(length, ours.length, "nothing else is recorded");
    const states = relayer.ledger.messages.countByState().filter(({ target }) => target === names.two);
    const ended = states.filter(({ state }) => state.startsWith("delivered"));
    assert.equal(ended.reduce((sum, { count }) => sum + count, 0), all.length, JSON.stringify(states));
  }
}

function revertsOf(fixture: Fixture, relayer: Relayer): number {
  const account = toHex(relayer.address);
  return fixture.two.reverted().filter((transaction) => transaction.account === account).length;
}

Deno.test("two relayers racing: each message once, at most one reverted transaction each", async () => {
  let reverts = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const course = newCourse(seed);
    const relayers = [join(course, 1), join(course, 2)];
    relayers.forEach((relayer) => relayer.run());
    for (let at = 1; at <= 600; at++) {
      await second(course, at);
      if (at % 10 === 0) relayers.forEach((relayer) => checkAttempts(relayer, names.two));
    }
    checkEnd(course, relayers);
    const counts = relayers.map((relayer) => revertsOf(course.fixture, relayer));
    assert.ok(counts.every((count) => count <= 1), `seed ${seed}: ${counts.join(" and ")} reverts`);
    reverts += counts.reduce((sum, count) => sum + count, 0);
    relayers.forEach((relayer) => relayer.kill());
    await course.fixture.clock.settle();
  }
  assert.ok(reverts > 0, "the relayers did race");
});
