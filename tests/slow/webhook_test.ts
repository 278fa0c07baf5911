/**
 * A day with a webhook: while a wallet is drained, a light client is stale and an endpoint refuses the key, each is posted with
 * what helps, and posted again as resolved.
 */
import assert from "node:assert/strict";
import { numberToHex, parseEther } from "viem";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import { serveLocally } from "../support/test_server.ts";
import { startRpcProxy } from "../scenario/support/rpc_proxy.ts";
import { DEADLINE_MS } from "../../devnet/waiting.ts";
import { playScene } from "../scenario/support/scene.ts";

/** Age of a light client that a host accepts nothing of any more. */
const OLD_SEC = 30n * 86_400n;

/** A reason takes half a minute to be posted, its end two; posts are a minute apart. */
const POST_DEADLINE_MS = 2 * DEADLINE_MS + 300_000;

/** What a receiver reads of a post. */
interface Post {
  readonly ready: boolean;
  readonly reasons: readonly { readonly code: string; readonly place: string }[];
  readonly resolved: readonly { readonly code: string; readonly place: string }[];
}

/** Lets the hub's light client on a chain have been updated at a time, Unix seconds; returns when it was. */
async function setUpdateTime(
  { host: { reader, node, addresses } }: DevnetChain,
  time: bigint,
): Promise<bigint> {
  const place = { address: addresses.host, abi: HOST_ABI, functionName: "consensusUpdateTime" } as const;
  const before = await reader.readContract(place);
  // The slot of `_consensusUpdateTimestamp`.
  await node.setStorageAt({ address: place.address, index: 20, value: numberToHex(time, { size: 32 }) });
  assert.equal(await reader.readContract(place), time);
  return before;
}

Deno.test("webhook: a drained wallet, an expired light client and a revoked key are posted, and posted as resolved", () =>
  playScene({}, async (scene) => {
    const { devnet } = scene;
    const [a, b] = devnet.chains;
    assert.ok(a !== undefined && b !== undefined);
    const toB = { from: devnet.hub.identity.stateMachine, to: b.stateMachine };
    const posts: Post[] = [];
    await using receiver = serveLocally({}, async (request) => {
      posts.push(await request.json());
      return new Response();
    });
    await using proxy = await startRpcProxy({ upstream: a.rpcUrl });
    const relayer = scene.relayer();
    const changes = {
      rpcUrls: { [a.stateMachine]: [proxy.httpUrl] },
      sections: { relayer: { notify: { webhook: `http://127.0.0.1:${receiver.port}/hook` } } },
    };
    // Proofs for an expired light client would be refused.
    await devnet.oracle.pause(toB);
    await devnet.oracle.step(toB);
    const { timestamp } = await b.host.reader.getBlock();
    const updated = await setUpdateTime(b, timestamp - OLD_SEC);
    const { address } = DEVNET_ACCOUNTS.relayer;
    await a.host.node.setBalance({ address, value: 0n });
    const process = await relayer.startAndWait(changes);
    await process.waitForLine(({ record }) => record?.check === "host_view");
    await proxy.setMode({ kind: "serverError", status: 401 });

    const troubles = ["check_host_view", "no_endpoint", "wallet_empty"];
    const posted = (list: "reasons" | "resolved"): readonly string[] =>
      troubles.filter((code) => posts.some((post) => post[list].some((each) => each.code === code)));
    await waitUntil("each trouble is posted", () => posted("reasons").length === 3, {
      deadlineMs: POST_DEADLINE_MS,
    });
    assert.ok(posts.every(({ ready }) => !ready));

    await proxy.setMode({ kind: "pass" });
    await a.host.node.setBalance({ address, value: parseEther("10") });
    await setUpdateTime(b, updated);
    devnet.oracle.resume(toB);
    // Another configuration is checked at once, the same one every ten minutes.
    const config = await Deno.readTextFile(process.configPath);
    await Deno.writeTextFile(process.configPath, config.replace("poll_interval = 1", "poll_interval = 2"));
    process.signal("SIGHUP");
    await waitUntil("each end is posted", () => posted("resolved").length === 3, {
      deadlineMs: POST_DEADLINE_MS,
    });
    assert.equal(posts.at(-1)?.ready, true);
    await scene.untilDelivered(await sendPing(devnet, { from: "A", to: "B" }));
    await scene.finish();
  }));
