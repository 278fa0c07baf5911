/**
 * The compiled consensus relayer on chains with a finality of their own, side by side: a beacon chain, one of BSC's type
 * and Polygon. Changing signers, and changes that were missed.
 */
import assert from "node:assert/strict";
import type { BlockVoting } from "../../devnet/evm/bsc_validators.ts";
import { resultHttp } from "../../devnet/hub/json_rpc_client.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerLine, RelayerProcess } from "./support/relayer_process.ts";

const KINDS = ["beacon", "bsc", "polygon"] as const;
type Kind = typeof KINDS[number];

/** Changes of who signs that pass while nobody relays. */
const MISSED = 3;

/** Blocks of BSC, and of Heimdall, until who signs changes: a few looks of the relayer. */
const EPOCH = 20n;

/** Not every block of BSC has the votes that the hub wants. */
function voting(block: bigint): BlockVoting | undefined {
  if (block % 7n === 0n) return { voters: 0 };
  if (block % 11n === 0n) return { voters: 3 };
  return block % 13n === 0n ? { distance: 2n } : undefined;
}

/** Lines about an accepted update of a chain whose summary fits. */
function accepted(scene: ConsensusScene, kind: Kind, summary: RegExp): (line: RelayerLine) => boolean {
  const { stateMachine } = scene.chain(kind);
  return ({ record }) =>
    record?.event === "update_accepted" && record.chain === stateMachine &&
    summary.test(String(record.summary));
}

Deno.test("consensus of chains with a finality of their own", (t) =>
  playConsensus(t, {
    kinds: KINDS,
    proven: { bsc: { epochLength: EPOCH, voting }, heimdall: { blocksPerSet: EPOCH } },
  }, async (scene) => {
    const { beacon } = scene.chain("beacon").proven;
    const { heimdall } = scene.chain("polygon").proven;
    assert.ok(beacon !== undefined && heimdall !== undefined);
    const bsc = scene.chain("bsc");
    let relayer: RelayerProcess;
    const mine = (blocks: bigint): Promise<unknown> =>
      resultHttp(bsc.node.rpcUrl, "anvil_mine", [`0x${blocks.toString(16)}`]);
    /** Waits until so many more sets of Heimdall's validators than now have signed. */
    const untilSetsChanged = async (sets: number): Promise<void> => {
      const wanted = (heimdall.chain.head / EPOCH + BigInt(sets)) * EPOCH + 1n;
      await waitUntil(`Heimdall has block ${wanted}`, () => heimdall.chain.head >= wanted);
    };
    await scene.step("heights on the hub grow with the finality of each chain", async () => {
      relayer = await scene.start();
      await scene.untilGrown(KINDS, 2);
      assert.ok(scene.hubHeight("beacon") <= BigInt(beacon.finalized.blockNumber));
    });

    await scene.step("who signs is delivered when it changes", async () => {
      const since = scene.now(relayer);
      const next = beacon.period + 1;
      await beacon.advanceToPeriod(next);
      await mine(EPOCH);
      await untilSetsChanged(2);
      const committee = accepted(scene, "beacon", new RegExp(`committee of period ${next + 1}`));
      await relayer.waitForLine(committee, { since });
      await relayer.waitForLine(accepted(scene, "bsc", /validators of epoch/), { since });
      await scene.untilHubHas("bsc", await scene.head("bsc") - 4n);
      await scene.untilHubHas("polygon", await scene.head("polygon"));
    });

    await scene.step("after a crash all changes that were missed are delivered in order", async () => {
      await scene.kill(relayer);
      await untilSetsChanged(MISSED);
      const period = beacon.period + 1;
      await beacon.advanceToPeriod(beacon.period + MISSED);
      await mine(EPOCH * BigInt(MISSED));
      const heads = { bsc: await scene.head("bsc"), polygon: await scene.head("polygon") };
      relayer = await scene.start();
      for (let missed = period; missed <= beacon.period; missed++) {
        await relayer.waitForLine(
          accepted(scene, "beacon", new RegExp(`committee of period ${missed + 1}`)),
        );
      }
      // Each epoch of BSC takes two updates; those of one chain travel in one extrinsic.
      for (const [kind, least] of [["bsc", 2 * MISSED], ["polygon", MISSED + 1]] as const) {
        const line = await relayer.waitForLine(accepted(scene, kind, /./));
        assert.ok(Number(line.record?.updates) >= least, line.text);
        await scene.untilHubHas(kind, heads[kind] - 4n);
      }
    });

    await scene.step(
      "a client with the state that the program prints is such that the hub moves on from",
      async () => {
        await scene.stop(relayer);
        await scene.renewClient("polygon");
        relayer = await scene.start();
        await scene.untilGrown(KINDS);
      },
    );
  }));
