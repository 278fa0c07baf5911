/**
 * The compiled programs on a devnet whose EVM chains are real Geth. Not part of the gate: building Geth takes five
 * minutes. Run by `deno task nodes`.
 */
import assert from "node:assert/strict";
import type { DevnetOptions } from "../../devnet/devnet_options.ts";
import type { Anvil, AnvilOptions } from "../../devnet/evm/anvil.ts";
import type { HostDelivery, ProofEffect } from "../scenario/support/consensus_hosts.ts";
import {
  beginSessions,
  deliveredDuring,
  postTo,
  proveHub,
  TELLING,
  untilHostHas,
  untilHostsKnow,
  untilIdle,
} from "../scenario/support/consensus_network.ts";
import { playConsensus } from "../scenario/support/consensus_scene.ts";
import { playProfiles } from "../scenario/support/profile_scene.ts";
import { payForRotations, playMissedRotations, playRotations } from "../scenario/support/rotation_scene.ts";
import { startSceneDevnet } from "../scenario/support/scene.ts";
import { findNode } from "./real_node.ts";

const { start } = await findNode("geth");
const ignore = start === undefined;

/** A devnet on Geth; what the common checks read of old blocks is there. */
const GETHS: DevnetOptions = {
  feeds: "each",
  hubBlockTimeMs: 800,
  relayBlockTimeMs: 800,
  proven: { startNode: (options) => startGeth({ ...options, extraArguments: ["--gcmode", "archive"] }) },
};

/** @throws {Error} where there is none; no test runs then. */
function startGeth(options: AnvilOptions): Promise<Anvil> {
  if (start === undefined) throw new Error("There is no Geth");
  return start(options);
}

/** What proofs of the hub did to a host, by transaction. */
type Effects = readonly (readonly ProofEffect[])[];

/** Sessions that pass while no relayer runs, and how they are delivered: at most three in a transaction. */
const SESSIONS = 4;
const IN_TWO: Effects = [["rotation", "rotation", "rotation"], ["rotation"]];

function effectsOf(deliveries: readonly HostDelivery[]): Effects {
  return deliveries.map(({ effects }) => effects);
}

Deno.test({
  name: "geth: 50 messages each way arrive through the compiled program, and fees come home",
  ignore,
  fn: async () => {
    await using devnet = await startSceneDevnet({
      hubBlockTimeMs: 800,
      relayBlockTimeMs: 800,
      oracleEveryMs: 400,
      proven: { startNode: startGeth },
    });
    await playProfiles(devnet, {});
  },
});

Deno.test({
  name: "geth: the hub's rotations travel with messages and ahead of them",
  ignore,
  fn: async (t) => {
    await using devnet = await startSceneDevnet({ ...GETHS, acceptsProofs: { rotateEvery: 3 } });
    await payForRotations(devnet);
    await t.step("with messages, one rotation after the other", () => playRotations(devnet));
    await t.step("missed ones first, three in a transaction", () => playMissedRotations(devnet));
  },
});

Deno.test({
  name: "geth: the consensus relayer delivers rotations and heights of the hub",
  ignore,
  fn: (t) =>
    playConsensus(t, { ...GETHS, acceptsProofs: {} }, async (scene) => {
      const { devnet, devnet: { chains } } = scene;
      const [one] = chains;
      if (one === undefined) throw new Error("A devnet without chains");
      const effectsAfter = async (isAccepted: boolean): Promise<readonly Effects[]> => {
        const delivered = await deliveredDuring(chains, async () => {
          await beginSessions(devnet, SESSIONS, isAccepted);
          const relayer = await scene.start({ ...TELLING, makesProofs: !isAccepted });
          await untilHostsKnow(devnet, chains);
          await untilIdle(scene, relayer, chains);
          await scene.stop(relayer);
        });
        return delivered.map(effectsOf);
      };
      await scene.step("four missed sessions by accepted proofs, in two transactions", async () => {
        assert.deepEqual(await effectsAfter(true), [IN_TWO, IN_TWO]);
      });
      await scene.step("a message's height goes to the chain of the message only", async () => {
        const relayer = await scene.start(TELLING);
        const delivered = await deliveredDuring(chains, async () => {
          const { height } = await postTo(devnet, one);
          assert.ok(await proveHub(devnet) >= height);
          await untilHostHas(one, height);
          await untilIdle(scene, relayer, chains);
          await scene.stop(relayer);
        });
        assert.deepEqual(delivered.map(effectsOf), [[["height"]], []]);
      });
      await scene.step("four more by proofs of its own", async () => {
        assert.deepEqual(await effectsAfter(false), [IN_TWO, IN_TWO]);
      });
    }),
});
