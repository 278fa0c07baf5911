import assert from "node:assert/strict";
import { chainWorker, clientWorker } from "../../src/consensus/chain_worker.ts";
import type { LightClient, SubmitResult } from "../../src/consensus/deliver_update.ts";
import { ProverFault } from "../../src/consensus/prover.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../src/core/rpc/call.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { idOf, included, MemoryTarget } from "../support/memory_target.ts";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import { faultOf } from "../support/rpc_faults.ts";
import { firstState, ScriptedProver, updateTo } from "../support/scripted_prover.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";

const EVM_1 = idOf("EVM-1/ETH0").stateMachine;

class Scene implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();
  readonly stop = new AbortController();
  readonly random = fixedRandomness(0);
  readonly intervalMs = 12_000;
  readonly ends: unknown[] = [];

  /** A prover with its worker under way. */
  start(
    id: string,
    options: {
      readonly storedUnder?: string;
      readonly l1?: StateMachineId;
      readonly intervalMs?: number;
      readonly find?: ScriptedProver["find"];
    } = {},
  ): ScriptedProver {
    const prover = new ScriptedProver(this.clock, { id, ...options });
    this.hub.commitmentsOf.set(prover.consensusStateId, prover.commitmentId);
    if (options.find !== undefined) prover.find = options.find;
    const worker = chainWorker(this, prover);
    worker.run(this.stop.signal).catch((error: unknown) => this.ends.push(error));
    return prover;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort(new Error("stop"));
    await this.clock.settle();
    assert.equal(this.clock.pending, 0, "timers are left");
  }

  /** Times of the looks since the start, in seconds. */
  seconds(prover: ScriptedProver): number[] {
    const [first = 0] = prover.looks;
    return prover.looks.map((ms) => (ms - first) / 1_000);
  }
}

Deno.test("chain worker: it polls at once and every interval, and says every five minutes why there is nothing", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", { intervalMs: 60_000 });
  await scene.clock.advance(600_000);
  assert.deepEqual(scene.seconds(prover), Array.from({ length: 11 }, (_, at) => 60 * at));
  const lines = scene.log.lines.filter(({ level }) => level === "info");
  const waiting = ["long_wait.update", "nothing is new"];
  assert.deepEqual(lines.map(({ event, fields }) => [event, fields.reason]), [waiting, waiting]);
});

Deno.test("chain worker: an update is submitted and logged, and further ones follow at once", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", {
    find: (look) => updateTo(BigInt(look * 10), look < 3),
  });
  await scene.clock.advance(10_000);
  assert.deepEqual(scene.hub.sent, [10n, 20n, 30n]);
  assert.deepEqual(scene.seconds(prover), [0, 1, 2]);
  const told = scene.log.lines.filter(({ event }) => event === "update_accepted");
  assert.deepEqual(told.map(({ fields }) => fields.heights), ["10", "20", "30"]);
});

Deno.test("chain worker: accepted without a height is reported as such", async () => {
  await using scene = new Scene();
  scene.hub.plannedOutcomes.push({ ...included(true), advanced: [] });
  scene.start("EVM-1/ETH0", { find: () => updateTo(10n) });
  await scene.clock.advance(1_000);
  assert.deepEqual(scene.log.events("info"), [
    "update_overtaken.superseded",
  ]);
});

Deno.test("chain worker: a competitor's update is no fault, neither before nor while ours is sent", async () => {
  await using scene = new Scene();
  const eth = idOf("EVM-1/ETH0");
  scene.hub.store(eth, 15n);
  scene.hub.onTry = () => scene.hub.store(eth, 25n);
  scene.hub.refusals.push({ code: "unspecified", detail: "BadProof" });
  const prover = scene.start("EVM-1/ETH0", {
    intervalMs: 60_000,
    find: (look) => updateTo(BigInt(look * 10)),
  });
  await scene.clock.advance(60_000);
  assert.deepEqual(scene.log.lines.filter(({ level }) => level === "warn" || level === "error"), []);
  assert.deepEqual(scene.log.events("info"), [
    "update_overtaken.already_submitted",
    "update_overtaken.already_submitted",
  ]);
  assert.deepEqual(scene.hub.sent, []);
  assert.deepEqual(scene.seconds(prover), [0, 60], "no hurry");
});

Deno.test("chain worker: after another's update ours is made again at once", async () => {
  await using scene = new Scene();
  const { consensusStateId } = idOf("EVM-1/ETH0");
  scene.hub.setState(consensusStateId, firstState);
  scene.hub.onTry = () => scene.hub.setState(consensusStateId, Uint8Array.of(2));
  scene.hub.refusals.push({ code: "unspecified", detail: "BadProof" });
  const prover = scene.start("EVM-1/ETH0", { find: () => updateTo(10n) });
  await scene.clock.advance(60_000);
  assert.deepEqual(scene.seconds(prover), [0, 1]);
  assert.deepEqual(scene.log.events("info"), ["update_overtaken.already_submitted", "update_accepted"]);
});

