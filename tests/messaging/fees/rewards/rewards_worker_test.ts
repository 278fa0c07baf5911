import { CONFIRM_AFTER_MS } from "../../../../src/messaging/relay/decisions/retry_schedule.ts";
import assert from "node:assert/strict";
import { type Hex, toHex } from "../../../../src/core/encoding/bytes.ts";
import { type Message, postMessage, postRequestCodec } from "../../../../src/core/ismp/message.ts";
import { toMessageRow } from "../../../../src/messaging/relay/messages.ts";
import { recordDeliveries } from "../../../../src/messaging/relay/receipts.ts";
import {
  isFinalRefusal,
  RewardRounds,
  rewardsWorker,
} from "../../../../src/messaging/fees/rewards/rewards_worker.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { a, c, dieAt, hubName, Scene, type SceneOptions, sceneWith } from "../scene.ts";
import { withLedgerFile } from "../../../support/ledger.ts";

const never = new AbortController().signal;
const module = new TextEncoder().encode("governor");

function request(nonce: bigint, changes: Partial<{ source: typeof a; from: Uint8Array }> = {}): Message {
  return postMessage({
    source: hubName,
    dest: a,
    nonce,
    from: module,
    to: new Uint8Array(20).fill(3),
    timeoutTimestampSec: 0n,
    body: new Uint8Array([1]),
    ...changes,
  });
}

/** A chain and a hub that knows our account; with a rotation of ours that is rewarded unless `setId` is 0. */
async function rewarded(options: SceneOptions & { readonly setId?: bigint } = {}): Promise<Scene> {
  const { setId = 7n, ...rest } = options;
  const scene = await sceneWith({ chains: [a], hasHubSigner: true, ...rest });
  if (setId === 0n) return scene;
  scene.hub.rewards.rotations.set(`rotation ${a} ${setId}`, 3n);
  recordRotation(scene, setId);
  await scene.blocks(5);
  return scene;
}

function states(
  scene: Scene,
  references: readonly string[],
  kind: "rotation" | "request" = "rotation",
): string[] {
  return references.map((reference) =>
    scene.ledger.rewards.find({ kind, chain: a, reference })?.state ?? "none"
  );
}

/** Delivers a listed request, as settling would record it. */
function deliverListed(scene: Scene, nonce: bigint, relayer = scene.address(a)): string {
  const message = request(nonce);
  const { height } = scene.node(a).head;
  scene.hub.rewards.modules.set(toHex(module), 5n);
  scene.chain(a).proved.set(message.commitment, { relayer, from: height });
  assert.ok(message.kind === "post");
  const reward = { reference: message.commitment, payload: postRequestCodec.enc(message.request) };
  scene.ledger.rewards.record({ kind: "request", chain: a, height, ...reward });
  return message.commitment;
}

/** A rotation of ours, as a scan records it. */
function recordRotation(scene: Scene, setId: bigint, height = scene.node(a).head.height): void {
  const reward = {
    kind: "rotation",
    chain: a,
    reference: setId.toString(),
    payload: new Uint8Array(),
  } as const;
  scene.ledger.transaction(() => void scene.ledger.rewards.record({ ...reward, height }));
}

Deno.test("rewards: only deliveries of requests of the hub's listed modules are recorded, each once", () => {
  const { ledger, context: { settings, ...deps } } = new Scene();
  const record = (message: Message, listed: ReadonlyMap<Hex, bigint> | undefined): number => {
    const ends = { source: hubName, target: a };
    ledger.messages.record(toMessageRow(message, ends, { seenAtHeight: 1n, state: "seen" }));
    const row = ledger.messages.find(message.commitment, a);
    const context = { ...deps, settings: { ...settings, listedModules: () => listed } };
    const receipt = { relayer: module, txHash: undefined, isFinal: true };
    const block = { height: 7n, hash: undefined };
    if (row !== undefined) ledger.transaction(() => recordDeliveries(context, [row], { ...receipt, block }));
    return ledger.rewards.listOpen().length;
  };
  const listed = new Map([[toHex(module), 5n]]);
  assert.equal(record(request(2n, { source: hubName, from: new Uint8Array(3) }), listed), 0);
  assert.equal(record(request(3n, { source: c }), listed), 0);
  assert.equal(record(request(4n), undefined), 0);
  assert.equal(record(request(1n), listed), 1);
  assert.equal(record(request(1n), listed), 1);
});

