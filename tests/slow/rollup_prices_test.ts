/** On rollups a message pays for its bytes on layer 1, too: what pays for execution only is not delivered. */
import assert from "node:assert/strict";
import { Limit } from "../../src/core/runtime/limit.ts";
import type { DevnetChain } from "../../devnet/devnet.ts";
import {
  arbitrumPrices,
  noOpStackPrices,
  opStackPrices,
  setArbitrumPrices,
  setOpStackPrices,
} from "../../devnet/evm/rollup_prices.ts";
import { delivered, sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { numbersOf, steadyRequirement } from "../scenario/support/decision_numbers.ts";
import { playScene, type Scene, type SceneRelayer } from "../scenario/support/scene.ts";

/** A rollup of the devnet, and what it takes to change the price of its layer 1. */
interface Rollup {
  readonly name: string;
  readonly chain: string;
  readonly setLayer1: (chain: DevnetChain, isFree: boolean) => Promise<void>;
}

const ROLLUPS: readonly Rollup[] = [
  {
    name: "OP stack",
    chain: "B",
    setLayer1: ({ node }, isFree) => setOpStackPrices(node, isFree ? noOpStackPrices : opStackPrices),
  },
  {
    name: "Arbitrum",
    chain: "C",
    setLayer1: ({ node }, isFree) =>
      setArbitrumPrices(node, { ...arbitrumPrices, ...isFree ? { l1UnitWei: 0n } : {} }),
  },
];

Deno.test("rollups: a message that pays for execution only is held, with the cost of its data in the decision", () =>
  playScene({ kinds: ["beacon", "op_stack", "arbitrum"] }, async (scene) => {
    const chains = ROLLUPS.map(({ chain }) => scene.devnet.chain(chain));
    // Prices of gas do not change from here on.
    await Promise.all(chains.map(({ host }) => host.node.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n })));
    await Promise.all(ROLLUPS.map(({ chain, setLayer1 }) => setLayer1(scene.devnet.chain(chain), true)));
    const relayer = scene.relayer();
    await relayer.startAndWait({
      minimumProfitPercent: 50,
      unprofitableRetryFrequencySec: 2,
      disableFeeAccumulation: true,
    });
    // One after the other where they use the same account.
    const turn = new Limit(1);
    const send = (to: string, fee: bigint): Promise<SentMessage> =>
      turn.run(async () => {
        const [sent] = await sendPing(scene.devnet, { from: "A", to, fee });
        assert.ok(sent !== undefined);
        return sent;
      }, new AbortController().signal);
    await Promise.all(ROLLUPS.map((rollup) => playLayer1(scene, relayer, rollup, send)));
    await scene.finish();
  }));

async function playLayer1(
  scene: Scene,
  relayer: SceneRelayer,
  rollup: Rollup,
  send: (to: string, fee: bigint) => Promise<SentMessage>,
): Promise<void> {
  const chain = scene.devnet.chain(rollup.chain);
  const probe = await send(rollup.chain, 1n);
  await relayer.untilRows([probe], chain.stateMachine, { state: "held", reason: "unprofitable" });
  const execution = await steadyRequirement(relayer, probe);
  await rollup.setLayer1(chain, false);
  await waitUntil(`the price of layer 1 is in the decision of the ${rollup.name}`, async () => {
    const [found] = await numbersOf(relayer, [probe]);
    return found !== undefined && found.required > execution * 102n / 100n;
  });
  // Proofs differ in length: a hundredth more than what execution alone took for the other message.
  const offered = execution * 101n / 100n;
  const poor = await send(rollup.chain, offered);
  await relayer.untilRows([poor], chain.stateMachine, { state: "held", reason: "unprofitable" });
  const [decision] = await numbersOf(relayer, [poor]);
  assert.equal(decision?.offered, offered);
  assert.ok((decision?.required ?? 0n) > offered);
  assert.deepEqual(await delivered(scene.devnet, [probe, poor]), []);
  // In one transaction with this one the others may pay for their smaller part.
  await scene.untilDelivered([await send(rollup.chain, execution * 10n)]);
}