for (
  const [what, event, detail, prepare] of [
    ["a refusal", "update_failed.rejected", "InvalidBranch", ({ hub }: Scene) => {
      hub.refusals.push(...Array(2).fill({ code: "bad_proof", detail: "InvalidBranch" }));
    }],
    ["a loss", "update_failed.lost", undefined, ({ hub }: Scene) => {
      hub.plannedOutcomes.push({ kind: "unknown" }, { kind: "unknown" });
    }],
  ] as const
) {
  Deno.test(`chain worker: ${what} is chance once and a warning from then on, with backoff`, async () => {
    await using scene = new Scene();
    prepare(scene);
    const prover = scene.start("EVM-1/ETH0", { find: () => updateTo(10n) });
    await scene.clock.advance(10_000);
    assert.deepEqual(scene.seconds(prover).slice(0, 3), [0, 1, 3]);
    const lines = scene.log.linesOf(event);
    assert.deepEqual(lines.map(({ level, fields }) => [level, fields.detail]), [
      ["info", detail],
      ["warn", detail],
    ]);
    assert.equal(scene.hub.sent.at(-1), 10n, "the third time it was taken");
  });
}

Deno.test("chain worker: an update that no extrinsic carries is an error with what makes it smaller", async () => {
  await using scene = new Scene();
  scene.hub.refusals.push({ code: "too_large", detail: "Invalid.ExhaustsResources" });
  const adviceIfTooLarge = "try a smaller [hub.grandpa].max_block_range (it is 2400)";
  const update = updateTo(10n);
  assert.ok(update.kind === "updates");
  const prover = scene.start("EVM-1/ETH0", { find: () => ({ ...update, adviceIfTooLarge }) });
  await scene.clock.advance(2_000);
  assert.deepEqual(scene.seconds(prover), [0, 1]);
  const [line, ...others] = scene.log.lines.filter(({ level }) => level === "error");
  assert.deepEqual([line?.event, others], ["update_failed.too_large", []]);
  assert.match(String(line?.fields.explanation), /smaller \[hub\.grandpa\]\.max_block_range/);
  assert.equal(line?.fields.detail, "Invalid.ExhaustsResources");
  assert.deepEqual(scene.hub.sent, [10n]);
});

const relay = { chain: "relay chain", endpointHost: "relay.example.org" };
const beacon = { chain: EVM_1, endpoint: "beacon.example.org" };

/** What a poll ends with, when the next ones follow (seconds), and what is logged of it. */
const faults: readonly (readonly [string, Error, readonly number[], EventCode, RegExp])[] = [
  [
    "a client that cannot be advanced",
    new ProverFault("unrecoverable", { chain: EVM_1, detail: "block 9 forces a change" }),
    [0, 600, 1_200],
    "client_unusable.unrecoverable",
    /block 9 forces/,
  ],
  [
    "endpoints that fail",
    faultOf("unreachable"),
    [0, 1, 3, 7, 15, 30, 45, 60],
    "poll_failed",
    /unreachable/,
  ],
  [
    "an endpoint that lies",
    new ProverFault("bad_data", { ...beacon, detail: "the signature is wrong" }),
    [0, 1, 3, 7, 15],
    "endpoint_data_invalid.contradiction",
    /EVM-1 \(beacon\.example\.org\): the signature is wrong/,
  ],
  [
    "an endpoint of another chain",
    new RpcFault("wrong_chain", { ...relay, method: "chain_getBlockHash" }),
    [0, 1, 3, 7, 15],
    "endpoint_unusable.wrong_chain",
    /relay\.example\.org/,
  ],
  [
    "an endpoint without old state",
    new RpcFault("pruned", { ...relay, method: "eth_getProof" }),
    [0, 1, 3, 7, 15],
    "data_unavailable",
    /eth_getProof .* relay\.example\.org: pruned/,
  ],
  [
    "an endpoint with a proof that does not verify",
    new RpcFault("malformed", { ...relay, method: "eth_getProof" }),
    [0, 1, 3, 7, 15],
    "endpoint_data_invalid.contradiction",
    /relay\.example\.org/,
  ],
  [
    "a node without a method",
    new RpcFault("missing_method", { ...relay, method: "state_getReadProof" }),
    [0, 60, 120],
    "endpoint_unusable.method_missing",
    /--rpc-methods=unsafe/,
  ],
  [
    "a node without BEEFY",
    new RpcFault("missing_method", { ...relay, method: "beefy_getFinalizedHead" }),
    [0, 60, 120],
    "endpoint_unusable.method_missing",
    /--no-beefy/,
  ],
];

for (const [what, fault, seconds, event, text] of faults) {
  Deno.test(`chain worker: ${what}: when the next poll is, and what the operator reads`, async () => {
    await using scene = new Scene();
    const prover = scene.start("EVM-1/ETH0", { find: () => Promise.reject(fault) });
    await scene.clock.advance((seconds.at(-1) ?? 0) * 1_000 + 500);
    assert.deepEqual(scene.seconds(prover), seconds);
    const [line] = scene.log.linesOf(event);
    assert.equal(line?.level, event === "poll_failed" ? "warn" : "error");
    assert.match(`${line?.fields.error} ${line?.fields.explanation}`, text);
  });
}

