/** Updates that an operator asks for: built and verified, and submitted unless it is a dry run. */
import assert from "node:assert/strict";
import { CommandRefusal } from "../../../src/core/commands/command.ts";
import { answerRequest, toRequestLine } from "../../../src/core/commands/operation.ts";
import { chainWorker, ProvedClient } from "../../../src/consensus/chain_worker.ts";
import { operations } from "../../../src/consensus/commands/commands.ts";
import {
  type Proven,
  proveNow,
  type ProveRequest,
  type Proving,
} from "../../../src/consensus/commands/prove_now.ts";
import type { HubConsensus } from "../../../src/consensus/client.ts";
import { ProverTurns } from "../../../src/consensus/poll_loop.ts";
import { ProverFault } from "../../../src/consensus/prover.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryTarget } from "../../support/memory_target.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { ScriptedProver, updateTo } from "../../support/scripted_prover.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;
const chain = parseStateMachine("EVM-1");

/** What becomes of the proofs of a host. */
const ofHost = { summary: "two rotations", updates: 2, bytes: 700, height: undefined };

class Scene implements Proving {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();
  readonly turns = new ProverTurns();
  readonly prover = new ScriptedProver(this.clock, { id: "EVM-1/ETH0" });
  readonly proved = [this.prover];
  readonly sections = [{ section: "ethereum", stateMachine: chain }];
  readonly receiveOnly = [parseStateMachine("EVM-2")];
  readonly follower = new MemoryTarget({ clock: this.clock, id: "KUSAMA-2000/PAS0" });
  readonly ofHub = new ScriptedProver(this.clock, { id: "KUSAMA-4009/PAS0" });
  /** What the host was asked for. */
  readonly asked: string[] = [];
  readonly updates: unknown[] = [];
  readonly observer = {
    noteUpdate: (...noted: unknown[]) => void this.updates.push(noted),
    notePoll: () => {},
  };
  readonly hubConsensus: HubConsensus = {
    followers: [{
      check: () => Promise.resolve([]),
      client: {
        route: { chain: "KUSAMA-4009", target: "EVM-97" },
        log: this.log,
        isFree: false,
        failures: "proofs_failed",
        find: () =>
          Promise.resolve({
            kind: "updates",
            observedAs: "hub_proofs",
            hasMore: false,
            tryOut: () => {
              this.asked.push("try");
              return Promise.resolve({ ...ofHost, result: { kind: "accepted" } });
            },
            submit: () => {
              this.asked.push("submit");
              return Promise.resolve({ ...ofHost, result: { kind: "accepted", block: 5n } });
            },
          }),
      },
      close: () => Promise.resolve(),
    }, {
      check: () => Promise.resolve([]),
      client: new ProvedClient({ clock: this.clock, log: this.log, hub: this.follower }, this.ofHub),
      close: () => Promise.resolve(),
    }],
    shared: [],
    skipped: [parseStateMachine("EVM-10")],
    skippedText: "it verifies nothing",
  };

  constructor() {
    this.hub.commitmentsOf.set(this.prover.consensusStateId, this.prover.commitmentId);
    this.follower.commitmentsOf.set(this.ofHub.consensusStateId, this.ofHub.commitmentId);
  }

  /** Proves while time passes. */
  async prove(isDryRun: boolean, route: Omit<ProveRequest, "isDryRun"> = { chain }): Promise<Proven> {
    const proving = proveNow(this, { ...route, isDryRun }, never);
    proving.catch(() => undefined); // awaited below
    await this.clock.advance(60_000);
    return await proving;
  }
}

Deno.test("prove: a dry run says what the update contains, and sends nothing", async () => {
  const scene = new Scene();
  scene.prover.find = () => updateTo(10n);
  const proven = await scene.prove(true);
  assert.deepEqual([proven.outcome, proven.height, proven.updates], ["possible", "10", 1]);
  assert.ok(proven.bytes > 0 && proven.summary !== undefined);
  assert.deepEqual(scene.hub.sent, []);
});

Deno.test("prove: without it the update is submitted, logged and observed; when nothing is new, that is said", async () => {
  const scene = new Scene();
  scene.prover.find = () => updateTo(10n);
  assert.equal((await scene.prove(false)).outcome, "accepted");
  assert.deepEqual(scene.hub.sent, [10n]);
  const [line] = scene.log.linesOf("update_accepted");
  assert.deepEqual([line?.fields.chain, line?.fields.heights], ["EVM-1", "10"]);
  assert.equal(scene.updates.length, 1, "it is observed as that of a worker is");
  const idle = new Scene();
  const nothing = await idle.prove(false);
  assert.deepEqual([nothing.outcome, nothing.text], ["nothing", "Nothing to prove: nothing is new."]);
});

