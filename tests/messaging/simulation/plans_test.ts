/** Single plans of the simulation: a long day, an end at any step, and claims that reorganisations take away. */
import assert from "node:assert/strict";
import type { EventCode } from "../../../src/core/telemetry/log.ts";
import type { RecordedLine } from "../../support/recorded_log.ts";
import { type MessagePlan, type Plan, planOf, type SettingsPlan, type Trouble } from "./plan.ts";
import { type Course, simulationKeys } from "./course.ts";
import { runPlanAlone } from "./seeds.ts";

/** What most operators set. */
const plainSettings: SettingsPlan = {
  retryFrequencySec: 60,
  hasModuleFilter: false,
  hasDeliveryEndpoints: false,
  fleetIndex: undefined,
  gasPriceBufferPercent: 0,
  decimals: [18, 18],
};

/** Nothing goes wrong by itself; posts only. */
function quiet(seed: number, changes: Partial<Plan> = {}): Plan {
  const plan = planOf(seed);
  const messages = plan.messages.map((message): MessagePlan => ({
    ...message,
    kind: "post",
    fee: 20n * 10n ** 18n,
    raisedAfterSec: undefined,
    timeoutSec: undefined,
    module: undefined,
    isUntraceable: false,
  }));
  return {
    ...plan,
    messages,
    attack: undefined,
    settings: plainSettings,
    troubles: [],
    maximumDailyLoss: undefined,
    faultPercent: 0,
    reorgPercent: 0,
    rotationPercent: 8,
    hasCompetitor: false,
    ...changes,
  };
}

/** Lines of this event, of all lives of the relayer. */
function linesOf(course: Course, code: EventCode): readonly RecordedLine[] {
  return course.lives.programs.flatMap(({ log }) => log.lines).filter(({ event }) => event === code);
}

/** Lines of deliveries, whoever made them. */
function deliveredLines(course: Course): readonly RecordedLine[] {
  return [
    ...linesOf(course, "message_changed.delivered"),
    ...linesOf(course, "message_changed.delivered_by_other"),
  ];
}

/** Runs plans, one seed after the other, until something has happened `times` in them; it must within 20. */
async function runUntil(
  times: number,
  { first, planOf: make, count }: {
    readonly first: number;
    readonly planOf: (seed: number) => Plan;
    readonly count: (course: Course) => number;
  },
): Promise<void> {
  let seen = 0;
  for (let seed = first; seen < times; seed++) {
    assert.ok(seed < first + 20, `it happened ${seen} times only`);
    seen += count(await runPlanAlone(make(seed), seed));
  }
}

Deno.test("simulation: 24 hours with 5 % failing calls, every message arrives and every delivery is paid (F27)", async () => {
  const daySec = 86_400;
  const { chains: [one, two], messages, ...plan } = planOf(25);
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
      attack: undefined,
      settings: plainSettings,
      pollSec: 300,
      calmAfterSec: daySec,
      reorgPercent: 1,
    },
    25,
  );
  assert.equal(course.sent.length, 48);
});

Deno.test("simulation: asked to end at any of its steps, a relayer ends in time and its successor continues (F27)", async () => {
  for (let turn = 0; turn < 12; turn++) {
    const troubles = [0, 1, 2].map((part) => ({
      kind: "fuse" as const,
      steps: 1 + turn * 97 + part * 31,
      downSec: 5,
      isGentle: true,
    }));
    const course = await runPlanAlone(quiet(100 + turn, { troubles }), 100 + turn);
    assert.ok(course.lives.programs.length > 1, "it was started again");
  }
});

