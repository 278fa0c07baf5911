/** Beside a good endpoint, one that refuses the key, lags, lies, hangs or answers by halves: messages continue, no line is an error. */
import assert from "node:assert/strict";
import { sendPing } from "../../devnet/traffic/messages.ts";
import type { AlterAnswer } from "../support/altered_answers.ts";
import { type ProxyMode, startRpcProxy } from "./support/rpc_proxy.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";

/** Numbers that are not so; everything else is. */
function lying(method: string, change: (number: bigint) => bigint): ProxyMode {
  const alter: AlterAnswer = (asked, result) =>
    asked === method ? `0x${change(BigInt(String(result))).toString(16)}` : result;
  return { kind: "alter", alter };
}

/** No honest price of the devnet is as high, each that is lied about is higher. */
const LIED_WEI = 10n ** 14n;

/** What the first endpoints of A and B do in one round. */
const ROUNDS: readonly { readonly name: string; readonly modes: readonly [ProxyMode, ProxyMode] }[] = [
  {
    name: "one refuses the key, one is behind",
    modes: [{ kind: "serverError", status: 401 }, { kind: "lag", blocks: 10 }],
  },
  {
    name: "one names a nonce 400 too high, one a price of 10^6 times the market",
    modes: [
      lying("eth_getTransactionCount", (nonce) => nonce + 400n),
      lying("eth_gasPrice", (price) => price * 10n ** 6n),
    ],
  },
  {
    name: "one hides messages, one is dead",
    modes: [{ kind: "alter", alter: (asked, result) => asked === "eth_getLogs" ? [] : result }, {
      kind: "refuse",
    }],
  },
  {
    name: "one throttles, one answers half of each batch",
    modes: [{ kind: "throttle", retryAfterSec: 3 }, { kind: "truncate", what: "batch" }],
  },
  {
    name: "one breaks off within the answer, one hangs",
    modes: [{ kind: "truncate", what: "transfer" }, { kind: "hang" }],
  },
];

Deno.test("endpoints: while the first one fails the second one serves, whatever the first one does (F19)", async (t) => {
  await using devnet = await startSceneDevnet();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];
  await using proxyA = await startRpcProxy({ upstream: a.rpcUrl });
  await using proxyB = await startRpcProxy({ upstream: b.rpcUrl });
  const proxies = [proxyA, proxyB];
  const rpcUrls = {
    [a.stateMachine]: [proxyA.httpUrl, a.rpcUrl],
    [b.stateMachine]: [proxyB.httpUrl, b.rpcUrl],
  };
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    for (const { name, modes } of ROUNDS) {
      await t.step(name, async () => {
        const process = await relayer.startAndWait({ rpcUrls });
        for (const [at, proxy] of proxies.entries()) {
          proxy.clear();
          await proxy.setMode(modes[at] ?? { kind: "pass" });
        }
        const sent = (await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 3 }),
          sendPing(devnet, { from: "B", to: "A", count: 3 }),
          sendPing(devnet, { from: "A", to: "hub" }),
        ])).flat();
        await scene.untilDelivered(sent);
        await relayer.untilSettled();
        for (const [at, proxy] of proxies.entries()) {
          // Who refuses connections sees no requests.
          if (modes[at]?.kind !== "refuse") assert.ok(proxy.countCalls() > 0, `proxy ${at} was not asked`);
          await proxy.setMode({ kind: "pass" });
        }
        await relayer.stop();
        process.assertNoErrors();
      });
    }
    await scene.finish();
    const { spending } = await relayer.ledger();
    const prices = spending.map(({ gasPriceWei = 0n }) => gasPriceWei);
    assert.ok(prices.length > 0 && prices.every((wei) => wei < LIED_WEI), `${prices}`);
  });
});
