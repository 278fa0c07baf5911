/**
 * A day with a webhook: while a wallet is drained, a light client is stale and an endpoint refuses the key, each is posted with
 * what helps, and posted again as resolved.
 */
import assert from "node:assert/strict";
import { numberToHex, parseEther } from "viem";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { playScene } from "../scenario/support/scene.ts";
import { assertNoSecrets } from "../scenario/support/secrets.ts";
import { serveLocally } from "../support/test_server.ts";

/** The slot of a host's `_consensusUpdateTimestamp`. */
const UPDATE_TIME = 20;
/** Age of a light client that a host accepts nothing of any more. */
const OLD_SEC = 30n * 86_400n;
/** A reason takes half a minute to be posted, its end two; posts are a minute apart. */
const POSTED = { deadlineMs: 540_000 };
const TROUBLES = ["check_host_view", "no_endpoint", "wallet_empty"];

/** What a receiver reads of a post. */
interface Post {
  readonly ready: boolean;
  readonly reasons: readonly { readonly code: string; readonly text: string }[];
  readonly resolved: readonly { readonly code: string }[];
}

Deno.test("webhook: a drained wallet, an expired light client and a revoked key are posted, and posted as resolved", () =>
  playScene({}, async (scene) => {
    const { devnet } = scene;
    const [a, b] = [devnet.chain("A"), devnet.chain("B")];
    const toB = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
    const posts: Post[] = [];
    await using receiver = serveLocally({}, async (request) => {
      posts.push(await request.json());
      return new Response();
    });
    const untilPosted = (list: "reasons" | "resolved"): Promise<void> =>
      waitUntil(`each trouble is among ${list}`, () => {
        const codes = new Set(posts.flatMap((post) => post[list].map(({ code }) => code)));
        return TROUBLES.every((code) => codes.has(code));
      }, POSTED);
    await using proxy = await startRpcProxy({ upstream: a.rpcUrl });
    // Proofs for an expired light client would be refused.
    await devnet.oracle.pause(toB);
    await devnet.oracle.step(toB);
    const { node, reader, addresses: { host } } = b.host;
    const setUpdateTime = (time: bigint): Promise<void> =>
      node.setStorageAt({ address: host, index: UPDATE_TIME, value: numberToHex(time, { size: 32 }) });
    const updated = await reader.readContract({
      address: host,
      abi: HOST_ABI,
      functionName: "consensusUpdateTime",
    });
    await setUpdateTime(updated - OLD_SEC);
    const { address } = DEVNET_ACCOUNTS.relayer;
    await a.host.node.setBalance({ address, value: 0n });
    const relayer = scene.relayer();
    const process = await relayer.startAndWait({
      rpcUrls: { [a.stateMachine]: [proxy.httpUrl] },
      sections: { relayer: { notify: { webhook: `http://127.0.0.1:${receiver.port}` } } },
    });
    await process.waitForLine(({ record }) => record?.check === "host_view");
    await proxy.setMode({ kind: "serverError", status: 401 });
    await untilPosted("reasons");
    assert.ok(posts.every(({ ready, reasons }) => !ready && reasons.every(({ text }) => text !== "")));

    await proxy.setMode({ kind: "pass" });
    await a.host.node.setBalance({ address, value: parseEther("10") });
    await setUpdateTime(updated);
    devnet.oracle.resume(toB);
    // Another configuration is checked at once, the same one every ten minutes.
    const config = await Deno.readTextFile(process.configPath);
    await Deno.writeTextFile(process.configPath, config.replace("poll_interval = 1", "poll_interval = 2"));
    process.signal("SIGHUP");
    await untilPosted("resolved");
    assert.equal(posts.at(-1)?.ready, true);
    assertNoSecrets(JSON.stringify(posts), "the posts");
    await scene.untilDelivered(await sendPing(devnet, { from: "A", to: "B" }));
    await scene.finish();
  }));
