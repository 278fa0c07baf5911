/** The compiled consensus relayer on Polkadot Hub: heads when its host has traffic, by hand, proofs of the hub. */
import assert from "node:assert/strict";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { consensusCommands, playConsensus, proveByHand } from "../scenario/support/consensus_scene.ts";
import {
  beginSessions,
  postTo,
  proveHub,
  TELLING,
  untilHostHas,
  untilHostsKnow,
} from "../scenario/support/consensus_network.ts";
import type { RelayerProcess } from "../scenario/support/relayer_process.ts";

const KIND = "polkadot_hub";

Deno.test("consensus of Polkadot Hub", (t) =>
  playConsensus(t, { kinds: [KIND], acceptsProofs: {} }, async (scene) => {
    const chain = scene.chain(KIND);
    const { stateMachine, node } = chain;
    /** Sends a message from the chain; the hub has to learn of its block. @returns that block */
    const sendOne = async (): Promise<bigint> => {
      const [message] = await sendPing(scene.devnet, { from: stateMachine, to: "hub" });
      assert.ok(message !== undefined);
      return message.height;
    };
    const command = consensusCommands(scene, {});
    let relayer: RelayerProcess;

    await scene.step("a head is proved at once, and newer ones when messages were sent", async () => {
      relayer = await scene.start();
      await scene.untilGrown([KIND]);
      for (let times = 0; times < 2; times++) await scene.untilHubHas(KIND, await sendOne());
    });

    await scene.step("blocks that the chain's node loses are no harm", async () => {
      await resultHttp(node.rpcUrl, "anvil_reorg", [2, []]);
      await scene.untilHubHas(KIND, await sendOne());
    });

    await scene.step("after a crash what was missed is proved with the first head", async () => {
      await scene.kill(relayer);
      const sent = await sendOne();
      relayer = await scene.start();
      await scene.untilHubHas(KIND, sent);
    });

    await scene.step(
      "by hand, one head is proved; a client that is there has no state to print",
      async () => {
        await scene.stop(relayer);
        const sent = await sendOne();
        let proven = await proveByHand(command, stateMachine);
        await waitUntil("the newest head has the message", async () => {
          if (scene.hubHeight(KIND) >= sent) return true;
          proven = await proveByHand(command, stateMachine);
          return false;
        });
        assert.equal(proven.chain, stateMachine);
        const { code, stderr, stdout } = await command("log-consensus-state", stateMachine);
        assert.equal(code, 1);
        assert.match(stderr + stdout, /there is no state: .*IsmpParachain\.set_slot_duration/s);
      },
    );

    await scene.step(
      "its host follows a hub of the type beefy, though its nodes trace no calls",
      async () => {
        relayer = await scene.start(TELLING);
        await beginSessions(scene.devnet, 2, true);
        await untilHostsKnow(scene.devnet, [chain]);
        const { height } = await postTo(scene.devnet, chain);
        await proveHub(scene.devnet);
        await untilHostHas(chain, height);
        await scene.untilHubHas(KIND, await sendOne());
      },
    );
  }));
