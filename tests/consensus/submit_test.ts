import assert from "node:assert/strict";
import type { Refusal } from "../../src/core/chains/submission.ts";
import { type ExtrinsicResult, submitUpdates } from "../../src/consensus/deliver_update.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { idOf, included, MemoryTarget, proofOf } from "../support/memory_target.ts";
import { firstState } from "../support/scripted_prover.ts";
import { RecordedLog } from "../support/recorded_log.ts";

const id = idOf("EVM-1/ETH0");
const never = new AbortController().signal;
const badProof: Refusal = { code: "unspecified", detail: "BadProof" };

class Scene {
  readonly clock = new FakeClock();
  readonly hub = new MemoryTarget({ clock: this.clock });
  readonly log = new RecordedLog();

  constructor() {
    this.hub.commitmentsOf.set(id.consensusStateId, id);
    this.hub.setState(id.consensusStateId, firstState);
  }

  readonly submit = (height: bigint | undefined = 20n, signal = never): Promise<ExtrinsicResult> =>
    this.#submit(height, signal);

  /** An update that brings signers only. */
  readonly submitSigners = (): Promise<ExtrinsicResult> => this.#submit(undefined, never);

  #submit(height: bigint | undefined, signal: AbortSignal): Promise<ExtrinsicResult> {
    const client = { chain: id.stateMachine, consensusStateId: id.consensusStateId, commitmentId: id };
    const found = { proofs: [proofOf(height ?? 0n)], madeOn: firstState, height };
    return submitUpdates({ clock: this.clock, log: this.log, hub: this.hub, client, found }, signal);
  }
}

Deno.test("submit: an update that the hub takes is in a block, with the heights that it stored", async () => {
  const { hub, submit } = new Scene();
  assert.deepEqual(await submit(), {
    kind: "accepted",
    block: 7n,
    height: 20n,
    advanced: [{ id, height: 20n }],
  });
  assert.deepEqual(hub.sent, [20n]);
});

Deno.test("submit: nothing is asked or sent when the hub knows the height already", async () => {
  const { hub, submit } = new Scene();
  let tried = 0;
  hub.onTry = () => void tried++;
  hub.store(id, 21n);
  assert.deepEqual(await submit(), { kind: "overtaken", hubHeight: 21n });
  assert.deepEqual([tried, hub.sent], [0, []]);
});

Deno.test("submit: a refusal of the question is reported and nothing is sent, unless another relayer was faster", async () => {
  const { hub, submit } = new Scene();
  hub.refusals.push(badProof);
  assert.deepEqual(await submit(), { kind: "refused", refusal: badProof });
  hub.refusals.push(badProof);
  hub.onTry = () => hub.store(id, 20n);
  assert.deepEqual(await submit(), { kind: "overtaken", hubHeight: 20n });
  assert.deepEqual(hub.sent, []);
});

Deno.test("submit: of two relayers that deliver the same signers the second is overtaken, not refused", async () => {
  const { hub, submitSigners } = new Scene();
  const byOther = (): void => void hub.setState(id.consensusStateId, Uint8Array.of(2));
  hub.refusals.push(badProof);
  assert.deepEqual(await submitSigners(), { kind: "refused", refusal: badProof });
  hub.refusals.push(badProof);
  hub.onTry = byOther;
  assert.deepEqual(await submitSigners(), { kind: "overtaken", hubHeight: undefined });
  hub.onTry = undefined;
  for (const outcome of [included(false, badProof), included(false), { kind: "unknown" } as const]) {
    hub.setState(id.consensusStateId, firstState);
    hub.plannedOutcomes.push(outcome);
    assert.notEqual((await submitSigners()).kind, "overtaken");
    hub.plannedOutcomes.push(outcome);
    byOther();
    assert.deepEqual(await submitSigners(), { kind: "overtaken", hubHeight: undefined });
  }
});

Deno.test("submit: an update that does not fit any more after another one, lower than it, is overtaken", async () => {
  const { hub, submit } = new Scene();
  hub.refusals.push(badProof);
  hub.onTry = () => {
    hub.store(id, 15n);
    hub.setState(id.consensusStateId, Uint8Array.of(2));
  };
  assert.deepEqual(await submit(20n), { kind: "overtaken", hubHeight: undefined });
  hub.broadcasts.push({ kind: "underpriced" });
  assert.deepEqual(await submit(20n), { kind: "overtaken", hubHeight: undefined });
});

