/** The compiled consensus relayer on a chain with fast finality: changing validators, missed epochs, votes, lies. */
import assert from "node:assert/strict";
import { toHex } from "../../src/core/encoding/bytes.ts";
import { hashBlockHeader, parseBlockHeader } from "../../src/core/evm/block_header.ts";
import { lieAbout } from "../consensus/rollup/lies.ts";
import type { BlockVoting } from "../../devnet/evm/bsc_validators.ts";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import type { AlterAnswer } from "../support/altered_answers.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import { startLyingNode } from "./support/lying_node.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** Blocks of an epoch: a few looks of the relayer. */
const EPOCH = 20n;

/** Epochs that pass while nobody relays; each takes two updates. */
const MISSED_EPOCHS = 3n;

/** Not every block has the votes that the hub wants. */
function voting(block: bigint): BlockVoting | undefined {
  if (block % 7n === 0n) return { voters: 0 };
  if (block % 11n === 0n) return { voters: 3 };
  return block % 13n === 0n ? { distance: 2n } : undefined;
}

/** Headers with another signature in the votes, and the hash that they then have: only votes give it away. */
const forgedVotes: AlterAnswer = (method, result) => {
  if (method !== "eth_getBlockByNumber" || typeof result !== "object" || result === null) return result;
  const header = parseBlockHeader(result);
  const extraData = header.extraData.slice();
  // The signature ends before the vote data: 4 numbers and hashes, and the seal.
  const at = extraData.length - 65 - 100;
  const byte = extraData[at];
  if (byte === undefined) return result;
  extraData[at] = byte ^ 1;
  return { ...result, extraData: toHex(extraData), hash: hashBlockHeader({ ...header, extraData }) };
};

/** One lie of each kind: in a header that then has not its hash, in the hash itself, in the votes. */
const LIES: readonly (readonly [what: string, lie: AlterAnswer, code: string])[] = [
  ["the state root of a header", lieAbout("eth_getBlockByNumber", "stateRoot"), "malformed"],
  ["the time of a header that votes name", lieAbout("eth_getBlockByHash", "timestamp"), "malformed"],
  ["votes", forgedVotes, "(signature)"],
];

async function mine(scene: ConsensusScene, blocks: bigint): Promise<void> {
  await resultHttp(scene.chain("bsc").node.rpcUrl, "anvil_mine", [`0x${blocks.toString(16)}`]);
}

Deno.test("consensus of a BSC-type chain", (t) =>
  playConsensus(t, { kinds: ["bsc"], proven: { bsc: { epochLength: EPOCH, voting } } }, async (scene) => {
    const chain = scene.chain("bsc");
    await using liar = startLyingNode(chain.rpcUrl);
    const rpcUrls = { [chain.stateMachine]: [liar.httpUrl] };
    let relayer: RelayerProcess;

    await scene.step("heights on the hub grow in spite of blocks without enough votes", async () => {
      relayer = await scene.start();
      await scene.untilGrown(["bsc"], 2);
    });

    await scene.step(
      "new validators are announced, signed for by the old ones, and put into force",
      async () => {
        const since = scene.now(relayer);
        await mine(scene, EPOCH);
        await relayer.waitForLine(
          ({ record }) =>
            record?.event === "update_accepted" && /validators of epoch/.test(String(record.summary)),
          { since },
        );
        await scene.untilHubHas("bsc", (await scene.head("bsc")) - 4n);
      },
    );

    await scene.step("blocks that the head loses are no harm", async () => {
      for (let times = 0; times < 2; times++) {
        await resultHttp(chain.node.rpcUrl, "anvil_reorg", [2, []]);
        await scene.untilGrown(["bsc"]);
      }
    });

    await scene.step("after a crash all epochs that were missed are delivered in one extrinsic", async () => {
      await scene.kill(relayer);
      await mine(scene, EPOCH * MISSED_EPOCHS);
      const head = await scene.head("bsc");
      relayer = await scene.start({ rpcUrls });
      const line = await relayer.waitForLine("update_accepted");
      assert.ok(Number(line.record?.updates) >= 2 * Number(MISSED_EPOCHS), line.text);
      await scene.untilHubHas("bsc", head - 4n);
    });

    for (const [what, lie, code] of LIES) {
      await scene.step(`a node that lies about ${what} is named, and nothing is submitted`, async () => {
        scene.expect(({ record, text }) =>
          record?.event === "endpoint_data_invalid.contradiction" && text.includes(liar.host)
        );
        const since = scene.now(relayer);
        await scene.whileStopped(relayer, () => {
          liar.change(lie);
          return Promise.resolve();
        });
        await scene.untilFailed(relayer, 1, since);
        const height = scene.hubHeight("bsc");
        await scene.untilFailed(relayer, 2, since);
        assert.equal(scene.hubHeight("bsc"), height);
        assert.ok(liar.lies > 0);
        // Equal warnings are written once in five minutes.
        const named = relayer.lines.filter(({ level, text }) =>
          (level === "warn" || level === "error") && text.includes(liar.host) && text.includes(code)
        );
        assert.equal(named.length, 1);
        liar.change(undefined);
        await scene.untilGrown(["bsc"]);
      });
    }

    await scene.step(
      "a client with the state that the program prints is one that the hub moves on from",
      async () => {
        await scene.stop(relayer);
        await scene.renewClient("bsc");
        relayer = await scene.start();
        await scene.untilGrown(["bsc"]);
      },
    );
  }));