Deno.test("prove: the hub is proved to a chain that follows it, without a fee", async () => {
  const scene = new Scene();
  scene.ofHub.find = () => updateTo(7n);
  const route = { chain: parseStateMachine("KUSAMA-4009"), to: parseStateMachine("KUSAMA-2000") };
  const tried = await scene.prove(true, route);
  assert.deepEqual([tried.outcome, tried.chain, tried.target], ["possible", "KUSAMA-4009", "KUSAMA-2000"]);
  assert.deepEqual(tried.text, "Verified; KUSAMA-2000 would accept it.");
  assert.deepEqual(tried.cost, { gas: "0", native: "0", isPaid: true });
  assert.deepEqual(scene.follower.sent, []);
  assert.equal((await scene.prove(false, route)).outcome, "accepted");
  assert.deepEqual([scene.follower.sent, scene.hub.sent], [[7n], []]);
});

Deno.test("prove: the hub is proved to a host, and what was sent is observed", async () => {
  const scene = new Scene();
  const route = { chain: parseStateMachine("KUSAMA-4009"), to: parseStateMachine("EVM-97") };
  const { outcome, target, updates } = await scene.prove(true, route);
  assert.deepEqual([outcome, target, updates], ["possible", "EVM-97", 2]);
  assert.equal((await scene.prove(false, route)).text, "EVM-97 accepted it in block 5.");
  assert.deepEqual([scene.asked, scene.updates.length], [["try", "submit"], 1]);
});

Deno.test("prove: where the target is missing or unknown, the known ones are listed", async () => {
  const scene = new Scene();
  const ask = (from: string, to?: string): Promise<Proven> =>
    scene.prove(true, {
      chain: parseStateMachine(from),
      to: to === undefined ? undefined : parseStateMachine(to),
    });
  const hub = "KUSAMA-4009";
  const both = "EVM-97, KUSAMA-2000\\.$";
  for (
    const [from, to, text] of [
      [hub, undefined, `^CommandRefusal: Name the chain that ${hub} is proved to, with --to: ${both}`],
      [hub, "EVM-5", `${hub} is not proved to EVM-5\\. It is proved to ${both}`],
      [hub, "EVM-10", "is not proved to EVM-10: it verifies nothing\\. It is proved to "],
      ["EVM-1", "EVM-97", `EVM-1 is proved to ${hub} only: leave out --to\\.$`],
    ] as const
  ) await assert.rejects(ask(from, to), new RegExp(text));
  assert.equal((await ask("EVM-1", "KUSAMA-4009")).outcome, "nothing");
  const lonely = { ...scene, hubConsensus: undefined };
  await assert.rejects(
    proveNow(lonely, { chain: scene.hub.id.stateMachine, isDryRun: true }, never),
    /KUSAMA-4009 is proved to no chain: enable_hub_consensus is false\.$/,
  );
});

Deno.test("prove: a chain that is not proved, or cannot be, is refused with the reason", async () => {
  const scene = new Scene();
  const ask = (name: string): Promise<Proven> =>
    proveNow(scene, { chain: parseStateMachine(name), isDryRun: true }, never);
  await assert.rejects(ask("EVM-9"), /EVM-9 is not configured\. Configured are EVM-1\./);
  await assert.rejects(ask("EVM-2"), /EVM-2 only receives/);
  scene.prover.find = () => {
    throw new ProverFault("frozen", { chain, detail: "the client is frozen" });
  };
  await assert.rejects(
    scene.prove(false),
    (error) =>
      error instanceof CommandRefusal &&
      /No update of EVM-1 on KUSAMA-4009: .*the client is frozen/.test(error.message),
  );
});

Deno.test("prove: it waits for the turn of the chain's worker", async () => {
  const scene = new Scene();
  let working = 0;
  let most = 0;
  scene.prover.find = async () => {
    most = Math.max(most, ++working);
    await scene.clock.sleep(5_000, never);
    working--;
    return updateTo(10n);
  };
  const stop = new AbortController();
  const shared = { ...scene, intervalMs: 10_000, random: fixedRandomness(0) };
  const running = chainWorker(shared, scene.prover).run(stop.signal)
    .catch((error: unknown) => error);
  await scene.prove(true);
  assert.ok(scene.prover.looks.length >= 2, "both have asked");
  assert.equal(most, 1);
  stop.abort();
  await scene.clock.advance(1_000);
  await running;
});

Deno.test("prove: asked through the socket, and refused there", async () => {
  const scene = new Scene();
  const context = { log: scene.log, proving: scene, status: () => undefined };
  const ask = async (operation: string, chain: string): Promise<unknown> =>
    JSON.parse(
      await answerRequest(
        { commands: operations, context },
        toRequestLine(operation, [chain, { dryRun: true }]),
        never,
      ),
    );
  assert.deepEqual(await ask("prove", "EVM-2"), {
    refusal: "EVM-2 only receives: the hub has no client of it that this program can advance.",
  });
  const wrong = await ask("prove", "etherium");
  assert.match(JSON.stringify(wrong), /etherium is no chain of the configuration.* Did you mean ethereum\?/);
  scene.prover.find = () => updateTo(10n);
  assert.match(
    JSON.stringify(await ask("prove", "ethereum")),
    /"outcome":"possible"/,
  );
});
