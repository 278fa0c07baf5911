/** Single plans of the simulation: a long day, an end at any step, and claims that reorganisations take away. */
import assert from "node:assert/strict";
import { type MessagePlan, type Plan, planOf } from "./plan.ts";
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

Deno.test("simulation: a claim in a block that is reorganised away is made anew and paid once (04 21.4 line 4)", async () => {
  let lost = 0;
  for (let seed = 200; seed < 212; seed++) {
    const course = await runPlanAlone(quiet(seed, { reorgPercent: 30, hubFinalityLag: 3n }), seed);
    lost += course.callsLost;
  }
  assert.ok(lost > 0, "claims were in blocks that went away");
});
