/** The hub's node goes away and comes back with the same state, under a working relayer and before one. */
import assert from "node:assert/strict";
import { endpointHost } from "../../src/core/config/redact.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { startSceneDevnet } from "./support/scene.ts";
import { assertNothingLeaked, playGuardedOn, secretly } from "./support/secrets.ts";

/** Expects one error, which names the hub's endpoint and what is the matter, and that the program waits. */
async function assertHubAwaited(process: RelayerProcess, host: string, detail: RegExp): Promise<void> {
  // 30 seconds are allowed to the hub; the rest is for a busy machine.
  const told = await process.waitForLine("hub_unavailable");
  assert.equal(told.record?.setting, "[hub].rpc_ws");
  assert.ok(told.text.includes(` via ${host}: `), told.text);
  assert.match(told.text, detail);
  assert.deepEqual(process.errorLines, [told]);
  assert.doesNotMatch(process.text, /"stack"/);
}

Deno.test("hub restart: a working relayer waits and continues; one that starts meanwhile waits, too, and says for what", async () => {
  await using devnet = await startSceneDevnet({ feeds: "each" });
  const a = devnet.chain("A");
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const process = await relayer.startAndWait(secretly(devnet.endpoints));
    const early = await sendPing(devnet, { from: "A", to: "B", count: 5 });
    // The hub stops while the first leg is under way.
    await process.waitForLine("batch_sent");
    await devnet.hub.stop();
    const meanwhile = await sendPing(devnet, { from: "B", to: "A", count: 5 });
    const told = await process.waitForLine("leg_paused");
    assert.ok(told.text.includes(endpointHost(devnet.hub.wsUrl)), told.text);
    await devnet.hub.start();
    await scene.untilDelivered([...early, ...meanwhile]);
    await process.waitForLine("leg_resumed");

    // One without a database yet starts before the hub does.
    await relayer.untilSettled();
    await relayer.stop();
    await devnet.hub.stop();
    await using wrong = await startRelayer({
      // The path of the secret URL is none of an EVM node's WebSocket.
      config: relayerConfig(devnet.endpoints, secretly(devnet.endpoints, { hubUrl: a.node.wsUrl })),
      folder: `${scene.folder}/wrong`,
      logLevel: "info",
    });
    const second = scene.relayer("relayer2");
    const waiting = await second.start(secretly(devnet.endpoints, { signer: "relayer2" }), {
      logLevel: "info",
    });
    const host = endpointHost(devnet.hub.wsUrl);
    await Promise.all([
      assertHubAwaited(waiting, host, /connection refused, or the host cannot be reached/),
      assertHubAwaited(wrong, endpointHost(a.node.wsUrl), /no WebSocket there \(HTTP 404\)/),
    ]);
    const missed = await sendPing(devnet, { from: "B", to: "A", count: 3 });
    assert.equal(await wrong.terminate(), 0);
    await assertNothingLeaked([wrong]);
    await devnet.hub.start();
    await waiting.waitForLine("leg_started");
    await scene.untilDelivered(missed);
    // A short restart, without anything to be told.
    const late = await sendPing(devnet, { from: "A", to: "hub", count: 3 });
    await devnet.hub.stop();
    await devnet.hub.start();
    await scene.untilDelivered(late);
    await scene.finish({ allowedErrors: [({ record }) => record?.event === "hub_unavailable"] });
  });
});
