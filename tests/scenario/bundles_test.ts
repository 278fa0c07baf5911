/** Nobody but the relayer carries the hub's consensus proofs to the EVM hosts, rotations included where they pay. */
import assert from "node:assert/strict";
import { fromHex, type Hash256, toHash256 } from "../../src/core/protocol/bytes.ts";
import { sr25519PublicKey } from "../../src/core/protocol/ismp/signed_messages.ts";
import type { Devnet, DevnetChain } from "../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../devnet/evm/accounts.ts";
import { readHubConsensus } from "../devnet/evm/host_admin.ts";
import { sendPing, type SentMessage, waitUntil } from "../devnet/messages.ts";
import type { ConfigChanges } from "../devnet/relayer_config.ts";
import { type ConsensusTransaction, readConsensusTransactions } from "./support/consensus_calls.ts";
import { playSceneOn, type Scene, startSceneDevnet } from "./support/scene.ts";

/** What the hub pays for a rotation, units of its token (12 decimals, a dollar each): far above the cost. */
const ROTATION_REWARD = 100n * 10n ** 12n;

/** A hub account that rewards are paid to. */
const REWARDED: ConfigChanges = {
  disableFeeAccumulation: true,
  sections: { hub: { signer: DEVNET_KEYS.user } },
};

Deno.test("bundles", async (t) => {
  await using devnet = await startSceneDevnet({ acceptsProofs: { rotateEvery: 3 } });

  await t.step(
    "without a reward no rotation travels alone: it goes with the messages that need it",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait({ disableFeeAccumulation: true });
        const setBefore = hubSet(devnet);
        devnet.prover?.rotateNext();
        await waitUntil("the hub rotates", () => hubSet(devnet) > setBefore);
        const sent = [
          ...await sendPing(devnet, { from: "A", to: "B", count: 2 }),
          ...await sendPing(devnet, { from: "B", to: "A" }),
        ];
        await scene.untilDelivered(sent);
        await relayer.untilEnded(sent);
        await scene.finish();
        for (const chain of devnet.chains) {
          const carried = await carriedTo(scene, chain);
          assert.ok(carried.some(({ rotations }) => rotations > 0));
          assert.deepEqual(carried.filter(({ hasMessages }) => !hasMessages), []);
          assert.deepEqual(carried.filter(({ stale }) => stale > 0), []);
        }
      }),
  );

  for (const chain of devnet.chains) {
    await devnet.hub.governance.setConsensusReward(chain.stateMachine, ROTATION_REWARD);
  }

  await t.step(
    "messages and the proofs that they need travel together, through one rotation after the other",
    () =>
      playSceneOn(devnet, async (scene) => {
        const relayer = scene.relayer();
        await relayer.startAndWait(REWARDED);
        const setBefore = hubSet(devnet);
        const setsBefore = await hostSets(devnet);
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
        await scene.finish(paidTo(scene));
        const sets = await hostSets(devnet);
        for (const [index, chain] of devnet.chains.entries()) {
          const carried = await carriedTo(scene, chain);
          assert.ok(carried.some(({ hasMessages }) => hasMessages));
          assert.equal(
            carried.reduce((sum, { rotations }) => sum + rotations, 0),
            Number((sets[index] ?? 0n) - (setsBefore[index] ?? 0n)),
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
        await relayer.startAndWait(REWARDED);
        await untilSetsMatch(devnet);
        await relayer.stop();
        const knownSet = hubSet(devnet);
        const caughtUpAt = new Map(
          await Promise.all(devnet.chains.map(async ({ host, stateMachine }) =>
            [stateMachine, await host.reader.getBlockNumber()] as const
          )),
        );
        for (let missed = 1n; missed <= 4n; missed++) {
          devnet.prover?.rotateNext();
          await waitUntil("the hub rotates", () =>
            hubSet(devnet) >= knownSet + missed);
        }
        const sent = [
          ...await sendPing(devnet, { from: "A", to: "B", count: 3 }),
          ...await sendPing(devnet, { from: "B", to: "A", count: 2 }),
        ];
        const missed = Number(hubSet(devnet) - knownSet);
        await relayer.startAndWait(REWARDED);
        await scene.untilDelivered(sent);
        await relayer.untilEnded(sent);
        await untilSetsMatch(devnet);
        await scene.finish(paidTo(scene));
        for (const chain of devnet.chains) {
          const carried = (await carriedTo(scene, chain)).filter(({ height }) =>
            height > (caughtUpAt.get(chain.stateMachine) ?? 0n)
          );
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

/** Whom the hub's receipts name while a hub account is configured. */
function paidTo(scene: Scene): { readonly accounts: ReadonlyMap<string, Hash256> } {
  const account = toHash256(sr25519PublicKey(fromHex(DEVNET_KEYS.user)));
  return { accounts: new Map([[scene.hub, account]]) };
}

/** Authority set that the hub trusts now. */
function hubSet({ hub }: Devnet): bigint {
  return hub.ownProofs.state?.current.id ?? 0n;
}

/** Authority set that each host trusts now. */
async function hostSets(devnet: Devnet): Promise<readonly bigint[]> {
  const states = await Promise.all(devnet.chains.map(({ host }) => readHubConsensus(host)));
  return states.map(({ current }) => current.id);
}

/** Waits until every host knows the hub's authority set. */
async function untilSetsMatch(devnet: Devnet): Promise<void> {
  await waitUntil(
    "the hosts know the hub's authority set",
    async () => (await hostSets(devnet)).every((set) => set === hubSet(devnet)),
    { deadlineMs: 60_000 },
  );
}

/** What the scene's relayer carried to a chain. */
function carriedTo(
  scene: Scene,
  { host, stateMachine }: DevnetChain,
): Promise<readonly ConsensusTransaction[]> {
  const after = scene.startHeights.get(stateMachine) ?? 0n;
  return readConsensusTransactions(host, DEVNET_ACCOUNTS.relayer.address, after);
}
