/**
 * Messages from and to Polygon, whose chain loses all blocks that no milestone has made final: what vanished is not
 * delivered, what was mined again is delivered once, and deliveries that vanished are made again.
 */
import assert from "node:assert/strict";
import { startAnvil } from "../../devnet/evm/anvil.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import { delivered, sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { playScene } from "../scenario/support/scene.ts";

/** Blocks of Bor that are not final while milestones are held. */
const UNSURE = 8n;

/** Bor tells what is final by milestones: here the node's word is behind them, and never ahead. */
const SLOTS_IN_AN_EPOCH = 8;

/** Which of the messages their host still knows. */
async function known(
  { host }: DevnetChain,
  messages: readonly SentMessage[],
): Promise<readonly SentMessage[]> {
  const at = { address: host.addresses.host, abi: HOST_ABI, functionName: "requestCommitments" } as const;
  const fees = await Promise.all(
    messages.map(({ commitment }) => host.reader.readContract({ ...at, args: [commitment] })),
  );
  return messages.filter((_, index) => BigInt(fees[index]?.sender ?? 0) !== 0n);
}

Deno.test("Polygon: blocks that no milestone has made final vanish, and with them messages and deliveries", () =>
  playScene({
    kinds: ["polygon", "bsc"],
    feeds: "each",
    proven: {
      startNode: (options) => startAnvil({ ...options, slotsInAnEpoch: SLOTS_IN_AN_EPOCH }),
    },
  }, async (scene) => {
    const { devnet } = scene;
    const polygon = devnet.chain("A");
    const { heimdall } = polygon.proven;
    assert.ok(heimdall !== undefined);
    const head = (): Promise<bigint> => polygon.host.reader.getBlockNumber({ cacheTime: 0 });
    const relayer = scene.relayer();
    await relayer.startAndWait();

    const early = await sendPing(devnet, { from: "A", to: "B", count: 2 });
    const sentAt = early[0]?.height ?? 0n;
    await waitUntil(`a milestone has block ${sentAt}`, () => heimdall.finalized >= sentAt);

    heimdall.holdsMilestones = true;
    const back = await sendPing(devnet, { from: "B", to: "A", count: 2 });
    await scene.untilDelivered(back);
    const vanishing = await sendPing(devnet, { from: "A", to: "B", count: 3, timeoutSec: 86_400n });
    await waitUntil(
      `${UNSURE} blocks are not final`,
      async () => await head() - heimdall.finalized >= UNSURE,
    );
    // An update of Polygon would vanish as well, and be waited for.
    const updates = { from: devnet.hub.identity.stateMachine, to: polygon.stateMachine };
    await devnet.oracle.pause(updates);
    await resultHttp(polygon.node.rpcUrl, "anvil_reorg", [Number(await head() - heimdall.finalized), []]);
    devnet.oracle.resume(updates);
    assert.deepEqual(await known(polygon, vanishing), []);
    assert.deepEqual(await delivered(devnet, back), []);

    // Takes the numbers of those that vanished.
    const late = await sendPing(devnet, { from: "A", to: "B", count: 2 });
    heimdall.holdsMilestones = false;
    await scene.untilDelivered([...early, ...back, ...late]);
    // The delivery that vanished is handed in again, perhaps before the height of the hub that vanished with it.
    await scene.finish({ mostReverts: 1 });
    assert.deepEqual(await delivered(devnet, vanishing), []);
    const { messages } = await relayer.ledger();
    const gone: ReadonlySet<string> = new Set(vanishing.map(({ commitment }) => commitment));
    assert.deepEqual(messages.filter(({ commitment }) => gone.has(commitment)), []);
  }));
