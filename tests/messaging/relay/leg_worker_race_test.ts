/**
 * Relayers side by side on the same chains, with seeds for everything that is left to chance.
 * A failing seed can be run alone: RACE_SEED=17 deno test -A tests/messaging/relay/leg_worker_race_test.ts
 * More of them are run with RACE_TIMES=10, ten times as many.
 */
import assert from "node:assert/strict";
import { unresolvedSubmissionStates } from "../../../src/messaging/ledger/ledger.ts";
import { toHex } from "../../../src/core/encoding/bytes.ts";
import type { Message } from "../../../src/core/ismp/message.ts";
import type { StateMachine } from "../../../src/core/ismp/state_machine.ts";
import type { Randomness } from "../../../src/core/runtime/clock.ts";
import type { PlannedFault } from "../../support/fault_plan.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import { delivered, Fixture, memoryLedger, names, Relayer } from "./fixture.ts";

/** What the endpoints of a bad day do. */
const badDay: readonly PlannedFault[] = [
  { kind: "throw", code: "unreachable" },
  { kind: "throw", code: "throttled", retryAfterMs: 2_000 },
  { kind: "throw", code: "server_error" },
  { kind: "throw", code: "lagging" },
  { kind: "delay", ms: 3_000 },
  { kind: "loseAnswer", code: "timeout" },
];

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

async function withSeeds(count: number, test: (seed: number) => Promise<void>): Promise<void> {
  const alone = Deno.env.get("RACE_SEED");
  const length = count * Number(Deno.env.get("RACE_TIMES") ?? "1");
  const seeds = alone === undefined ? Array.from({ length }, (_, seed) => seed + 1) : [Number(alone)];
  for (const seed of seeds) {
    try {
      await test(seed);
    } catch (error) {
      throw new Error(`Seed ${seed} failed; run it alone with RACE_SEED=${seed}`, { cause: error });
    }
  }
}

Deno.test("two relayers racing: each message once, at most one reverted transaction each", async () => {
  let reverts = 0;
  await withSeeds(20, async (seed) => {
    const course = newCourse(seed);
    const relayers = [join(course, 1), join(course, 2)];
    relayers.forEach((relayer) => relayer.run());
    for (let at = 1; at <= 600; at++) {
      await second(course, at);
      if (at % 10 === 0) relayers.forEach((relayer) => checkAttempts(relayer, names.two));
    }
    checkEnd(course, relayers);
    const counts = relayers.map((relayer) => revertsOf(course.fixture, relayer));
    assert.ok(counts.every((count) => count <= 1), `reverts: ${counts.join(" and ")}`);
    reverts += counts.reduce((sum, count) => sum + count, 0);
    relayers.forEach((relayer) => relayer.kill());
    await course.fixture.clock.settle();
  });
  if (Deno.env.get("RACE_SEED") === undefined) assert.ok(reverts > 0, "the relayers did race");
});

Deno.test("two relayers on a bad day: failing endpoints, lost answers, restarts; nothing lost or twice", async () => {
  await withSeeds(12, async (seed) => {
    const course = newCourse(seed);
    const { random, fixture } = course;
    let relayers = [join(course, 1), join(course, 2)];
    const trouble = (relayer: Relayer): void => {
      for (const chain of [relayer.one, relayer.two, relayer.hub]) chain.faults.draw(random, 5, badDay);
      relayer.run();
    };
    relayers.forEach(trouble);
    for (let at = 1; at <= 900; at++) {
      await second(course, at);
      if (at < 400 && random.fraction() < 0.01) relayers = await restartOne(course, relayers, trouble);
      if (at < 400 && random.fraction() < 0.01) fixture.two.clearMempool();
      if (at < 400 && random.fraction() < 0.01) fixture.hub.clearMempool();
      if (at % 10 === 0) relayers.forEach((relayer) => checkAttempts(relayer, names.two));
    }
    checkEnd(course, relayers);
    relayers.forEach((relayer) => relayer.kill());
    await fixture.clock.settle();
  });
});

/** Kills one relayer and starts it again on the same ledger. */
async function restartOne(
  course: Course,
  relayers: readonly Relayer[],
  start: (relayer: Relayer) => void,
): Promise<Relayer[]> {
  const index = Math.floor(course.random.fraction() * relayers.length);
  const old = relayers[index];
  if (old === undefined) return [...relayers];
  old.kill();
  await course.fixture.clock.settle();
  const latency = seededRandomness(index);
  const successor = new Relayer(course.fixture, old.ledger, {
    number: index + 1,
    seed: Math.floor(course.random.fraction() * 2 ** 32),
    pollIntervalMs: 3_000,
    chain: { latencyMs: () => 10 + Math.floor(latency.fraction() * 400) },
  });
  start(successor);
  return relayers.map((relayer) => relayer === old ? successor : relayer);
}

Deno.test("relayers and reorganisations: a delivery that goes away comes back, and records follow", async () => {
  await withSeeds(12, async (seed) => {
    const course = newCourse(seed);
    const { random, fixture } = course;
    const relayer = join(course, 1);
    relayer.run();
    for (let at = 1; at <= 700; at++) {
      await second(course, at);
      if (at < 500 && random.fraction() < 0.03 && fixture.two.head.height > fixture.two.finalHeight) {
        fixture.two.reorganise(1, random.fraction() < 0.5 ? "repool" : "forget");
      }
      if (at % 10 === 0) checkAttempts(relayer, names.two);
    }
    checkEnd(course, [relayer]);
    relayer.kill();
    await fixture.clock.settle();
  });
});
