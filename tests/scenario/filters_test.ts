/** What the operator's configuration lets through, and what becomes of the rest. */
import assert from "node:assert/strict";
import { encodeFunctionData, type Hex, parseAbi, stringToHex } from "viem";
import { fromHex } from "../../src/core/encoding/bytes.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { delivered, sendPing, sentIn, type SentMessage } from "../../devnet/traffic/messages.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";

const DISPATCH_ABI = parseAbi([
  "struct DispatchPost { bytes dest; bytes to; bytes body; uint64 timeout; uint256 fee; address payer; }",
  "function dispatch(DispatchPost post) payable returns (bytes32)",
]);

Deno.test("filters (F21)", async (t) => {
  await using devnet = await startSceneDevnet();
  const [a, b] = [devnet.chain("A"), devnet.chain("B")];

  await t.step(
    "module_filter lets listed senders through, in upper or lower case, and no others",
    () =>
      playSceneOn(devnet, async (scene) => {
        // viem writes addresses in mixed case; the user's own account sends without an application.
        const listed = DEVNET_ACCOUNTS.user.address;
        assert.notEqual(listed, listed.toLowerCase());
        await devnet.hub.setBandwidthAllowlist(a.stateMachine, fromHex(listed.toLowerCase()), true);
        const relayer = scene.relayer();
        await relayer.startAndWait({ moduleFilter: [listed, `0x${"AB".repeat(20)}`] });
        const kept = await sendPing(devnet, { from: "A", to: "B", count: 2 });
        const passed = await dispatchAsUser(a, b.stateMachine, b.host.addresses.ping);
        await scene.untilDelivered(passed);
        await relayer.untilRows(kept, scene.hub, { state: "rejected", reason: "module_filter" });
        await relayer.untilRows(passed, b.stateMachine, { state: "delivered" });
        await scene.finish();
        assert.deepEqual(kept.map(({ commitment }) => devnet.hub.findReceipt(commitment)), [
          undefined,
          undefined,
        ]);
        const { submissions } = await relayer.ledger();
        const carried = new Set(
          submissions.flatMap(({ items }) => items.map(({ commitment }) => commitment)),
        );
        assert.deepEqual([...carried], passed.map(({ commitment }) => commitment));
      }),
  );

  await t.step(
    "delivery_endpoints limits what is delivered to chains; everything still reaches the hub",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({ deliveryEndpoints: [b.stateMachine] });
        const [there, back, toHub] = await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 2 }),
          sendPing(devnet, { from: "B", to: "A", count: 2 }),
          sendPing(devnet, { from: "B", to: "hub" }),
        ]);
        await scene.untilDelivered([...there, ...toHub]);
        await relayer.untilRows(back, scene.hub, { state: "delivered" });
        await scene.finish();
        assert.deepEqual(await delivered(devnet, back), []);
        const { messages, submissions, cursors } = await relayer.ledger();
        assert.deepEqual(messages.filter(({ target }) => target === a.stateMachine), []);
        assert.deepEqual(submissions.filter(({ chain }) => chain === a.stateMachine), []);
        assert.ok(!cursors.some(({ target }) => target === a.stateMachine));
      }),
  );

  await t.step(
    "a message whose source is not configured is held, and delivered once the source is",
    () =>
      playSceneOn(devnet, async (scene) => {
        // Another relayer brings the messages of A to the hub, and no further.
        const carrier = scene.relayer("relayer2");
        const relayer = scene.relayer();
        await Promise.all([
          carrier.startAndWait({ without: [b.stateMachine] }),
          relayer.startAndWait({ without: [a.stateMachine] }),
        ]);
        const [held, own] = await Promise.all([
          sendPing(devnet, { from: "A", to: "B", count: 2 }),
          sendPing(devnet, { from: "B", to: "hub" }),
        ]);
        await relayer.untilRows(held, b.stateMachine, { state: "held", reason: "no_fee_source" });
        await scene.untilDelivered(own);
        await carrier.untilSettled();
        await relayer.stop();
        assert.deepEqual(await delivered(devnet, held), []);
        await relayer.startAndWait();
        await scene.untilDelivered(held);
        await relayer.untilRows(held, b.stateMachine, { state: "delivered", reason: "handled_by_us" });
        await scene.finish();
      }),
  );
});

/** A post from the user's own account, past the ping application: another sending module. */
async function dispatchAsUser(chain: DevnetChain, dest: string, to: Hex): Promise<readonly SentMessage[]> {
  const payer = DEVNET_ACCOUNTS.user.address;
  const data = encodeFunctionData({
    abi: DISPATCH_ABI,
    functionName: "dispatch",
    args: [{
      dest: stringToHex(dest),
      to,
      body: stringToHex("from an account"),
      timeout: 0n,
      fee: 0n,
      payer,
    }],
  });
  const receipt = await chain.host.transact(DEVNET_ACCOUNTS.user, { to: chain.host.addresses.host, data });
  return sentIn(chain.host, receipt, Date.now());
}
