import assert from "node:assert/strict";
import { chainWorker } from "../../src/consensus/chain_worker.ts";
import { HeightNotifier, heightNotifierWorker } from "../../src/consensus/height_notifier.ts";
import { ProverFault } from "../../src/consensus/prover.ts";
import type { StateMachineId } from "../../src/core/ismp/state_machine.ts";
import { RpcFault } from "../../src/core/rpc/call.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { idOf, included, MemoryTarget } from "../support/memory_target.ts";
import { faultOf } from "../support/rpc_faults.ts";
import { firstState, ScriptedProver, updateTo } from "../support/scripted_prover.ts";
import { RecordedLog } from "../support/recorded_log.ts";
import { fixedRandomness } from "../support/seeded_randomness.ts";

const EVM_1 = idOf("EVM-1/ETH0").stateMachine;

class Scene implements AsyncDisposable {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();
  readonly notifier = new HeightNotifier();
  readonly stop = new AbortController();
  readonly random = fixedRandomness(0);
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

Deno.test("chain worker: it polls at once, and then every interval", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", { intervalMs: 60_000 });
  await scene.clock.advance(180_000);
  assert.deepEqual(scene.seconds(prover), [0, 60, 120, 180]);
});

Deno.test("chain worker: while nothing is to prove it says so every five minutes, with the reason", async () => {
  await using scene = new Scene();
  scene.start("EVM-1/ETH0", { intervalMs: 60_000 });
  await scene.clock.advance(600_000);
  const lines = scene.log.lines.filter(({ level }) => level === "info");
  assert.deepEqual(lines.map(({ event, fields }) => [event, fields.reason]), [
    ["long_wait.update", "nothing is new"],
    ["long_wait.update", "nothing is new"],
  ]);
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

Deno.test("chain worker: a refusal is chance once and a warning from then on, with backoff", async () => {
  await using scene = new Scene();
  const refusal = { code: "bad_proof", detail: "InvalidBranch" } as const;
  scene.hub.refusals.push(refusal, refusal, refusal);
  const prover = scene.start("EVM-1/ETH0", { find: () => updateTo(10n) });
  await scene.clock.advance(60_000);
  assert.deepEqual(scene.seconds(prover), [0, 1, 3, 7]);
  const lines = scene.log.lines.filter(({ event }) => event === "update_failed.rejected");
  assert.deepEqual(lines.map(({ level, fields }) => [level, fields.detail]), [
    ["info", "InvalidBranch"],
    ["warn", "InvalidBranch"],
    ["warn", "InvalidBranch"],
  ]);
  assert.deepEqual(scene.hub.sent, [10n], "the fourth time it was taken");
});

Deno.test("chain worker: an update that no extrinsic carries is an error with what makes it smaller", async () => {
  await using scene = new Scene();
  scene.hub.refusals.push({ code: "too_large", detail: "Invalid.ExhaustsResources" });
  const adviceIfTooLarge = "try a smaller [hub.grandpa].max_block_range (it is 2400)";
  const prover = scene.start("EVM-1/ETH0", {
    find: () => {
      const finding = updateTo(10n);
      return finding.kind === "updates" ? { ...finding, adviceIfTooLarge } : finding;
    },
  });
  await scene.clock.advance(2_000);
  assert.deepEqual(scene.seconds(prover), [0, 1]);
  const [line, ...others] = scene.log.lines.filter(({ level }) => level === "error");
  assert.deepEqual(others, []);
  assert.equal(line?.event, "update_failed.too_large");
  assert.match(String(line?.fields.explanation), /smaller \[hub\.grandpa\]\.max_block_range/);
  assert.equal(line?.fields.detail, "Invalid.ExhaustsResources");
  assert.deepEqual(scene.hub.sent, [10n]);
});

Deno.test("chain worker: a client that cannot be advanced is polled every ten minutes", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", {
    find: () => {
      throw new ProverFault("unrecoverable", {
        chain: EVM_1,
        detail: "block 9 forces a change of the authorities",
      });
    },
  });
  await scene.clock.advance(1_200_000);
  assert.deepEqual(scene.seconds(prover), [0, 600, 1_200]);
  const errors = scene.log.lines.filter(({ level }) => level === "error");
  assert.equal(errors[0]?.event, "client_unusable.unrecoverable");
  assert.match(String(errors[0]?.fields.error), /block 9 forces/);
});

Deno.test("chain worker: an update that is lost is chance once and a warning from then on", async () => {
  await using scene = new Scene();
  scene.hub.plannedOutcomes.push({ kind: "unknown" }, { kind: "unknown" });
  const prover = scene.start("EVM-1/ETH0", { find: () => updateTo(10n) });
  await scene.clock.advance(10_000);
  assert.deepEqual(scene.seconds(prover).slice(0, 3), [0, 1, 3]);
  const lines = scene.log.lines.filter(({ event }) => event === "update_failed.lost");
  assert.deepEqual(lines.map(({ level }) => level), ["info", "warn"]);
  assert.deepEqual(scene.hub.sent, [10n, 10n, 10n]);
});

