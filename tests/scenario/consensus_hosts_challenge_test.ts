/** Both compiled programs on hosts with a challenge period: one brings heights of the hub, the other waits until they have aged. */
import assert from "node:assert/strict";
import type { Devnet, DevnetChain } from "../../devnet/devnet.ts";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { DEVNET_ACCOUNTS, DEVNET_KEYS } from "../../devnet/evm/accounts.ts";
import { findDeliverer } from "../../devnet/evm/host_admin.ts";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { relayerConfig, sectionOf } from "../../devnet/programs/relayer_config.ts";
import { handlerCallsIn, readTransactionsOf } from "./support/consensus_hosts.ts";
import { beginSessions, proveHub, TELLING, untilHostsKnow } from "./support/consensus_network.ts";
import { DEADLINE_MS, playConsensus } from "./support/consensus_scene.ts";
import { assertSpending } from "./support/invariants.ts";
import { type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { assertNothingLeaked, secretly } from "./support/secrets.ts";

/** Age at which messages may be proved against a height. */
const PERIOD_SEC = 5n;

Deno.test("hosts with a challenge period", (t) =>
  playConsensus(t, {
    kinds: ["beacon", "bsc"],
    hubBlockTimeMs: 200,
    acceptsProofs: {},
    evmChallengePeriodSec: PERIOD_SEC,
  }, async (scene) => {
    const { devnet } = scene;
    const [from, to] = [scene.chain("bsc"), scene.chain("beacon")];
    // Both programs bring the hub's heights, and may be equally fast.
    scene.limit({ competitors: 1 });
    await using stack = new AsyncDisposableStack();
    const folder = await Deno.makeTempDir({ prefix: "messaging-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    let messaging: RelayerProcess;
    let after = 0n;

    await scene.step("hosts get heights of the hub as they get them without one", async () => {
      const signer = { signer: DEVNET_KEYS.relayer2 };
      const sections = Object.fromEntries([from, to].map((chain) => [sectionOf(chain.stateMachine), signer]));
      await scene.start({ ...TELLING, sections });
      await beginSessions(devnet, 1, true);
      await untilHostsKnow(devnet, devnet.chains);
    });

    await scene.step("the messaging relayer works on them", async () => {
      await Promise.all([scene.untilHubHas("beacon", 1n), scene.untilHubHas("bsc", 1n)]);
      after = await to.host.reader.getBlockNumber({ cacheTime: 0 });
      const config = relayerConfig(devnet.endpoints, secretly(devnet.endpoints));
      messaging = stack.use(await startRelayer({ config, folder }));
      const hub = devnet.hub.identity.stateMachine;
      for (const leg of [`${from.stateMachine} -> ${hub}`, `${hub} -> ${to.stateMachine}`]) {
        await messaging.waitForLine(
          ({ record }) => record?.event === "leg_started" && record.leg === leg,
          { deadlineMs: DEADLINE_MS },
        );
      }
    });

    await scene.step(
      "a message waits for the age of its height, and costs no failed transaction",
      async () => {
        const [message] = await sendPing(devnet, { from: from.stateMachine, to: to.stateMachine });
        if (message === undefined) throw new Error("Nothing was sent");
        await untilOnHub(devnet, message);
        await proveHub(devnet);
        await waitUntil(
          "the message is delivered",
          async () => await findDeliverer(to.host, message.commitment) !== undefined,
          { deadlineMs: DEADLINE_MS },
        );
        assert.equal(await messaging.terminate(DEADLINE_MS), 0);
        messaging.assertNoErrors();
        await assertNothingLeaked([messaging]);
        await assertSpending(devnet, messaging);
        const ages = await readAges(to, after);
        assert.ok(ages.length === 1 && ages.every((ageSec) => ageSec >= PERIOD_SEC), `${ages} s`);
      },
    );
  }));

async function untilOnHub({ hub }: Devnet, { commitment }: SentMessage): Promise<void> {
  await waitUntil("the message is on the hub", () => hub.findReceipt(commitment) !== undefined, {
    deadlineMs: DEADLINE_MS,
  });
}

/**
 * Seconds for which the hub's heights had been known when messages were proved against them.
 * @throws {assert.AssertionError} when a transaction failed.
 */
async function readAges({ host }: DevnetChain, after: bigint): Promise<readonly bigint[]> {
  const sent = await readTransactionsOf(host, DEVNET_ACCOUNTS.relayer.address, after);
  assert.deepEqual(sent.filter(({ isReverted }) => isReverted), []);
  const ages = await Promise.all(sent.map(async ({ hash, height }) => {
    const [{ input }, { timestamp }] = await Promise.all([
      host.reader.getTransaction({ hash }),
      host.reader.getBlock({ blockNumber: height }),
    ]);
    const proved = handlerCallsIn(input).flatMap((call) =>
      call.functionName === "handlePostRequests" ? [call.args[1].proof.height] : []
    );
    return await Promise.all(proved.map(async (hubHeight) => {
      const storedSec = await host.reader.readContract({
        address: host.addresses.host,
        abi: HOST_ABI,
        functionName: "stateMachineCommitmentUpdateTime",
        args: [hubHeight],
      });
      return timestamp - storedSec;
    }));
  }));
  return ages.flat();
}
