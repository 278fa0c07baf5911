/** Nobody but the relayer carries the hub's consensus proofs to the EVM hosts, rotations included. */
import assert from "node:assert/strict";
import type { Devnet, DevnetChain } from "../devnet/devnet.ts";
import { DEVNET_ACCOUNTS } from "../devnet/evm/accounts.ts";
import { readHubConsensus } from "../devnet/evm/host_admin.ts";
import { FIRST_BEEFY_SET } from "../devnet/relay/validators.ts";
import { sendPing, type SentMessage, waitUntil } from "../devnet/messages.ts";
import { type ConsensusTransaction, readConsensusTransactions } from "./support/consensus_calls.ts";
import { playSceneOn, type Scene, startSceneDevnet } from "./support/scene.ts";

Deno.test("bundles", async (t) => {
  await using devnet = await startSceneDevnet({ acceptsProofs: { rotateEvery: 3 } });

  await t.step(
    "messages and the proofs that they need travel together, through one rotation after the other",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({ disableFeeAccumulation: true });
        const setBefore = hubSet(devnet);
        const sent: SentMessage[] = [];
        while (hubSet(devnet) < setBefore + 3n) {
          const some = (await Promise.all([
            sendPing(devnet, { from: "A", to: "B", count: 2 }),
            sendPing(devnet, { from: "B", to: "A" }),
          ])).flat();
          sent.push(...some);
          await scene.untilDelivered(some);
        }
        await relayer.untilEnded(sent);
        await untilSetsMatch(devnet);
        await scene.finish();
        for (const chain of devnet.chains) {
          const carried = await carriedTo(scene, chain);
          assert.ok(carried.some(({ hasMessages }) => hasMessages));
          assert.equal(
            carried.reduce((sum, { rotations }) => sum + rotations, 0),
            Number(hubSet(devnet) - FIRST_BEEFY_SET),
          );
          assert.deepEqual(carried.filter(({ stale }) => stale > 0), []);
        }
      }),
  );

  await t.step(
    "after four missed rotations a restart catches up three and one, and goes on delivering",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({ disableFeeAccumulation: true });
        await relayer.stop();
        const knownSet = hubSet(devnet);
        for (let missed = 1n; missed <= 4n; missed++) {
          devnet.prover?.rotateNext();
          await waitUntil("the hub rotates", () => hubSet(devnet) >= knownSet + missed);
        }
        const sent = [
          ...await sendPing(devnet, { from: "A", to: "B", count: 3 }),
          ...await sendPing(devnet, { from: "B", to: "A", count: 2 }),
        ];
        const missed = Number(hubSet(devnet) - knownSet);
        await relayer.startAndWait({ disableFeeAccumulation: true });
        await scene.untilDelivered(sent);
        await relayer.untilEnded(sent);
        await untilSetsMatch(devnet);
        await scene.finish();
        for (const chain of devnet.chains) {
          const carried = await carriedTo(scene, chain);
          const groups = carried.filter(({ hasMessages }) => !hasMessages);
          assert.deepEqual(groups.slice(0, 2).map(({ rotations }) => rotations), [
            3,
            Math.min(3, missed - 3),
          ]);
          assert.deepEqual(carried.filter(({ stale }) => stale > 0), []);
        }
      }),
  );
});

/** Authority set that the hub trusts now. */
function hubSet({ hub }: Devnet): bigint {
  return hub.ownProofs.state?.current.id ?? 0n;
}

/** Waits until every host knows the hub's authority set. */
async function untilSetsMatch(devnet: Devnet): Promise<void> {
  await waitUntil("the hosts know the hub's authority set", async () => {
    const states = await Promise.all(devnet.chains.map(({ host }) => readHubConsensus(host)));
    return states.every(({ current }) => current.id === hubSet(devnet));
  }, { deadlineMs: 60_000 });
}

/** What the scene's relayer carried to a chain. */
function carriedTo(
  scene: Scene,
  { host, stateMachine }: DevnetChain,
): Promise<readonly ConsensusTransaction[]> {
  const after = scene.startHeights.get(stateMachine) ?? 0n;
  return readConsensusTransactions(host, DEVNET_ACCOUNTS.relayer.address, after);
}
