/** Updates that an operator asks for: built and verified, and submitted unless it is a dry run. */
import assert from "node:assert/strict";
import { answerRequest, OperationRefusal } from "../../../src/core/commands/control_operation.ts";
import { chainWorker } from "../../../src/consensus/chain_worker.ts";
import { operations } from "../../../src/consensus/control/operations.ts";
import { type Proven, proveNow, type Proving } from "../../../src/consensus/control/prove_now.ts";
import { ProverTurns } from "../../../src/consensus/control/prover_turns.ts";
import { HeightNotifier } from "../../../src/consensus/height_notifier.ts";
import { ProverFault } from "../../../src/consensus/prover.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { MemoryTarget } from "../../support/memory_target.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { ScriptedProver, updateTo } from "../../support/scripted_prover.ts";
import { fixedRandomness } from "../../support/seeded_randomness.ts";

const never = new AbortController().signal;
const chain = parseStateMachine("EVM-1");

class Scene implements Proving {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();
  readonly turns = new ProverTurns();
  readonly prover = new ScriptedProver(this.clock, { id: "EVM-1/ETH0" });
  readonly proved = [this.prover];
  readonly receiveOnly = [parseStateMachine("EVM-2")];

  constructor() {
    this.hub.commitmentsOf.set(this.prover.consensusStateId, this.prover.commitmentId);
  }

  /** Proves while time passes. */
  async prove(isDryRun: boolean): Promise<Proven> {
    const proving = proveNow(this, { chain, isDryRun }, never);
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

Deno.test("prove: without it the update is submitted; when nothing is new, that is said", async () => {
  const scene = new Scene();
  scene.prover.find = () => updateTo(10n);
  assert.equal((await scene.prove(false)).outcome, "accepted");
  assert.deepEqual(scene.hub.sent, [10n]);
  const idle = new Scene();
  const nothing = await idle.prove(false);
  assert.deepEqual([nothing.outcome, nothing.text], ["nothing", "Nothing to prove: nothing is new."]);
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
      error instanceof OperationRefusal && /No update of EVM-1: .*the client is frozen/.test(error.message),
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
  const shared = { ...scene, random: fixedRandomness(0), notifier: new HeightNotifier() };
  const running = chainWorker(shared, scene.prover, { kind: "checked", findings: [] }).run(stop.signal)
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
  const ask = async (operation: string, input: unknown): Promise<unknown> =>
    JSON.parse(await answerRequest({ operations, context }, JSON.stringify({ operation, input }), never));
  assert.deepEqual(await ask("prove", { chain: "EVM-2", isDryRun: true }), {
    ok: false,
    text: "EVM-2 only receives: the hub has no client of it that this program can advance.",
  });
  const wrong = await ask("prove", { chain: "moon", isDryRun: true });
  assert.match(JSON.stringify(wrong), /The request does not fit: /);
});
