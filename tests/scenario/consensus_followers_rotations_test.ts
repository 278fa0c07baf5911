/** The compiled consensus relayer tells Substrate chains of a hub that GRANDPA makes final: missed sessions, long gaps. */
import assert from "node:assert/strict";
import { GrandpaUpdater } from "../../devnet/updates/substrate_oracle_chain.ts";
import type { ConsensusChanges } from "../../devnet/programs/consensus_config.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import { HubFollower } from "./support/follower_checks.ts";

/** Sessions that each chain misses, most first. */
const MISSED = [7, 4, 3, 1] as const;

/** Misses no session but more blocks than a proof may cover. */
const LONG = "SUBSTRATE-long";

/** Blocks that a proof for it may cover; the relay chain keeps votes of every eighth. */
const RANGE = 20;

/** Proofs that it takes at least. */
const RANGES = 3;

/** Another relayer, who tells one chain. */
async function updateOnce({ devnet }: ConsensusScene, { chain }: HubFollower): Promise<void> {
  const { relay, hub: { identity } } = devnet;
  await using updater = new GrandpaUpdater({
    voting: { wsUrl: relay.wsUrl, cover: () => void relay.produceBlocks(2) },
    followed: identity,
    receiver: { node: chain.node, hashing: chain.hashing, makesBlocks: false },
  });
  await updater.update(0n, true);
}

/** The hub makes a last final block; then nothing moves on the chains that a proof is made of, and all can be proved. */
function holdHub({ hub, relay }: ConsensusScene["devnet"]): void {
  hub.pauseBlocks();
  hub.produceBlock();
  hub.produceBlock();
  relay.produceBlocks(4);
  relay.pauseBlocks();
}

function releaseHub({ hub, relay }: ConsensusScene["devnet"]): void {
  hub.resumeBlocks();
  relay.resumeBlocks();
}

function telling(
  chains: readonly HubFollower[],
  sections: ConsensusChanges["sections"] = {},
): ConsensusChanges {
  return { hubType: "grandpa", only: chains.map(({ chain }) => chain.stateMachine), sections };
}

const names = [...MISSED.map((missed) => `SUBSTRATE-mis${missed}`), LONG];

Deno.test("Substrate chains follow the hub over changes of the authority set", (t) =>
  playConsensus(t, {
    kinds: [],
    substrateChains: names.map((stateMachine) => ({ stateMachine, blockTimeMs: 400 })),
  }, async (scene) => {
    const { devnet } = scene;
    const { relay } = devnet;
    const chains = MISSED.map((missed) => new HubFollower(scene, `SUBSTRATE-mis${missed}`));
    const long = new HubFollower(scene, LONG);
    const all = [...chains, long];

    await scene.step("all chains get the hub's heights, and a new set within its session", async () => {
      const relayer = await scene.start(telling(all));
      await Promise.all(all.map((chain) => chain.untilKnows(1n)));
      relay.rotate();
      await Promise.all(all.map((chain) => chain.untilCurrent()));
      await relayer.waitForLine("update_sent", { since: scene.now(relayer) });
      await scene.kill(relayer);
    });

    await scene.step(
      "after a crash each chain gets one proof for each of 1, 3, 4 or 7 missed sessions, and one for the rest",
      async () => {
        for (const [at, chain] of chains.entries()) {
          // What was sent before the crash may be in a block by now.
          await updateOnce(scene, chain);
          const sessions = (MISSED[at] ?? 0) - (MISSED[at + 1] ?? 0);
          for (let session = 0; session < sessions; session++) {
            relay.produceBlocks(3);
            relay.rotate();
          }
        }
        await updateOnce(scene, long);
        relay.produceBlocks(RANGE * RANGES);
        holdHub(devnet);
        const before = all.map((chain) => chain.now);
        await Promise.all([
          scene.start(telling(chains)),
          scene.start(telling([long], { "hub.grandpa": { max_block_range: RANGE } })),
        ]);
        await Promise.all(all.map((chain) => chain.untilCurrent()));
        const final = relay.finalized.number;
        for (const [at, chain] of chains.entries()) {
          const updates = await chain.updatesSince(before[at] ?? 0);
          const sets = updates.map(({ before, after }) => after.setId - before.setId);
          assert.deepEqual(sets, [...Array.from({ length: MISSED[at] ?? 0 }, () => 1n), 0n]);
          assert.ok(updates.every(({ extrinsics }) => extrinsics === 1));
          assert.equal(chain.height, BigInt(devnet.hub.finalized.number));
          assert.equal((await chain.fetchFinality()).height, final);
        }
        const steps = (await long.updatesSince(before.at(-1) ?? 0)).map(({ before, after }) =>
          after.height - before.height
        );
        assert.ok(steps.length >= RANGES && steps.every((step) => step <= RANGE), steps.join(", "));
        releaseHub(devnet);
        await Promise.all(all.map((chain) => chain.untilGrown()));
      },
    );
  }));
