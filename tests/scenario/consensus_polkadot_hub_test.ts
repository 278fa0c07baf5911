/** The compiled consensus relayer on Polkadot Hub: heads when its host has traffic; lies, what governance lacks; proofs of the hub. */
import assert from "node:assert/strict";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import { startRelayChain } from "../../devnet/relay/relay_chain.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import {
  consensusCommands,
  type ConsensusScene,
  playConsensus,
  proveByHand,
} from "./support/consensus_scene.ts";
import {
  beginSessions,
  postTo,
  proveHub,
  TELLING,
  untilHostHas,
  untilHostsKnow,
} from "./support/consensus_network.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

const KIND = "polkadot_hub";

/** Sends a message from the chain; the hub has to learn of its block. @returns that block */
async function send({ devnet, ...scene }: Pick<ConsensusScene, "devnet" | "chain">): Promise<bigint> {
  const { stateMachine: from } = scene.chain(KIND);
  const [message] = await sendPing(devnet, { from, to: "hub" });
  assert.ok(message !== undefined);
  return message.height;
}

Deno.test("consensus of Polkadot Hub", (t) =>
  playConsensus(t, { kinds: [KIND] }, async (scene) => {
    const { relay, hub } = scene.devnet;
    const { stateMachine, node } = scene.chain(KIND);
    const key = `[evm_${stateMachine.slice("EVM-".length)}.host].relay_rpc_ws`;
    const sendOne = (): Promise<bigint> => send({ devnet: scene.devnet, chain: (kind) => scene.chain(kind) });
    const command = consensusCommands(scene, {});
    let relayer: RelayerProcess;

    /** Waits until so many more looks have found a newer head that nobody needs. */
    const untilQuiet = async (looks: number): Promise<void> => {
      const since = scene.now(relayer);
      const isQuiet = (text: unknown): boolean => String(text).includes("nothing was sent or received since");
      await waitUntil(`${looks} looks find nothing worth it`, () => {
        const found = relayer.lines.slice(since).filter(({ record }) => isQuiet(record?.reason));
        return found.length >= looks;
      });
    };

    /** Starts with another way to the relay chain, which must be named; nothing may be submitted. */
    const playLie = async (says: string, start: () => Promise<RelayerProcess>): Promise<void> => {
      scene.expect(({ text }) => text.includes(says));
      const before = scene.hubHeight(KIND);
      await sendOne();
      relayer = await start();
      await relayer.waitForLine(({ text }) => text.includes(says));
      await scene.untilFailed(relayer, 2, 0);
      assert.equal(scene.hubHeight(KIND), before);
    };

    await scene.step("a head is proved at once, and newer ones when messages were sent", async () => {
      relayer = await scene.start();
      await scene.untilGrown([KIND]);
      for (let times = 0; times < 2; times++) await scene.untilHubHas(KIND, await sendOne());
    });

    await scene.step("heads without messages are left out", async () => {
      await untilQuiet(1);
      const height = scene.hubHeight(KIND);
      await untilQuiet(3);
      assert.equal(scene.hubHeight(KIND), height);
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

    await scene.step("a relay chain node that lies is named, and nothing is submitted", async () => {
      await scene.stop(relayer);
      relay.alter = ({ method }, result) =>
        method === "state_getReadProof"
          ? { ...Object(result), proof: Object(result).proof.slice(1) }
          : result;
      await playLie("its proof of the head does not verify", () => scene.start());
      relay.alter = undefined;
      await scene.untilGrown([KIND]);
    });

    await scene.step("another relay chain is named with the key of its node", async () => {
      await scene.stop(relayer);
      await using other = await startRelayChain({ blockTimeMs: "manual", chainName: "Another" });
      other.produceBlocks(relay.best.number + 40);
      await playLie(`${key} is another chain`, () => scene.start({ relayUrl: other.wsUrl }));
      await scene.stop(relayer);
    });

    await scene.step(
      "by hand, one head is proved; a client that is there has no state to print",
      async () => {
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
      "the check names what its nodes serve, and the slot duration that is missing",
      async () => {
        const rows = async (): Promise<string> => {
          const { stdout } = await command("check");
          return stdout;
        };
        assert.match(await rows(), /proves the head of parachain 1000 in block \d+/);
        await hub.governance.setSlotDuration(1000, undefined);
        assert.match(await rows(), /has no slot duration of parachain 1000 .*set_slot_duration/s);
      },
    );
  }));

Deno.test("Polkadot Hub's host follows a hub of the type beefy, though its nodes trace no calls", (t) =>
  playConsensus(t, { kinds: [KIND], acceptsProofs: {} }, async (scene) => {
    const { devnet } = scene;
    const chain = scene.chain(KIND);
    const relayer = await scene.start(TELLING);

    await scene.step("sessions and the heights that messages wait for are delivered", async () => {
      await beginSessions(devnet, 2, true);
      await untilHostsKnow(devnet, [chain]);
      const { height } = await postTo(devnet, chain);
      await proveHub(devnet);
      await untilHostHas(chain, height);
    });

    await scene.step("the chain is proved to the hub beside that", async () => {
      await scene.untilHubHas(KIND, await send({ devnet, chain: () => chain }));
      assert.ok(relayer.isRunning);
    });
  }));