Deno.test("chain worker: after a success the pauses of failures begin again", async () => {
  await using scene = new Scene();
  const fail = (): never => {
    throw faultOf("unreachable");
  };
  const prover = scene.start("EVM-1/ETH0", { find: fail });
  await scene.clock.advance(70_000);
  prover.find = () => updateTo(10n);
  await scene.clock.advance(5_000);
  assert.deepEqual(scene.hub.sent, [10n]);
  prover.find = fail;
  const before = prover.looks.length;
  await scene.clock.advance(303_000);
  assert.deepEqual(scene.seconds(prover).slice(before, before + 3), [375, 376, 378]);
});

Deno.test("chain worker: a poll that never ends is reported every five minutes and ended after thirty", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", {
    find: () => new Promise(() => {}),
  });
  await scene.clock.advance(1_801_000);
  assert.deepEqual(scene.log.events("info"), Array(5).fill("long_wait.poll"));
  assert.deepEqual(scene.seconds(prover), [0, 1_801]);
});

Deno.test("chain worker: a rollup is polled again as soon as the hub knows a newer block of its L1, from any relayer", async () => {
  await using scene = new Scene();
  const eth = idOf("EVM-1/ETH0");
  const rollup = scene.start("EVM-10/OPT0", { storedUnder: "ETH0", l1: eth });
  scene.hub.store(eth, 100n);
  await scene.clock.advance(60_000);
  assert.deepEqual(scene.seconds(rollup), [0, 12], "the hub knew no block before");
  scene.hub.store(eth, 101n);
  await scene.clock.advance(60_000);
  assert.deepEqual(scene.seconds(rollup), [0, 12, 72]);
  assert.deepEqual(scene.log.linesOf("update_not_needed").length, 11, "the reason holds in between");
  await scene.clock.advance(300_000);
  assert.deepEqual(scene.seconds(rollup), [0, 12, 72, 372], "and for an interval at most");
});

Deno.test("chain worker: a rollup whose update was accepted is polled again after a block of the hub", async () => {
  await using scene = new Scene();
  const find = (look: number): ReturnType<typeof updateTo> => updateTo(BigInt(look));
  const rollup = scene.start("EVM-10/OPT0", { storedUnder: "ETH0", l1: idOf("EVM-1/ETH0"), find });
  await scene.clock.advance(30_000);
  assert.deepEqual(scene.seconds(rollup), [0, 12, 24]);
});

const block = { block: 5n };
const refusedFor = (code: Extract<SubmitResult, { kind: "refused" }>["refusal"]["code"]): SubmitResult => {
  return { kind: "refused", refusal: { code, detail: "why" } };
};
/** What became of updates of a client, the seconds until its next poll, and what is logged. */
const ends: readonly (readonly [string, SubmitResult, number, readonly EventCode[], { isFree: boolean }?])[] =
  [
    ["accepted by a target that is paid: messages may wait", { kind: "accepted", ...block }, 1, []],
    ["accepted by a free target", { kind: "accepted", ...block }, 60, [], { isFree: true }],
    ["overtaken by another update", { kind: "overtaken" }, 1, []],
    ["overtaken by this height or a newer one", { kind: "overtaken", hubHeight: 5n }, 60, []],
    ["wasted", { kind: "wasted", ...block }, 4, []],
    ["lost", { kind: "lost", reason: "why" }, 1, ["proofs_failed.lost"]],
    ["refused", refusedFor("unspecified"), 1, ["proofs_failed.rejected"]],
    ["refused without funds", refusedFor("insufficient_funds"), 1, ["balance_insufficient"]],
    ["too expensive", refusedFor("too_expensive"), 600, []],
    ["too large", refusedFor("too_large"), 600, ["proofs_failed.too_large"]],
  ];
for (const [what, result, sec, events, { isFree } = { isFree: false }] of ends) {
  Deno.test(`chain worker: the next poll when updates are ${what}`, async () => {
    const [clock, log, stop] = [new FakeClock(), new RecordedLog(), new AbortController()];
    const looks: number[] = [];
    const attempt = { summary: "a rotation", updates: 1, bytes: 9, height: undefined };
    const client: LightClient = {
      route: { chain: "KUSAMA-4009", target: EVM_1 },
      ...{ log, isFree, failures: "proofs_failed" },
      find: () => {
        looks.push(clock.now());
        return Promise.resolve({
          kind: "updates",
          observedAs: "hub_proofs",
          hasMore: false,
          ifTooLarge: { advice: "what helps", result: "suspended" },
          tryOut: () => Promise.reject(new Error("a dry run")),
          submit: () => Promise.resolve({ ...attempt, result }),
        });
      },
    };
    const worker = clientWorker({ clock, random: fixedRandomness(0.5), intervalMs: 60_000 }, client);
    const end = worker.run(stop.signal).catch(() => undefined);
    while (looks.length < 2) await clock.advance(250);
    const [first = 0, second = 0] = looks;
    assert.equal(Math.round((second - first) / 1_000), sec);
    const logged = log.lines.filter(({ level }) => level !== "debug").map(({ event }) => event);
    assert.deepEqual(logged.slice(0, 1), events);
    stop.abort(new Error("stop"));
    await end;
  });
}
