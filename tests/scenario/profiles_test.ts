/**
 * Nodes and providers as they are: 50 messages each way arrive through them, and the fees come home. A few profiles that
 * together hold most behaviours; `deno task profiles` plays all of them.
 */
import { beaconProfile, evmProfile, substrateProfile } from "../../devnet/profiles/find.ts";
import { assertMet, playBeaconProfile, playProfiles, startProfileDevnet } from "./support/profile_scene.ts";
import { playConsensus } from "./support/consensus_scene.ts";

/** Each with the profiles of the chains A and B and of the hub. */
const ROUNDS = [["polygon-bor", "alchemy-free", "substrate-cut-sockets"]] as const;

const BEACONS = ["teku"] as const;

Deno.test("profiles: messages cross and fees come home, whatever the nodes are", async (t) => {
  await using devnet = await startProfileDevnet();
  for (const [at, [a, b, hub]] of ROUNDS.entries()) {
    await t.step(`${a} and ${b}, ${hub}`, async () => {
      const cast = { evm: [evmProfile(a), evmProfile(b)], hub: substrateProfile(hub) } as const;
      const { strikes } = await playProfiles(devnet, cast, { withdraws: at === ROUNDS.length - 1 });
      for (const [name, kinds] of strikes) assertMet(name, kinds);
    });
  }
});

Deno.test("profiles: a beacon chain is proved, whatever its node is", (t) =>
  playConsensus(t, { kinds: ["beacon"] }, async (scene) => {
    for (const name of BEACONS) {
      await scene.step(name, async () => {
        assertMet(name, await playBeaconProfile(scene, beaconProfile(name)));
      });
    }
  }));
