/** Nobody but the relayer carries the hub's consensus proofs to the EVM hosts, rotations included where they pay. */
import assert from "node:assert/strict";
import { fromHex, type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../src/core/ismp/signed_messages.ts";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { readHubConsensus } from "../../devnet/evm/host_admin.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { type HostDelivery, readDeliveries, readHeads } from "./support/consensus_hosts.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "./support/scene.ts";

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
          assert.ok(carried.some(({ effects }) => effects.includes("rotation")));
          assert.deepEqual(carried.filter(({ hasMessages }) => !hasMessages), []);
          assert.deepEqual(carried.filter(({ effects }) => effects.includes("none")), []);
        }
      }),
  );

  await payForRotations(devnet);

  await t.step(
    "messages and the proofs that they need travel together, through one rotation after the other",
    () => playRotations(devnet),
  );

  await t.step(
    "after four missed rotations a restart catches up three and one, and continues delivering",
    () => playMissedRotations(devnet),
  );
});

/** What the hub pays for a rotation, units of its token (12 decimals, a dollar each): far above the cost. */
const ROTATION_REWARD = 100n * 10n ** 12n;

/** Rotations that pass while messages travel. */
const ROTATIONS = 3n;

/** Rotations that pass while the relayer is away: more than go into one transaction. */
const MISSED = 4n;

/** A hub account that rewards are paid to. */
const REWARDED: ConfigChanges = {
  disableFeeAccumulation: true,
  sections: { hub: { signer: DEVNET_KEYS.user } },
};

/** The hub pays for rotations of these hosts' consensus, so that they travel without messages, too. */
async function payForRotations({ hub, chains }: Devnet): Promise<void> {
  for (const { stateMachine } of chains) {
    await hub.governance.setConsensusReward(stateMachine, ROTATION_REWARD);
  }
}

/** Messages and the proofs that they need travel together, through one rotation after the other. */
function playRotations(devnet: Devnet): Promise<void> {
  return playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait(REWARDED);
    const setBefore = hubSet(devnet);
    const setsBefore = await hostSets(devnet);
    const sent: SentMessage[] = [];
    while (hubSet(devnet) < setBefore + ROTATIONS) {
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
    const { rewards } = await relayer.ledger();
    assert.deepEqual(
      [...new Set(rewards.map(({ kind }) => kind))],
      ["rotation"],
      "what the hub pays is on record",
    );
    const sets = await hostSets(devnet);
    for (const [index, chain] of devnet.chains.entries()) {
      const carried = await carriedTo(scene, chain);
      assert.ok(carried.some(({ hasMessages }) => hasMessages));
      assert.equal(
        carried.flatMap(({ effects }) => effects).filter((effect) => effect === "rotation").length,
        Number((sets[index] ?? 0n) - (setsBefore[index] ?? 0n)),
      );
      assert.deepEqual(carried.filter(({ effects }) => effects.includes("none")), []);
    }
  });
}

/** After missed rotations a restart catches up, three in a transaction, and continues delivering. */
function playMissedRotations(devnet: Devnet): Promise<void> {
  return playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait(REWARDED);
    await untilSetsMatch(devnet);
    await relayer.stop();
    const knownSet = hubSet(devnet);
    const caughtUpAt = await readHeads(devnet.chains);
    for (let missed = 1n; missed <= MISSED; missed++) {
      devnet.prover?.rotateNext();
      await waitUntil("the hub rotates", () => hubSet(devnet) >= knownSet + missed);
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
    await claimRewards(devnet, relayer);
    await scene.finish(paidTo(scene));
    for (const chain of devnet.chains) {
      const carried = (await carriedTo(scene, chain)).filter(({ block }) =>
        block > (caughtUpAt.get(chain.stateMachine) ?? 0n)
      );
      const groups = carried.filter(({ hasMessages }) => !hasMessages);
      assert.deepEqual(
        groups.slice(0, 2).map(({ effects }) => effects.filter((effect) => effect === "rotation").length),
        [
          3,
          Math.min(3, missed - 3),
        ],
      );
      assert.deepEqual(carried.filter(({ effects }) => effects.includes("none")), []);
    }
  });
}

/** Rewards are claimed after a start; killed in the middle of the claims, the relayer continues without claiming twice. */
async function claimRewards(devnet: Devnet, relayer: SceneRelayer): Promise<void> {
  const { hub, chains } = devnet;
  const account = toHash256(sr25519PublicKey(fromHex(DEVNET_KEYS.user)));
  await relayer.untilSettled();
  await relayer.stop();
  const heads = await readHeads(chains);
  const isKnown = (chain: DevnetChain): boolean =>
    (hub.latestHeight(devnet.idOnHub(chain)) ?? 0n) >= (heads.get(chain.stateMachine) ?? 0n);
  await waitUntil("the hub knows the blocks of the rotations", () => chains.every(isKnown));
  const before = hub.governance.balanceOf(account);
  hub.fault = ({ method }) => method === "author_submitExtrinsic" ? { kind: "hang" } : undefined;
  const killed = await relayer.start(REWARDED);
  await waitUntil("a claim is on record", async () => {
    return (await relayer.ledger()).submissions.some(({ kind }) => kind === "claim");
  });
  await killed.kill();
  hub.fault = undefined;
  await relayer.start(REWARDED);
  const claimed = async (): Promise<readonly string[]> =>
    (await relayer.ledger()).rewards.filter(({ state }) => state === "claimed").map(({ reference }) =>
      reference
    );
  const { rewards } = await relayer.ledger();
  assert.ok(rewards.length >= 2 * Number(MISSED), `${rewards.length} rewards`);
  await waitUntil("each reward is claimed", async () => (await claimed()).length === rewards.length);
  assert.equal(hub.governance.balanceOf(account), before + ROTATION_REWARD * BigInt(rewards.length));
}

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
  );
}

/** What the scene's relayer carried to a chain without a revert. */
async function carriedTo(scene: Scene, chain: DevnetChain): Promise<readonly HostDelivery[]> {
  const found = await readDeliveries(chain, scene.startHeights.get(chain.stateMachine) ?? 0n);
  const account = DEVNET_ACCOUNTS.relayer.address.toLowerCase();
  return found.filter(({ sender, isReverted }) => sender === account && !isReverted);
}
