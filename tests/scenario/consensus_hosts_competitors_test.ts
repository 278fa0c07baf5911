/** Two compiled consensus relayers with accounts of their own bring the same proofs of the hub to the same host. */
import assert from "node:assert/strict";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { sectionOf } from "../../devnet/programs/relayer_config.ts";
import { isVain } from "./support/consensus_hosts.ts";
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
import { type ConsensusScene, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** Sessions that pass while both stand still, a race each: one, and more than go into one transaction. */
const SESSIONS = [1, 4] as const;

/** How a relayer tells that it sent its transaction in the same moment as the other one, and paid for it. */
const IN_VAIN: EventCode = "proofs_overtaken.wasted";

/** How it tells that it noticed the other one in time. */
const IN_TIME: ReadonlySet<unknown> = new Set<EventCode>([
  "proofs_overtaken.delivered",
  "proofs_overtaken.pending",
]);

/** Both relayers begin at the same moment, with the same new heights. Their own logs say what was wasted. */
async function race(
  scene: ConsensusScene,
  [first, second]: readonly [RelayerProcess, RelayerProcess],
  startWork: () => Promise<void>,
  isOver: () => Promise<unknown>,
): Promise<void> {
  const { chains } = scene.devnet;
  const both = [first, second];
  const linesOf = (): number =>
    both.flatMap(({ lines }) => lines).filter(({ record }) => record?.event === IN_VAIN).length;
  const before = linesOf();
  const [delivered = []] = await deliveredDuring(chains, async () => {
    await scene.whileStopped(first, () => scene.whileStopped(second, startWork));
    await isOver();
    await Promise.all(both.map((each) => untilIdle(scene, each, chains)));
  });
  const vain = delivered.filter(isVain);
  assert.ok(vain.length <= delivered.length - vain.length, `${vain.length} of ${delivered.length} wasted`);
  assert.equal(linesOf() - before, vain.length);
}

Deno.test("two relayers update a host", (t) =>
  playConsensus(t, { kinds: ["bsc"], hubBlockTimeMs: 200, acceptsProofs: {} }, async (scene) => {
    const { devnet } = scene;
    const { chains } = devnet;
    const chain = scene.chain("bsc");
    let both: readonly [RelayerProcess, RelayerProcess];

    await scene.step("both work on the same host", async () => {
      scene.limit({ hasCompetitors: true, competitors: 1 });
      const signer = { [sectionOf(chain.stateMachine)]: { signer: DEVNET_KEYS.relayer2 } };
      both = [await scene.start(TELLING), await scene.start({ ...TELLING, sections: signer })];
    });

    for (const sessions of SESSIONS) {
      await scene.step(
        `both at once deliver what ${sessions} sessions make, and neither pays twice`,
        () =>
          race(
            scene,
            both,
            () => beginSessions(devnet, sessions, true),
            () => untilHostsKnow(devnet, chains),
          ),
      );
    }

    await scene.step(
      "both at once deliver a message's height, until one notices the other in time",
      async () => {
        await waitUntil("one of them notices", async () => {
          let posted = 0n;
          const startWork = async (): Promise<void> => {
            posted = (await postTo(devnet, chain)).height;
            assert.ok(await proveHub(devnet) >= posted);
          };
          await race(scene, both, startWork, () => untilHostHas(chain, posted));
          return both.some(({ lines }) => lines.some(({ record }) => IN_TIME.has(record?.event)));
        });
      },
    );

    await scene.step("when one ends the other continues", async () => {
      await scene.kill(both[0]);
      const [delivered] = await deliveredDuring(chains, async () => {
        await beginSessions(devnet, 1, true);
        await untilHostsKnow(devnet, chains);
      });
      assert.deepEqual(delivered?.map(({ sender }) => sender), [
        DEVNET_ACCOUNTS.relayer2.address.toLowerCase(),
      ]);
    });
  }));
