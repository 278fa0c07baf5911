/** What the hub's treasury pays to the account of `[hub].signer`: for rotations of its authorities, for its own requests. */
import assert from "node:assert/strict";
import { fromHex, toHash256 } from "../../src/core/encoding/bytes.ts";
import { sr25519PublicKey } from "../../src/core/ismp/signed_messages.ts";
import { DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { readDeliverers, sendPing, waitUntil } from "../../devnet/traffic/messages.ts";
import type { ConfigChanges } from "../../devnet/programs/relayer_config.ts";
import { playScene, type SceneRelayer } from "./support/scene.ts";

/** Native units of the hub (12 decimals). */
const UNIT = 10n ** 12n;
const ROTATION_REWARD = 3n * UNIT;
const REQUEST_REWARD = 5n * UNIT;

/** A module of the hub that is rewarded, and one that is not. */
const LISTED = new TextEncoder().encode("listed-one");
const UNLISTED = new TextEncoder().encode("unlisted");

Deno.test("rewards: each rotation and each listed request of the hub is paid once to the account of the hub's signer", () =>
  playScene({ kinds: ["bsc"], acceptsProofs: {} }, async (scene) => {
    const { devnet } = scene;
    const { hub } = devnet;
    const a = devnet.chain("A");
    await hub.governance.setConsensusReward(a.stateMachine, ROTATION_REWARD);
    await hub.governance.setRequestReward(LISTED, REQUEST_REWARD);
    const key = DEVNET_KEYS.user;
    const account = toHash256(sr25519PublicKey(fromHex(key)));
    const before = hub.governance.balanceOf(account);

    // With a minimum profit: requests of the hub bring no fee, and the listed one travels anyway.
    const changes: ConfigChanges = { minimumProfitPercent: 10, sections: { hub: { signer: key } } };
    const relayer = scene.relayer();
    // A host that knows no height of the hub gets it together with the first message.
    const first = await relayer.start(changes);
    await first.waitForLine("program_started");
    await sendPing(devnet, { from: "A", to: "hub" });
    const post = { dest: a.stateMachine, to: fromHex(a.host.addresses.ping), timeoutSec: 0n };
    const body = new TextEncoder().encode("from the hub");
    const listed = await hub.dispatchPost({ ...post, from: LISTED, body });
    const unlisted = await hub.dispatchPost({ ...post, from: UNLISTED, body });
    devnet.prover?.rotateNext();
    await untilRewards(relayer, ["request", "rotation"], "pending");
    const receipts = await readDeliverers(devnet, a.stateMachine, [listed.commitment, unlisted.commitment]);
    assert.deepEqual(receipts.map((receipt) => receipt !== undefined), [true, false]);
    await waitUntil("the work is final", async () => {
      const { submissions } = await relayer.ledger();
      return submissions.every(({ chain, state }) => chain !== a.stateMachine || state === "final");
    }, { everyMs: 400 });
    const head = await a.host.reader.getBlockNumber();
    await waitUntil(
      "the hub knows the blocks of the work",
      () => (hub.latestHeight(devnet.idOnHub(a)) ?? 0n) >= head,
    );
    await relayer.stop();
    assert.equal(hub.governance.balanceOf(account), before, "rewards are looked at when the program starts");

    // Killed in the middle of the claims, it continues without claiming twice.
    hub.fault = ({ method }) => method === "author_submitExtrinsic" ? { kind: "hang" } : undefined;
    const killed = await relayer.start(changes);
    await waitUntil("a claim is on record", async () => {
      const { submissions } = await relayer.ledger();
      return submissions.some(({ kind }) => kind === "claim");
    }, { everyMs: 200 });
    await killed.kill();
    hub.fault = undefined;

    await relayer.start(changes);
    await untilRewards(relayer, ["request", "rotation"], "claimed");
    assert.equal(hub.governance.balanceOf(account), before + ROTATION_REWARD + REQUEST_REWARD);
    await scene.finish({ accounts: new Map([[scene.hub, account]]) });
  }));

/** Waits until exactly these rewards are on record, all of them in this state. */
async function untilRewards(
  relayer: SceneRelayer,
  kinds: readonly string[],
  state: string,
): Promise<void> {
  await waitUntil(`${kinds.length} rewards, each ${state}`, async () => {
    const { rewards } = await relayer.ledger();
    assert.ok(rewards.length <= kinds.length, "nothing else is rewarded");
    return rewards.map(({ kind }) => kind).join() === kinds.join() &&
      rewards.every((reward) => reward.state === state);
  }, { everyMs: 200 });
}