Deno.test("submit: where the pool has another's update instead of ours, that one's block is waited for", async () => {
  const { clock, hub, submit } = new Scene();
  const inVain = Array.from({ length: 100 }, () => ({ kind: "unknown" as const }));
  hub.broadcasts.push({ kind: "alreadyKnown" });
  hub.plannedOutcomes.push(...inVain);
  const overtaken = submit(20n);
  await clock.advance(10_000);
  hub.store(id, 20n);
  assert.deepEqual(await clock.run(overtaken), { kind: "overtaken", hubHeight: 20n });
  hub.broadcasts.push({ kind: "alreadyKnown" });
  const startMs = clock.now();
  assert.deepEqual(await clock.run(submit(30n)), {
    kind: "lost",
    reason: "neither in a block nor in the transaction pool",
  });
  assert.equal(clock.now() - startMs, 60_000);
});

Deno.test("submit: the pool's refusal is a refusal, a pool that wants more is a loss", async () => {
  const { hub, submit } = new Scene();
  hub.broadcasts.push({ kind: "refused", refusal: badProof });
  assert.deepEqual(await submit(), { kind: "refused", refusal: badProof });
  hub.broadcasts.push({ kind: "underpriced" });
  assert.deepEqual(await submit(), { kind: "lost", reason: "the transaction pool answered underpriced" });
});

Deno.test("submit: what is pending is asked for until a block has it, and the wait is not silent", async () => {
  const { clock, hub, log, submit } = new Scene();
  hub.plannedOutcomes.push(...Array.from({ length: 200 }, () => ({ kind: "pending" as const })));
  const startMs = clock.now();
  const result = await clock.run(submit());
  assert.equal(result.kind, "accepted");
  assert.equal(clock.now() - startMs, 400_000);
  assert.deepEqual(log.events("info"), ["long_wait.update_inclusion"]);
});

Deno.test("submit: an update that no block takes is given up after ten minutes", async () => {
  const { clock, hub, submit } = new Scene();
  hub.plannedOutcomes.push(...Array.from({ length: 1_000 }, () => ({ kind: "pending" as const })));
  const startMs = clock.now();
  assert.deepEqual(await clock.run(submit()), { kind: "lost", reason: "in no block after 10 min" });
  assert.equal(clock.now() - startMs, 600_000);
});

Deno.test("submit: what left the pool is lost, or the hub has the height from another relayer", async () => {
  const { hub, submit } = new Scene();
  hub.plannedOutcomes.push({ kind: "unknown" });
  assert.deepEqual(await submit(), {
    kind: "lost",
    reason: "neither in a block nor in the transaction pool",
  });
  hub.plannedOutcomes.push(included(false));
  assert.deepEqual(await submit(), { kind: "lost", reason: "failed in block 7" });
  hub.plannedOutcomes.push(included(false, badProof));
  assert.deepEqual(await submit(), { kind: "refused", refusal: badProof });
  hub.plannedOutcomes.push({ kind: "unknown" });
  hub.onTry = () => hub.store(id, 25n);
  hub.refusals.push(undefined);
  assert.deepEqual(await submit(), { kind: "overtaken", hubHeight: 25n });
});

Deno.test("submit: a stopping program waits five seconds for what it has sent, and no longer", async () => {
  const stop = new AbortController();
  const { clock, hub, submit } = new Scene();
  hub.plannedOutcomes.push({ kind: "pending" }, { kind: "pending" });
  const sent = submit(20n, stop.signal);
  await clock.settle();
  stop.abort(new Error("stop"));
  assert.equal((await clock.run(sent)).kind, "accepted");

  const other = new AbortController();
  hub.plannedOutcomes.push(...Array.from({ length: 100 }, () => ({ kind: "pending" as const })));
  const lost = submit(30n, other.signal);
  await clock.settle();
  const startMs = clock.now();
  other.abort(new Error("stop"));
  await assert.rejects(clock.run(lost), /stop/);
  assert.equal(clock.now() - startMs, 5_000);
  assert.equal(clock.pending, 0);
});
