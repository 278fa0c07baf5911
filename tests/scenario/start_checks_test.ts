/** What does not fit together is found when the program starts, named, and left out; everything else works. */
import assert from "node:assert/strict";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { startRpcProxy } from "./support/rpc_proxy.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";
import { secretUrl } from "./support/secrets.ts";

Deno.test("start checks: a chain with a wrong URL is left out while the others deliver, and joins when the URL is corrected", async () => {
  await using devnet = await startSceneDevnet();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await using wrong = await startRpcProxy({ upstream: b.rpcUrl });
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    const rpcUrls = { [a.stateMachine]: [wrong.httpUrl] };
    const process = await relayer.start({ rpcUrls });
    const told = await process.waitForLine("chain_suspended");
    assert.deepEqual([told.record?.chain, told.record?.finding], [a.stateMachine, "chain_id"]);
    await scene.untilDelivered(await sendPing(devnet, { from: "B", to: "hub", count: 2 }));
    // What is sent meanwhile is read when the chain joins.
    const waiting = await sendPing(devnet, { from: "A", to: "B", count: 2 });
    const config = await Deno.readTextFile(process.configPath);
    const corrected = config.replace(secretUrl(wrong.httpUrl), secretUrl(a.rpcUrl));
    assert.notEqual(corrected, config);
    await Deno.writeTextFile(process.configPath, corrected);
    process.signal("SIGHUP");
    await scene.untilDelivered(waiting);
    await relayer.untilEnded(waiting);
    await scene.finish({ allowedErrors: [({ record }) => record?.event === "chain_suspended"] });
  });
});