Deno.test("rewards: a rotation and a listed request are claimed for the hub account, final before they count", async () => {
  const scene = await rewarded();
  const commitment = deliverListed(scene, 1n);
  await scene.blocks(5);
  const rounds = new RewardRounds(scene.context);
  assert.equal(await rounds.run(never), 2);
  assert.deepEqual(states(scene, ["7"]), ["pending"]);
  await scene.blocks(1);
  assert.equal(await rounds.run(never), 2);
  await scene.blocks(3);
  assert.equal(await rounds.run(never), 0);
  assert.deepEqual(states(scene, ["7"]), ["claimed"]);
  assert.deepEqual(states(scene, [commitment], "request"), ["claimed"]);
  assert.deepEqual([...scene.hub.rewards.paid].sort(), [`request ${commitment}`, `rotation ${a} 7`].sort());
});

Deno.test("rewards: with a database that lacks a claim its block has to be final, and one that is not is made again", async () => {
  const scene = await rewarded();
  await new RewardRounds(scene.context).run(never);
  await scene.blocks(1);
  // The journal of a replica that is behind.
  const [claim] = scene.ledger.submissions.listUnresolved(hubName);
  const row = scene.ledger.rewards.listOpen()[0];
  assert.ok(claim !== undefined && row !== undefined);
  scene.ledger.submissions.update(claim.id, { state: "dropped" });
  scene.ledger.rewards.update(row, { state: "pending" });
  // Final blocks may stand still for hours.
  for (let reading = 0; reading < 3; reading++) {
    await new RewardRounds(scene.context).run(never);
    assert.deepEqual(states(scene, ["7"]), ["pending"]);
    await scene.clock.advance(CONFIRM_AFTER_MS);
  }
  scene.hubNode.reorganise(1, "forget");
  await new RewardRounds(scene.context).run(never);
  await scene.blocks(5);
  await new RewardRounds(scene.context).run(never);
  assert.deepEqual(states(scene, ["7"]), ["claimed"]);
  assert.deepEqual([...scene.hub.rewards.paid], [`rotation ${a} 7`]);
});

Deno.test("rewards: they wait for a height of the chain on the hub, and without a hub signer forever", async () => {
  const scene = await rewarded({ setId: 0n });
  scene.hub.rewards.rotations.set(`rotation ${a} 7`, 3n);
  recordRotation(scene, 7n, scene.node(a).head.height + 20n);
  assert.equal(await new RewardRounds(scene.context).run(never), 0);
  assert.deepEqual(states(scene, ["7"]), ["pending"]);
  await scene.blocks(30);
  const unsigned = { ...scene.context, hubKey: undefined };
  assert.equal(await new RewardRounds(unsigned).run(never), 0);
  for (let each = 0; each < 2; each++) {
    assert.equal(await new RewardRounds(scene.context).run(never), 1, "one claim is under way");
  }
});