Deno.test("chain worker: endpoints that fail are asked again after 1 s, 2 s, 4 s, up to 15 s", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", {
    find: () => {
      throw faultOf("unreachable");
    },
  });
  await scene.clock.advance(70_000);
  assert.deepEqual(scene.seconds(prover), [0, 1, 3, 7, 15, 30, 45, 60]);
  assert.deepEqual(new Set(scene.log.events("warn")), new Set(["poll_failed"]));
  prover.find = () => updateTo(10n);
  await scene.clock.advance(5_000);
  assert.deepEqual(scene.hub.sent, [10n]);
  prover.find = () => {
    throw faultOf("unreachable");
  };
  const before = prover.looks.length;
  await scene.clock.advance(303_000);
  assert.deepEqual(
    scene.seconds(prover).slice(before, before + 3),
    [375, 376, 378],
    "after a success it begins again",
  );
});

Deno.test("chain worker: a lying endpoint is an error that names it, so is one that serves another chain, and it is asked again", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", {
    find: (look) => {
      const where = { chain: "EVM-1", endpointHost: "relay.example.org", method: "chain_getBlockHash" };
      if (look > 1) throw new RpcFault("wrong_chain", where);
      throw new ProverFault("bad_data", {
        chain: EVM_1,
        endpoint: "beacon.example.org",
        detail: "the signature is wrong",
      });
    },
  });
  await scene.clock.advance(120_000);
  assert.deepEqual(scene.seconds(prover).slice(0, 5), [0, 1, 3, 7, 15]);
  const [lie, wrong] = scene.log.lines.filter(({ level }) => level === "error");
  assert.equal(lie?.event, "endpoint_data_invalid.contradiction");
  assert.match(String(lie?.fields.error), /EVM-1 \(beacon\.example\.org\): the signature is wrong/);
  assert.equal(wrong?.event, "endpoint_unusable.wrong_chain");
});

Deno.test("chain worker: a node without a needed method is asked every minute, and the operator learns what helps", async () => {
  await using scene = new Scene();
  const prover = scene.start("EVM-1/ETH0", {
    find: (look) => {
      const where = {
        chain: "relay chain",
        endpointHost: "relay.example.org",
        method: look === 1 ? "state_getReadProof" : "beefy_getFinalizedHead",
      };
      throw new RpcFault("missing_method", where);
    },
  });
  await scene.clock.advance(120_000);
  assert.deepEqual(scene.seconds(prover), [0, 60, 120]);
  assert.deepEqual(new Set(scene.log.events("error")), new Set(["endpoint_unusable.method_missing"]));
  const [proof, head] = scene.log.linesOf("endpoint_unusable.method_missing").map(({ fields }) => fields);
  assert.equal(proof?.method, "state_getReadProof");
  assert.match(String(proof?.explanation), /--rpc-methods=unsafe/);
  assert.equal(head?.method, "beefy_getFinalizedHead");
  assert.match(String(head?.explanation), /--no-beefy/);
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

Deno.test("chain worker: one failing chain of three stops neither of the others", async () => {
  await using scene = new Scene();
  const bad = scene.start("EVM-10/OPT0", {
    storedUnder: "ETH0",
    find: () => {
      throw faultOf("timeout", "EVM-10");
    },
  });
  const find = (look: number): ReturnType<typeof updateTo> => updateTo(BigInt(look));
  scene.start("EVM-1/ETH0", { intervalMs: 60_000, find: find });
  scene.start("EVM-56/BSC0", { intervalMs: 60_000, find: find });
  await scene.clock.advance(120_000);
  assert.deepEqual(scene.hub.sent, [1n, 1n, 2n, 2n, 3n, 3n]);
  assert.ok(bad.looks.length > 6);
});

Deno.test("chain worker: a rollup is polled again as soon as the hub knows a newer block of its L1", async () => {
  await using scene = new Scene();
  const eth = idOf("EVM-1/ETH0");
  const rollup = scene.start("EVM-10/OPT0", { storedUnder: "ETH0", l1: eth });
  heightNotifierWorker({ ...scene, notifier: scene.notifier }, eth, 10_000).run(scene.stop.signal)
    .catch((error: unknown) => scene.ends.push(error));
  scene.hub.store(eth, 100n);
  await scene.clock.advance(20_000);
  assert.deepEqual(scene.seconds(rollup), [0], "the first height is not new");
  scene.hub.store(eth, 101n);
  await scene.clock.advance(30_000);
  assert.deepEqual(scene.seconds(rollup), [0, 30], "delivered by another relayer: seen at the next question");

  scene.start("EVM-1/ETH0", { find: () => updateTo(102n) });
  await scene.clock.advance(0);
  assert.deepEqual(scene.seconds(rollup), [0, 30, 50], "delivered by us: at once");
});

Deno.test("chain worker: a new height does not shorten the pause after a failure", async () => {
  await using scene = new Scene();
  const eth = idOf("EVM-1/ETH0");
  const rollup = scene.start("EVM-10/OPT0", {
    storedUnder: "ETH0",
    l1: eth,
    find: () => {
      throw faultOf("timeout", "EVM-10");
    },
  });
  await scene.clock.advance(20_000);
  const before = rollup.looks.length;
  scene.notifier.notify({ id: eth, height: 1n });
  scene.notifier.notify({ id: eth, height: 2n });
  await scene.clock.advance(1_000);
  assert.equal(rollup.looks.length, before);
});

Deno.test("chain worker: a defect is rethrown to the supervisor", async () => {
  await using scene = new Scene();
  scene.start("EVM-1/ETH0", {
    find: () => {
      throw new TypeError("a defect");
    },
  });
  await scene.clock.settle();
  assert.match(String(scene.ends[0]), /a defect/);
});
