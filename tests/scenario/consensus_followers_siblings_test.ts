/**
 * The compiled consensus relayer tells the hub and a parachain on the same relay chain of each other: by their heads there,
 * which no collator brings any more.
 */
import assert from "node:assert/strict";
import { parseStateMachine } from "../../src/core/ismp/state_machine.ts";
import { demoModuleId } from "../../devnet/hub/hub.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { startRelayChain } from "../../devnet/relay/relay_chain.ts";
import { type ConsensusScene, DEADLINE_MS, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { HubFollower } from "./support/follower_checks.ts";

const CHAIN = "KUSAMA-2000";
/** Where messages are meant for that nobody delivers. */
const dest = parseStateMachine("EVM-1");

/** Waits until the hub has learned a newer height of the chain. */
async function untilHubGrown({ devnet }: ConsensusScene, { chain }: HubFollower): Promise<void> {
  const known = (): bigint => devnet.hub.latestHeight(devnet.idOnHub(chain)) ?? 0n;
  const before = known();
  await waitUntil(`the hub knows a block of ${CHAIN} after ${before}`, () => known() > before, {
    deadlineMs: DEADLINE_MS,
  });
}

Deno.test("the hub and a parachain beside it follow each other by their heads on the relay chain", (t) =>
  playConsensus(t, {
    kinds: [],
    substrateChains: [{ stateMachine: CHAIN, blockTimeMs: 400 }],
  }, async (scene) => {
    const { relay, hub } = scene.devnet;
    const told = new HubFollower(scene, CHAIN);
    // Heads without messages are proved once in ten minutes only.
    const send = (): Promise<unknown> =>
      Promise.all(
        [hub, told.chain.node].map((node) =>
          node.dispatchPost({
            dest,
            from: demoModuleId,
            to: demoModuleId,
            body: Uint8Array.of(1),
            timeoutSec: 0n,
          })
        ),
      );
    const both = async (): Promise<void> => {
      const grown = Promise.all([told.untilGrown(), untilHubGrown(scene, told)]);
      await send();
      await grown;
    };
    let relayer: RelayerProcess;

    await scene.step("both are kept current of each other, whoever votes on the relay chain", async () => {
      relayer = await scene.start({ hubType: "grandpa" });
      await both();
      relay.rotate();
      await both();
      const final = BigInt(hub.finalized.number);
      await send();
      await told.untilKnows(final);
      const unquiet = relayer.lines.filter(({ level }) => level === "warn" || level === "error");
      assert.deepEqual(unquiet.map(({ text }) => text), []);
    });

    await scene.step("after a stop the newest heads are delivered at once", async () => {
      await scene.kill(relayer);
      const { height } = told;
      await waitUntil("the hub makes blocks", () => hub.finalized.number > Number(height) + 2, {
        deadlineMs: DEADLINE_MS,
      });
      const final = BigInt(hub.finalized.number);
      await send();
      relayer = await scene.start({ hubType: "grandpa" });
      await told.untilKnows(final);
    });

    await scene.step(
      "another relay chain is named for both directions, and nothing of it is sent",
      async () => {
        await scene.stop(relayer);
        await using other = await startRelayChain({ blockTimeMs: "manual", chainName: "Another" });
        other.produceBlocks(relay.best.number + 20);
        scene.expect(({ text }) => text.includes("[hub.grandpa].rpc is another chain"));
        relayer = await scene.start({ hubType: "grandpa", relayUrl: other.wsUrl });
        const before = { told: told.height, hub: hub.latestHeight(scene.devnet.idOnHub(told.chain)) };
        await relayer.waitForLine(told.says("[hub.grandpa].rpc is another chain"), {
          deadlineMs: DEADLINE_MS,
        });
        await scene.untilFailed(relayer, 4, 0);
        const after = { told: told.height, hub: hub.latestHeight(scene.devnet.idOnHub(told.chain)) };
        assert.deepEqual(after, before);
        await scene.stop(relayer);
        relayer = await scene.start({ hubType: "grandpa" });
        await both();
      },
    );
  }));
