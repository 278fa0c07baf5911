/** Single plans of the simulation: a long day, an end at any step, and claims that reorganisations take away. */
import assert from "node:assert/strict";
import { type MessagePlan, type Plan, planOf } from "./plan.ts";
import { simulationKeys } from "./course.ts";
import { runPlanAlone } from "./seeds.ts";

/** Nothing goes wrong by itself; posts only. */
function quiet(seed: number, changes: Partial<Plan> = {}): Plan {
  const plan = planOf(seed);
  const messages = plan.messages.map((message): MessagePlan => ({
    ...message,
    kind: "post",
    fee: 20n * 10n ** 18n,
    raisedAfterSec: undefined,
    timeoutSec: undefined,
    isFailing: false,
  }));
  return {
    ...plan,
    messages,
    troubles: [],
    faultPercent: 0,
    reorgPercent: 0,
    hasCompetitor: false,
    ...changes,
  };
}

Deno.test("simulation: 24 hours with 5 % failing calls, every message arrives and every delivery is paid (04 21.4, Process)", async () => {
  const daySec = 86_400;
  const { chains: [one, two], messages, ...plan } = planOf(24);
  const spread = Array.from({ length: 48 }, (_, index): MessagePlan => {
    const [first] = messages;
    const message = messages[index % messages.length] ?? first;
    assert.ok(message !== undefined);
    return { ...message, atSec: 60 + index * 1_700, raisedAfterSec: undefined, timeoutSec: undefined };
  });
  const course = await runPlanAlone(
    {
      ...plan,
      chains: [{ ...one, blockSec: 12 }, { ...two, blockSec: 12 }],
      messages: spread,
      pollSec: 300,
      calmAfterSec: daySec,
      reorgPercent: 1,
    },
    24,
  );
  assert.equal(course.sent.length, 48);
});

Deno.test("simulation: asked to end at any of its steps, a relayer ends in time and its heir goes on (04 21.4, Process)", async () => {
  for (let turn = 0; turn < 12; turn++) {
    const troubles = [0, 1, 2].map((part) => ({
      kind: "fuse" as const,
      steps: 1 + turn * 97 + part * 31,
      downSec: 5,
      isGentle: true,
    }));
    const course = await runPlanAlone(quiet(100 + turn, { troubles }), 100 + turn);
    assert.ok(course.programs.length > 1, "it was started again");
  }
});

Deno.test("simulation: the same seed takes the same course to the last log line (I14), and no key is in it (I13)", async () => {
  const linesOf = async (seed: number): Promise<readonly string[]> => {
    const course = await runPlanAlone(planOf(seed), seed);
    return course.programs.flatMap(({ log }) => log.lines.map((line) => Deno.inspect(line, { depth: 6 })));
  };
  for (const seed of [3, 12, 17]) {
    const lines = await linesOf(seed);
    assert.ok(lines.length > 20);
    assert.deepEqual(await linesOf(seed), lines);
    const text = lines.join("\n").toLowerCase();
    for (const key of simulationKeys) assert.equal(text.includes(key.slice(2)), false, "a key is in the log");
  }
});

Deno.test("simulation: while one chain is down the others are served as on any other day (I12)", async () => {
  const forSec = 1_200;
  const troubles = [{ kind: "outage", chain: 1, atSec: 20, forSec }] as const;
  const plan = quiet(5, { troubles, calmAfterSec: forSec + 60, minimumProfitPercent: 0 });
  const messages = plan.messages.map((message, index) => ({
    ...message,
    atSec: 30 + index,
    from: 0 as const,
  }));
  const course = await runPlanAlone({ ...plan, messages }, 5);
  const [, , hub] = course.nodes;
  const startSec = Number(hub.block(1n)?.timeSec);
  for (const { message } of course.sent) {
    let height = 1n;
    while (hub.block(height)?.state.receipts.has(message.commitment) === false) height++;
    const afterSec = Number(hub.block(height)?.timeSec) - startSec;
    assert.ok(afterSec < 300, `the hub had it after ${afterSec} s`);
  }
});

Deno.test("simulation: a claim in a block that is reorganised away is made anew and paid once (04 21.4 line 4)", async () => {
  let lost = 0;
  for (let seed = 200; seed < 212; seed++) {
    const course = await runPlanAlone(quiet(seed, { reorgPercent: 30, hubFinalityLag: 3n }), seed);
    lost += course.callsLost;
  }
  assert.ok(lost > 0, "claims were in blocks that went away");
});
