/** Two compiled consensus relayers with accounts of their own bring the same proofs of the hub to the same host. */
import assert from "node:assert/strict";
import { waitUntil } from "../devnet/messages.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../devnet/evm/accounts.ts";
import { sectionOf } from "../devnet/relayer_config.ts";
import {
  beginSessions,
  deliveredDuring,
  postTo,
  proveHub,
  TELLING,
  untilHostHas,
  untilHostsKnow,
  untilIdle,
} from "./support/consensus_network.ts";
import { DEADLINE_MS, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** Sessions that pass while both stand still, one race each: a single one, and more than go into one transaction. */
const RACES = [1, 4] as const;

/** How a relayer tells that the other one was faster, or is about to be. */
const NOTICED = [
  "Somebody else brought the hub's consensus first",
  "Somebody else's proof waits in the pool",
];

Deno.test("two relayers tell a host of the hub", (t) =>
  playConsensus(t, { kinds: ["bsc"], hubBlockTimeMs: 200, acceptsProofs: {} }, async (scene) => {
    const { devnet } = scene;
    const { chains } = devnet;
    const chain = scene.chain("bsc");
    const relayers: RelayerProcess[] = [];
    let races = 0;

    /** Both begin at the same moment, with the same news. @returns proofs that were paid for in vain. */
    const race = async (news: () => Promise<void>, isOver: () => Promise<unknown>): Promise<number> => {
      const [first, second] = relayers;
      if (first === undefined || second === undefined) throw new Error("A race takes two");
      const [delivered = []] = await deliveredDuring(chains, async () => {
        await scene.whileStopped(first, () => scene.whileStopped(second, news));
        await isOver();
        await Promise.all(relayers.map((each) => untilIdle(scene, each, chains)));
      });
      races++;
      scene.limit({ vainProofs: races });
      return delivered.flatMap(({ effects }) => effects).filter((effect) => effect === "none").length;
    };

    await scene.step("both work on the same host", async () => {
      scene.limit({ hasCompetitors: true });
      const signer = { [sectionOf(chain.stateMachine)]: { signer: DEVNET_KEYS.relayer2 } };
      relayers.push(await scene.start(TELLING), await scene.start({ ...TELLING, sections: signer }));
    });

    for (const sessions of RACES) {
      await scene.step(
        `both at once bring what ${sessions} sessions make, and pay for one proof too many at most`,
        async () => {
          const vain = await race(
            () => beginSessions(devnet, sessions, true),
            () => untilHostsKnow(devnet, chains),
          );
          assert.ok(vain <= 1, `${vain} proofs were paid for in vain`);
        },
      );
    }

    await scene.step(
      "both at once bring a message's height, until one notices that the other is faster",
      async () => {
        await waitUntil("one of them notices", async () => {
          let posted = 0n;
          const vain = await race(async () => {
            posted = (await postTo(devnet, chain)).height;
            assert.ok(await proveHub(devnet) >= posted);
          }, () => untilHostHas(chain, posted));
          assert.ok(vain <= 1, `${vain} proofs were paid for in vain`);
          return relayers.some(({ text }) => NOTICED.some((noticed) => text.includes(noticed)));
        }, { deadlineMs: DEADLINE_MS });
      },
    );

    await scene.step("when one ends the other goes on", async () => {
      const [first, second] = relayers;
      if (first === undefined || second === undefined) throw new Error("Both have run");
      await scene.kill(first);
      const [delivered] = await deliveredDuring(chains, async () => {
        await beginSessions(devnet, 1, true);
        await untilHostsKnow(devnet, chains);
      });
      assert.deepEqual(delivered?.map(({ sender }) => sender), [
        DEVNET_ACCOUNTS.relayer2.address.toLowerCase(),
      ]);
    });
  }));
