/** The compiled consensus relayer on a chain with a beacon chain: sources, periods, restarts, lies. */
import assert from "node:assert/strict";
import type { Beacon, BeaconLie } from "../../devnet/beacon/beacon.ts";
import { lieAbout } from "../../devnet/beacon/lies.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** What a node may leave out; states it must have then. */
const OPTIONAL = [
  "lightClient",
  "lodestarProof",
  "blindedBlocks",
] as const;

/** Periods that pass while nobody relays. */
const MISSED_PERIODS = 3;

/** One lie of each kind: in what was signed, in what is proved, in who signed. */
const LIES: readonly BeaconLie[] = [
  lieAbout("finalityUpdate", "data.attested_header.beacon.state_root"),
  lieAbout("finalityUpdate", "data.finalized_header.beacon.state_root"),
  lieAbout("finalityUpdate", "data.sync_aggregate.sync_committee_signature"),
];

function beaconOf(scene: ConsensusScene): Beacon {
  const { beacon } = scene.chain("beacon").proven;
  assert.ok(beacon !== undefined);
  return beacon;
}

function hostOf({ url }: { readonly url: string }): string {
  return new URL(url).host;
}

Deno.test("consensus of a beacon chain", (t) =>
  playConsensus(t, { kinds: ["beacon"] }, async (scene) => {
    const beacon = beaconOf(scene);
    const liars = LIES.map(() => beacon.openNode());
    let relayer: RelayerProcess;

    await scene.step("heights on the hub grow with the chain's finality", async () => {
      relayer = await scene.start();
      await scene.untilGrown(["beacon"], 2);
      assert.ok(scene.hubHeight("beacon") <= BigInt(beacon.finalized.blockNumber));
    });

    await scene.step("a node without any optional endpoint does: blocks and states are read", async () => {
      beacon.change({ without: OPTIONAL });
      const since = scene.now(relayer);
      await relayer.waitForLine("endpoint_limited.light_client_data", { since });
      await scene.untilGrown(["beacon"], 2);
      assert.ok(beacon.requests.some(({ route, status }) => route === "debugState" && status === 200));
      beacon.change({ without: [] });
    });

    await scene.step("the next sync committee is delivered when its period begins", async () => {
      const next = beacon.period + 1;
      const since = scene.now(relayer);
      await beacon.advanceToPeriod(next);
      await relayer.waitForLine(
        ({ record }) =>
          record?.event === "update_accepted" && told(record, `committee of period ${next + 1}`),
        { since },
      );
    });

    await scene.step("blocks that the head loses are no harm", async () => {
      await beacon.reorg(1);
      await scene.untilGrown(["beacon"]);
      await beacon.reorg(1);
      await scene.untilGrown(["beacon"]);
    });

    await scene.step(
      "after a crash all periods that were missed are delivered, one after the other",
      async () => {
        await scene.kill(relayer);
        const first = beacon.period + 1;
        await beacon.advanceToPeriod(beacon.period + MISSED_PERIODS);
        relayer = await scene.start({ beaconUrls: [...liars, beacon].map(({ url }) => url) });
        for (let period = first; period <= beacon.period; period++) {
          await relayer.waitForLine(({ record }) =>
            record?.event === "update_accepted" && told(record, `committee of period ${period + 1}`)
          );
        }
      },
    );

    await scene.step(
      "nodes that lie are named, each for its own lie, and an honest one is asked",
      async () => {
        const since = scene.now(relayer);
        liars.forEach((liar, at) => liar.change({ lie: LIES[at] }));
        for (const liar of liars) {
          await relayer.waitForLine(
            ({ text }) => text.includes(hostOf(liar)) && text.includes("malformed"),
            { since },
          );
        }
        await scene.untilGrown(["beacon"]);
      },
    );

    await scene.step("where every node lies nothing is submitted, and one is named in an error", async () => {
      scene.expect("endpoint_data_invalid.contradiction");
      beacon.change({ lie: LIES[0] });
      const since = scene.now(relayer);
      const line = await relayer.waitForLine("endpoint_data_invalid.contradiction", { since });
      assert.ok([beacon, ...liars].some((node) => line.text.includes(hostOf(node))), line.text);
      const height = scene.hubHeight("beacon");
      await scene.untilFailed(relayer, 2, since);
      assert.equal(scene.hubHeight("beacon"), height);
      beacon.change({ lie: undefined });
      liars.forEach((liar) => liar.change({ lie: undefined }));
      await scene.untilGrown(["beacon"]);
    });

    await scene.step(
      "a client with the state that the program prints is one that the hub moves on from",
      async () => {
        await scene.stop(relayer);
        await scene.renewClient("beacon");
        relayer = await scene.start();
        await scene.untilGrown(["beacon"]);
      },
    );
  }));

function told(record: Readonly<Record<string, unknown>> | undefined, text: string): boolean {
  return String(record?.summary).includes(text);
}
