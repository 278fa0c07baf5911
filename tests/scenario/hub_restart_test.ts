/** The hub's node goes away and comes back with the same state, under a working relayer and before one. */
import assert from "node:assert/strict";
import { endpointHost } from "../../src/core/config/redact.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { DEADLINE_MS, startSceneDevnet } from "./support/scene.ts";
import { assertNothingLeaked, playGuardedOn, secretly } from "./support/secrets.ts";

/** Expects two errors: one that names the hub's endpoint and what is the matter, and that nothing was started. */
async function assertHubMissed(process: RelayerProcess, host: string, detail: RegExp): Promise<void> {
  // 30 seconds are allowed to the hub; the rest is for a busy machine.
  assert.equal(await process.exitCode(DEADLINE_MS), 1);
  const [first, second, ...others] = process.errorLines;
  assert.equal(first?.record?.event, "hub_unavailable");
  assert.equal(first.record.setting, "[hub].rpc_ws");
  assert.ok(first.text.includes(` via ${host}: `), first.text);
  assert.match(first.text, detail);
  assert.equal(second?.record?.event, "start_refused");
  assert.deepEqual(others, []);
  assert.doesNotMatch(process.text, /"stack"/);
  await assertNothingLeaked([process]);
}

Deno.test("hub restart: a working relayer waits and continues; one that starts meanwhile says what is missing", async () => {
  await using devnet = await startSceneDevnet({ feeds: "each" });
  const [a] = devnet.chains;
  assert.ok(a !== undefined);
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const process = await relayer.startAndWait(secretly(devnet.endpoints));
    const early = await sendPing(devnet, { from: "A", to: "B", count: 5 });
    // The hub stops while the first leg is under way.
    await process.waitForLine("batch_sent", { deadlineMs: DEADLINE_MS });
    await devnet.hub.stop();
    const meanwhile = await sendPing(devnet, { from: "B", to: "A", count: 5 });
    const startWith = (hubUrl: string, name: string): Promise<RelayerProcess> =>
      startRelayer({
        config: relayerConfig(devnet.endpoints, secretly(devnet.endpoints, { hubUrl })),
        folder: `${scene.folder}/${name}`,
        logLevel: "info",
      });
    await using dead = await startWith(devnet.hub.wsUrl, "dead");
    // The path of the secret URL is none of an EVM node's WebSocket.
    await using wrong = await startWith(a.node.wsUrl, "wrong");
    await Promise.all([
      assertHubMissed(
        dead,
        endpointHost(devnet.hub.wsUrl),
        /connection refused, or the host cannot be reached/,
      ),
      assertHubMissed(wrong, endpointHost(a.node.wsUrl), /no WebSocket there \(HTTP 404\)/),
    ]);
    const told = await process.waitForLine("leg_paused", { deadlineMs: DEADLINE_MS });
    assert.ok(told.text.includes(endpointHost(devnet.hub.wsUrl)), told.text);
    await devnet.hub.start();
    await scene.untilDelivered([...early, ...meanwhile]);
    await process.waitForLine("leg_resumed", { deadlineMs: DEADLINE_MS });
    // A short restart, without anything to be told.
    const late = await sendPing(devnet, { from: "A", to: "hub", count: 3 });
    await devnet.hub.stop();
    await devnet.hub.start();
    await scene.untilDelivered(late);
    await scene.finish();
  });
});