Deno.test("rewards: what was paid, is not offered or is not ours ends without a claim", async () => {
  const scene = await rewarded({ setId: 1n });
  scene.hub.rewards.paid.add(`rotation ${a} 1`);
  recordRotation(scene, 2n);
  const foreign = deliverListed(scene, 5n, new Uint8Array(20).fill(4));
  await scene.blocks(5);
  assert.equal(await new RewardRounds(scene.context).run(never), 0);
  assert.deepEqual(states(scene, ["1", "2"]), ["pending", "pending"], "one answer ends nothing");
  await scene.clock.advance(CONFIRM_AFTER_MS);
  assert.equal(await new RewardRounds(scene.context).run(never), 0);
  assert.deepEqual(states(scene, ["1", "2"]), ["claimed", "refused"]);
  assert.ok(!scene.hub.calls.includes("dryRunCall"), "the hub is not asked to claim");
  assert.deepEqual(states(scene, [foreign], "request"), ["refused"]);
});

Deno.test("rewards: a refusal that may pass is tried again after ten minutes", async () => {
  const scene = await rewarded();
  scene.hub.hubCalls.refusesAll = { code: "unspecified", detail: "empty treasury", error: "Balances.Low" };
  const rounds = new RewardRounds(scene.context);
  assert.equal(await rounds.run(never), 0);
  assert.ok(!scene.hub.calls.includes("prepareCall"), "what the hub refuses is not made");
  scene.hub.hubCalls.refusesAll = undefined;
  assert.equal(await rounds.run(never), 0);
  assert.deepEqual(states(scene, ["7"]), ["pending"]);
  await scene.blocks(600);
  assert.equal(await rounds.run(never), 1);
});

Deno.test("rewards: the worker claims by itself, oldest first", async () => {
  const scene = await rewarded({ setId: 0n });
  const { height } = scene.node(a).head;
  for (const [index, setId] of [9n, 3n, 5n].entries()) {
    scene.hub.rewards.rotations.set(`rotation ${a} ${setId}`, 1n);
    recordRotation(scene, setId, height - BigInt(index));
  }
  await scene.blocks(5);
  const stop = new AbortController();
  const run = rewardsWorker(scene.context).run(stop.signal).catch(() => {});
  await scene.during(scene.clock.sleep(60_000, never));
  stop.abort();
  await run;
  assert.deepEqual([...scene.hub.rewards.paid], [`rotation ${a} 5`, `rotation ${a} 3`, `rotation ${a} 9`]);
});

for (const method of ["dryRunCall", "prepareCall", "broadcast", "fetchOutcome"]) {
  for (const when of ["before", "after"] as const) {
    Deno.test(`rewards: killed ${when} ${method}, a restart claims once`, async () => {
      await withLedgerFile(new FakeClock(), async (ledger, reopen) => {
        const scene = await rewarded({ ledger });
        const dying = new RewardRounds(scene.context);
        await dieAt({ scene, on: scene.hub, method, when }, (signal) => dying.run(signal));
        scene.connect(reopen());
        const rounds = new RewardRounds(scene.context);
        for (let round = 0; round < 20; round++) {
          await rounds.run(never);
          await scene.blocks(1);
        }
        assert.deepEqual(states(scene, ["7"]), ["claimed"]);
        assert.equal(scene.hub.rewards.paid.size, 1);
        assert.equal(scene.context.calls.listOpen("claim").length, 0);
      });
    });
  }
}

for (
  const [error, state] of [
    ["OutboundRotationAlreadyClaimed", "pending"],
    ["OutboundRequestAlreadyClaimed", "pending"],
    ["OutboundNoRewardConfigured", "refused"],
    ["OutboundSignerMismatch", "refused"],
    ["OutboundRequestNoRewardConfigured", "refused"],
    ["OutboundRequestSignerMismatch", "refused"],
    ["OutboundRequestNotKnown", "refused"],
    ["OutboundDestinationStateNotKnown", "pending"],
    ["OutboundDeliveryNotProven", "pending"],
    ["OutboundRewardTransferFailed", "pending"],
    ["SomethingNew", "pending"],
    [undefined, "pending"],
  ] as const
) {
  Deno.test(`rewards: after ${error ?? "a refusal without a reason"} a claim is ${state}`, () => {
    assert.equal(isFinalRefusal(error) ? "refused" : "pending", state);
  });
}
