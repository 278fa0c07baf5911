/** The compiled consensus relayer with a Substrate chain that follows the hub beside an EVM chain that cannot follow GRANDPA. */
import assert from "node:assert/strict";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { DEVNET_ACCOUNTS } from "../../devnet/evm/accounts.ts";
import { GrandpaUpdater } from "../../devnet/updates/substrate_oracle_chain.ts";
import { demoModuleId } from "../../devnet/hub/hub.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import {
  consensusCommands,
  type ConsensusScene,
  playConsensus,
  proveByHand,
} from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { playMessaging } from "./support/secrets.ts";
import { HubFollower } from "./support/follower_checks.ts";

const CHAIN = "SUBSTRATE-told";
const BSC = "EVM-97";

/** Of the hub on the chain, seconds: longer than the whole scenario. */
const CHALLENGE_SEC = 1_800n;

/** Tells the hub of the chain once, by the chain's own votes. */
async function tellHub({ devnet }: ConsensusScene, { chain }: HubFollower): Promise<void> {
  await using updater = new GrandpaUpdater({
    voting: chain.node,
    followed: devnet.idOnHub(chain),
    receiver: { node: devnet.hub, hashing: "Keccak", makesBlocks: false },
  });
  await updater.update(0n, true);
}

Deno.test("a client of the hub on a Substrate chain: its challenge period, updates by hand; no client on an EVM chain", (t) =>
  playConsensus(t, {
    kinds: ["bsc"],
    substrateChains: [{ stateMachine: CHAIN, blockTimeMs: 400 }],
  }, async (scene) => {
    const { devnet } = scene;
    const { hub } = devnet;
    const told = new HubFollower(scene, CHAIN);
    const { node } = told.chain;
    const { reader } = scene.chain("bsc").host;
    const sent = (): Promise<number> =>
      reader.getTransactionCount({ address: DEVNET_ACCOUNTS.relayer.address });
    const before = await sent();
    let relayer: RelayerProcess;

    await scene.step(
      "an EVM chain is not updated with the hub's finality, and that is reported once; its finality is still proved to the hub",
      async () => {
        relayer = await scene.start({ hubType: "grandpa", only: [BSC, CHAIN] });
        await Promise.all([told.untilKnows(1n), scene.untilGrown(["bsc"], 2)]);
        const skipped = relayer.lines.filter(({ record }) => record?.event === "chain_limited.no_hub_proofs");
        assert.deepEqual(skipped.map(({ record }) => record?.chain), [BSC]);
      },
    );

    await scene.step("a challenge period holds up messages of the hub, and no updates", async () => {
      await node.setChallengePeriod(hub.identity, CHALLENGE_SEC);
      await tellHub(scene, told);
      const changes = { without: [BSC], moduleFilter: [toHex(demoModuleId)] };
      await playMessaging(devnet, changes, async (messaging) => {
        const post = { dest: told.chain.stateMachine, from: demoModuleId, to: demoModuleId, timeoutSec: 0n };
        const { commitment, block } = await hub.dispatchPost({ ...post, body: Uint8Array.of(1) });
        await messaging.waitForLine("message_found");
        await told.untilKnows(BigInt(block.number));
        await told.untilGrown(2);
        assert.equal(node.findReceipt(commitment), undefined);
        node.advanceTime(Number(CHALLENGE_SEC) * 1_000);
        await waitUntil("the message is delivered", () => node.findReceipt(commitment) !== undefined);
      });
    });

    await scene.step("without a relayer an operator tells the chain of the hub", async () => {
      await scene.kill(relayer);
      const command = consensusCommands(scene, { hubType: "grandpa", only: [BSC, CHAIN] });
      const route = [hub.identity.stateMachine, "--to", CHAIN];
      const known = told.height;
      const tried = await proveByHand(command, ...route, "--dry-run");
      assert.deepEqual([tried.outcome, tried.cost?.gas], ["possible", "0"]);
      assert.ok(BigInt(tried.height ?? 0) > known);
      assert.equal(told.height, known, "a dry run sent something");
      const proved = await proveByHand(command, ...route);
      assert.equal(proved.outcome, "accepted");
      assert.ok(told.height >= BigInt(proved.height ?? 0) && told.height > known);
      const { code, stderr } = await command("prove", hub.identity.stateMachine, "--to", BSC);
      assert.equal(code, 1);
      assert.match(stderr, /is not proved to EVM-97: no EVM contract verifies GRANDPA, only BEEFY\. It is /);
      assert.equal(await sent(), before, "no transaction was sent to the EVM chain");
    });
  }));
