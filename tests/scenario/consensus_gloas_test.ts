/** The compiled consensus relayer on a beacon chain that goes through Gloas, with a hub that follows only later. */
import assert from "node:assert/strict";
import type { Beacon } from "../../devnet/beacon/beacon.ts";
import { sepolia } from "../../src/consensus/clients/sync_committee/spec/beacon_network.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** More than pass by themselves before the first step has played: the fork is reached by a command. */
const EPOCHS_BEFORE = 90;

function beaconOf(scene: ConsensusScene): Beacon {
  const { beacon } = scene.chain("beacon").proven;
  assert.ok(beacon !== undefined);
  return beacon;
}

Deno.test("consensus of a beacon chain through Gloas", (t) =>
  playConsensus(t, { kinds: ["beacon"], proven: { epochsBeforeGloas: EPOCHS_BEFORE } }, async (scene) => {
    const beacon = beaconOf(scene);
    const gloas = sepolia.forks.find(({ name }) => name === "gloas");
    assert.ok(gloas !== undefined);
    const forkBlock = beacon.executionBlockAt(gloas.epoch);
    let relayer: RelayerProcess;

    await scene.step("before the fork the hub follows, and that it will not is a warning", async () => {
      relayer = await scene.start();
      await scene.untilGrown(["beacon"]);
      const line = await relayer.waitForLine("client_unusable.fork_not_followed");
      assert.match(line.text, /gloas .*the hub's runtime does not follow it/);
      assert.equal(line.record?.level, "warn");
    });

    await scene.step(
      "a hub that does not follow is named in an error, and nothing is submitted",
      async () => {
        scene.expect("client_unusable.fork_not_followed");
        await beacon.finalize(forkBlock + 4);
        await relayer.waitForLine(
          ({ record, text }) =>
            record?.event === "client_unusable.fork_not_followed" && text.includes("in every layout"),
        );
        assert.ok(scene.hubHeight("beacon") < BigInt(forkBlock));
      },
    );

    await scene.step("once the hub is upgraded updates go out without a restart", async () => {
      const { epoch, version } = gloas;
      await scene.devnet.hub.governance.setBeaconRuntime({ layout: "variant", gloas: { epoch, version } });
      await scene.untilHubHas("beacon", BigInt(forkBlock) + 1n);
      await scene.untilGrown(["beacon"], 2);
    });

    await scene.step("the next sync committee is delivered by a node without proofs", async () => {
      beacon.change({ without: ["lodestarProof"] });
      const next = beacon.period + 1;
      await beacon.advanceToPeriod(next);
      await relayer.waitForLine(({ record }) =>
        record?.event === "update_accepted" &&
        String(record?.summary).includes(`committee of period ${next + 1} (by bootstrap of`)
      );
      beacon.change({ without: [] });
    });

    await scene.step("a node with whole states alone does", async () => {
      beacon.change({ without: ["lightClient", "lodestarProof"] });
      await scene.untilGrown(["beacon"], 2);
      assert.ok(beacon.requests.some(({ route, status }) => route === "debugState" && status === 200));
    });
  }));
