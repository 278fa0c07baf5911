/** Endpoints that die, hang, throttle, lag or answer by halves: messages continue, nothing is lost, no line is an error. */
import assert from "node:assert/strict";
import { endpointHost } from "../../src/core/config/redact.ts";
import type { Devnet } from "../../devnet/devnet.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import type { FaultAction } from "../../devnet/hub/rpc/json_rpc.ts";
import { type ProxyMode, type RpcProxy, startRpcProxy } from "./support/rpc_proxy.ts";
import { type Scene, startSceneDevnet } from "./support/scene.ts";
import { playGuardedOn, secretly, secretUrl } from "./support/secrets.ts";

/** What the first endpoints of A and B do in one round. */
const ROUNDS: readonly { readonly name: string; readonly modes: readonly [ProxyMode, ProxyMode] }[] = [
  { name: "one is dead, one hangs", modes: [{ kind: "refuse" }, { kind: "hang" }] },
  {
    name: "one says for how long it throttles, one answers half of each batch",
    modes: [{ kind: "throttle", retryAfterSec: 3 }, { kind: "truncate", what: "batch" }],
  },
  {
    name: "one breaks off within the answer, one is behind",
    modes: [{ kind: "truncate", what: "transfer" }, { kind: "lag", blocks: 3 }],
  },
];

/** Messages in every direction. */
async function sendAround({ devnet }: Scene): Promise<readonly SentMessage[]> {
  return (await Promise.all([
    sendPing(devnet, { from: "A", to: "B", count: 3 }),
    sendPing(devnet, { from: "B", to: "A", count: 3 }),
    sendPing(devnet, { from: "A", to: "hub" }),
  ])).flat();
}

Deno.test("endpoints", async (t) => {
  await using devnet = await startSceneDevnet();
  await t.step(
    "endpoints: while the first one fails the second one serves, whatever the first one does (F19)",
    (t) => playSecondEndpoints(t, devnet),
  );
  await t.step(
    "endpoints: a chain whose only endpoint is dead at start joins when it comes back, and again later",
    () => playLateChain(devnet),
  );
  await t.step(
    "endpoints: lost answers to what was sent: the hub's socket drops, the EVM answer breaks off (F19)",
    () => playLostAnswers(devnet),
  );
});

async function playSecondEndpoints(t: Deno.TestContext, devnet: Devnet): Promise<void> {
  await using proxies = new AsyncDisposableStack();
  const first: RpcProxy[] = [];
  for (const { rpcUrl } of devnet.chains) {
    first.push(proxies.use(await startRpcProxy({ upstream: rpcUrl })));
  }
  const rpcUrls = Object.fromEntries(
    devnet.chains.map(({ stateMachine, rpcUrl }, at) =>
      [stateMachine, [secretUrl(first[at]?.httpUrl ?? "", { hasPath: true }), rpcUrl]] as const
    ),
  );
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    for (const { name, modes } of ROUNDS) {
      await t.step(name, async () => {
        const process = await relayer.startAndWait(secretly(devnet.endpoints, { rpcUrls }));
        for (const [at, proxy] of first.entries()) {
          proxy.clear();
          await proxy.setMode(modes[at] ?? { kind: "pass" });
        }
        await scene.untilDelivered(await sendAround(scene));
        await relayer.untilSettled();
        for (const [at, proxy] of first.entries()) {
          // Who refuses connections sees no requests.
          if (modes[at]?.kind !== "refuse") assert.ok(proxy.countCalls() > 0, `proxy ${at} was not asked`);
          await proxy.setMode({ kind: "pass" });
        }
        await relayer.stop();
        process.assertNoErrors();
      });
    }
    await scene.finish();
  });
}

async function playLateChain(devnet: Devnet): Promise<void> {
  const a = devnet.chain("A");
  await using proxy = await startRpcProxy({ upstream: a.rpcUrl });
  const host = endpointHost(proxy.httpUrl);
  await playGuardedOn(devnet, async (scene) => {
    // What is sent to A and from it before it joins is read from the first start on.
    const changes = secretly(devnet.endpoints, {
      rpcUrls: { [a.stateMachine]: [secretUrl(proxy.httpUrl, { hasPath: true })] },
    });
    await proxy.setMode({ kind: "refuse" });
    const relayer = scene.relayer();
    const process = await relayer.start(changes);
    const warning = await process.waitForLine("chain_unavailable");
    assert.equal(warning.level, "warn");
    assert.equal(warning.record?.chain, a.stateMachine);
    assert.ok(warning.text.includes(host) && warning.text.includes("connection refused"), warning.text);
    // The other chain works without it.
    await scene.untilDelivered(await sendPing(devnet, { from: "B", to: "hub", count: 2 }));
    const waiting = [
      ...await sendPing(devnet, { from: "A", to: "hub", count: 2 }),
      ...await sendPing(devnet, { from: "B", to: "A", count: 2 }),
    ];
    await proxy.setMode({ kind: "pass" });
    await process.waitForLine("chain_available");
    await scene.untilDelivered(waiting);

    // It dies again, long enough to be told.
    await proxy.setMode({ kind: "refuse" });
    const meanwhile = await sendPing(devnet, { from: "A", to: "hub", count: 2 });
    const told = await process.waitForLine("leg_paused");
    assert.ok(told.level === "warn" && told.text.includes(host), told.text);
    await proxy.setMode({ kind: "pass" });
    await process.waitForLine("leg_resumed");
    await scene.untilDelivered(meanwhile);
    await scene.finish();
  });
}

async function playLostAnswers(devnet: Devnet): Promise<void> {
  const b = devnet.chain("B");
  await using proxy = await startRpcProxy({ upstream: b.rpcUrl });
  const sending = ["eth_sendRawTransaction"];
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait(secretly(devnet.endpoints, {
      rpcUrls: { [b.stateMachine]: [secretUrl(proxy.httpUrl, { hasPath: true })] },
    }));
    const cases: readonly { readonly hub: FaultAction; readonly evm: ProxyMode }[] = [
      // It arrived, but nobody was told.
      { hub: { kind: "drop", afterCall: true }, evm: { kind: "truncate", what: "transfer" } },
      // It did not arrive.
      { hub: { kind: "drop" }, evm: { kind: "serverError" } },
    ];
    for (const { hub, evm } of cases) {
      let dropped = 0;
      devnet.hub.fault = ({ method }) => {
        if (method !== "author_submitExtrinsic" || dropped > 0) return undefined;
        dropped++;
        return hub;
      };
      proxy.clear();
      await proxy.setMode(evm, sending);
      const sent = await sendPing(devnet, { from: "A", to: "B", count: 3 });
      await waitUntil("the transaction to B is tried", () => proxy.countCalls("eth_sendRawTransaction") > 0);
      await proxy.setMode({ kind: "pass" });
      await scene.untilDelivered(sent);
      assert.equal(dropped, 1);
      await relayer.untilSettled();
    }
    await relayer.process.waitForLine("transaction_failed.broadcast_unknown");
    devnet.hub.fault = undefined;
    await scene.finish();
  });
}