Deno.test("simulation: the same seed takes the same course to the last log line (I14), and no key is in it (I13)", async () => {
  const linesOf = async (seed: number): Promise<readonly string[]> => {
    const course = await runPlanAlone(planOf(seed), seed);
    return course.lives.programs.flatMap(({ log }) =>
      log.lines.map((line) => Deno.inspect(line, { depth: 6 }))
    );
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

Deno.test("simulation: what is sent while a chain or the hub is down at the very first start arrives when it is back", async () => {
  const forSec = 240;
  for (const chain of [1, 2] as const) {
    const troubles = [{ kind: "outage", chain, atSec: 0, forSec }] as const;
    const plan = quiet(5, { troubles, calmAfterSec: forSec + 60, minimumProfitPercent: 0 });
    // From the chain that is down, and to it.
    const messages = plan.messages.map((message, index) => ({
      ...message,
      atSec: 30 + 5 * index,
      from: index % 2 === 0 ? 0 as const : 1 as const,
    }));
    const course = await runPlanAlone({ ...plan, messages, startsFromNow: true }, 5);
    const late = linesOf(course, "leg_started").filter(({ fields }) => fields["because"] === "late_start");
    assert.ok(late.length >= 2, "legs began at once");
    assert.ok(course.sent.length >= 4, "messages were sent meanwhile");
  }
});

Deno.test("simulation: a claim in a block that is reorganised away is made again and paid once (F4)", () =>
  runUntil(3, {
    first: 200,
    planOf: (seed) => quiet(seed, { reorgPercent: 30, hubFinalityLag: 3n }),
    count: ({ callsLost }) => callsLost,
  }));

Deno.test("simulation: what a transaction of a lost database delivers before ours is recorded as ours (I4)", async () => {
  await runUntil(1, {
    first: 300,
    planOf: (seed) => {
      const troubles = [20, 50, 80, 110].map((atSec): Trouble => ({
        kind: "lose",
        atSec,
        downSec: 0,
        whilePending: 2,
      }));
      return quiet(seed, { troubles });
    },
    count: (course) => {
      const inVain = linesOf(course, "transaction_failed.ineffective").map(({ fields }) =>
        fields.transaction
      );
      return deliveredLines(course).filter(({ fields }) =>
        fields.reason === "handled_by_us" && fields.transaction !== undefined &&
        inVain.includes(fields.transaction)
      ).length;
    },
  });
});

Deno.test("simulation: started from a replica that is behind, nothing is lost, nothing done twice, every fee claimed (F2)", async () => {
  let restores = 0;
  let found = 0;
  for (let seed = 400; seed < 420; seed++) {
    const troubles = [1, 2, 3].map((turn): Trouble => ({
      kind: "fuse",
      steps: 150 + 83 * turn + 31 * (seed % 20),
      downSec: 5,
      lostSteps: 20 * turn + 17 * (seed % 20),
    }));
    const course = await runPlanAlone(quiet(seed, { troubles }), seed);
    restores += course.lives.restores;
    found += deliveredLines(course).filter(({ fields: { from, reason } }) =>
      reason === "handled_by_us" && from !== "submitted"
    ).length;
  }
  assert.ok(restores >= 40, `${restores} times it began with a replica`);
  assert.ok(found > 0, "deliveries that the replica lacked were found");
});

Deno.test("simulation: our delivery that a reorganisation gives to another relayer is not recorded any more (I4)", async () => {
  await runUntil(3, {
    first: 300,
    planOf: (seed) => quiet(seed, { reorgPercent: 40, hasCompetitor: true, hubFinalityLag: 3n }),
    count: (course) => {
      const ours = linesOf(course, "message_changed.delivered");
      const theirs = linesOf(course, "message_changed.delivered_by_other");
      return theirs.filter(({ fields: { commitment, leg } }) =>
        ours.some(({ fields }) => fields.commitment === commitment && fields.leg === leg)
      ).length;
    },
  });
});

Deno.test("simulation: what a lost database delivered is found and paid also when it has timed out since (I4)", () =>
  runUntil(1, {
    first: 300,
    planOf: (seed) => {
      const plan = quiet(seed, { troubles: [{ kind: "lose", atSec: 260, downSec: 5 }], calmAfterSec: 280 });
      return { ...plan, messages: plan.messages.map((message) => ({ ...message, timeoutSec: 200 })) };
    },
    count: (course) => deliveredLines(course).filter(({ fields }) => fields.from === "seen").length,
  }));
