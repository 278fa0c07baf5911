/** Messages, fees and updates through every profile of nodes and providers, with the compiled programs. */
import { BEACON_PROFILES } from "../../devnet/profiles/beacon_profiles.ts";
import { EVM_PROFILES } from "../../devnet/profiles/evm_profiles.ts";
import type { Profile } from "../../devnet/profiles/profile.ts";
import type { RpcBehaviour } from "../../devnet/profiles/rpc_behaviour.ts";
import { SUBSTRATE_PROFILES } from "../../devnet/profiles/substrate_profiles.ts";
import { playConsensus } from "../scenario/support/consensus_scene.ts";
import {
  playBeaconProfile,
  playProfiles,
  playRefused,
  startProfileDevnet,
} from "../scenario/support/profile_scene.ts";

const serving = ({ refusal }: Profile<RpcBehaviour>): boolean => refusal === undefined;
const hubs = SUBSTRATE_PROFILES.filter(serving);

const evm = EVM_PROFILES.filter(serving);

/** Two EVM profiles and one of a Substrate node at a time, for as long as there are some. */
for (let at = 0; at * 2 < evm.length; at++) {
  // Nodes of a certain kind of chain are nodes of the first one.
  const [a, b = a] = evm.slice(at * 2, at * 2 + 2)
    .toSorted((one, other) => Number(one.onlyOf === undefined) - Number(other.onlyOf === undefined));
  if (a === undefined || b === undefined) continue;
  const hub = hubs[at];
  const names = new Set([a, b, hub ?? a].map(({ name }) => name));
  Deno.test(`profiles: messages cross and fees come home through ${[...names].join(", ")}`, async () => {
    await using devnet = await startProfileDevnet();
    await playProfiles(devnet, { evm: [a, b], ...hub && { hub } });
  });
}

for (const [kind, profiles] of [["evm", EVM_PROFILES], ["hub", SUBSTRATE_PROFILES]] as const) {
  for (const profile of profiles.filter((each) => !serving(each))) {
    Deno.test(`profiles: a node that cannot do what is needed is named with its cure: ${profile.name}`, async () => {
      await using devnet = await startProfileDevnet();
      await playRefused(devnet, profile, kind);
    });
  }
}

Deno.test("profiles: a beacon chain is proved, whatever its node is", (t) =>
  playConsensus(t, { kinds: ["beacon"] }, async (scene) => {
    for (const profile of BEACON_PROFILES) {
      await scene.step(profile.name, () => playBeaconProfile(scene, profile));
    }
  }));
