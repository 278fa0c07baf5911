/**
 * The compiled consensus relayer and hosts that take nothing: one is frozen and thawed again, one's client has expired for
 * good. What the relayer may do about them is to say so and to look now and then.
 */
import assert from "node:assert/strict";
import type { EventCode } from "../../src/core/telemetry/log.ts";
import { freezeHost, readHubConsensus, updateHostParams } from "../../devnet/evm/host_admin.ts";
import { beginSessions, deliveredDuring, TELLING, untilHostsKnow } from "./support/consensus_network.ts";
import { playConsensus } from "./support/consensus_scene.ts";
import type { RelayerLine, RelayerProcess } from "./support/relayer_process.ts";
import { startRpcProxy } from "./support/rpc_proxy.ts";

/** A relayer looks at hosts that take nothing once a minute, with a request or two. */
const POLLED_EVERY_MS = 60_000;
const MAX_REQUESTS_PER_POLL = 2;

/** Most requests with calls that the checks make in a round; they come at the start and every ten minutes. */
const MAX_CHECK_REQUESTS = 8;

/** The shortest period that a host allows its client to go without updates. */
const DAY_SEC = 86_400;

Deno.test("hosts that take nothing", (t) =>
  playConsensus(t, {
    kinds: ["beacon", "bsc"],
    blockTimeSec: "automine",
    hubBlockTimeMs: 200,
    acceptsProofs: {},
  }, async (scene) => {
    const { devnet } = scene;
    scene.limit({ withoutUpdates: devnet.chains.map(({ stateMachine }) => stateMachine) });
    const [frozen, expiring] = [scene.chain("beacon"), scene.chain("bsc")];
    await using proxy = await startRpcProxy({ upstream: frozen.rpcUrl });
    let relayer: RelayerProcess;
    let watchedSinceMs = 0;

    const saidOf = (event: EventCode, stateMachine: string) => ({ record }: RelayerLine): boolean =>
      record?.event === event && record.chain === stateMachine;
    /** Looks at the frozen host: nothing else here, but for the checks, calls contracts of its chain. */
    const looks = (): number =>
      proxy.requests.filter(({ calls }) => calls.some(({ method }) => method === "eth_call")).length;

    await scene.step("a frozen host is named, with its chain, and gets nothing; others do", async () => {
      await freezeHost(frozen.host, "incoming");
      const delivered = await deliveredDuring(devnet.chains, async () => {
        await beginSessions(devnet, 1, true);
        relayer = await scene.start({ ...TELLING, rpcUrls: { [frozen.stateMachine]: [proxy.httpUrl] } });
        const said = await relayer.waitForLine(saidOf("host_unusable.frozen", frozen.stateMachine));
        assert.equal(said.level, "warn");
        proxy.clear();
        watchedSinceMs = performance.now();
        await untilHostsKnow(devnet, [expiring]);
      });
      assert.deepEqual(delivered.map((all) => all.length), devnet.chains.map((c) => c === frozen ? 0 : 1));
    });

    await scene.step("an expired client is named once, and gets nothing", async () => {
      scene.expect(saidOf("host_unusable.expired", expiring.stateMachine));
      await updateHostParams(expiring.host, { unStakingPeriod: BigInt(DAY_SEC) });
      await expiring.host.node.increaseTime({ seconds: DAY_SEC });
      await devnet.mine(expiring, 1);
      const before = await readHubConsensus(expiring.host);
      const [delivered] = await deliveredDuring([expiring], async () => {
        await beginSessions(devnet, 1, true);
        await relayer.waitForLine(saidOf("host_unusable.expired", expiring.stateMachine));
      });
      assert.deepEqual(delivered, []);
      assert.deepEqual(await readHubConsensus(expiring.host), before);
    });

    await scene.step(
      "a host that is thawed continues by itself, and was polled once a minute",
      async () => {
        // None, unless this machine was busy for more than a minute.
        const minutes = Math.ceil((performance.now() - watchedSinceMs) / POLLED_EVERY_MS);
        const most = MAX_REQUESTS_PER_POLL * minutes + MAX_CHECK_REQUESTS * Math.ceil(minutes / 10);
        assert.ok(looks() <= most, `${looks()} requests in ${minutes} minutes`);
        await freezeHost(frozen.host, "none");
        await relayer.waitForLine("host_resumed");
        await untilHostsKnow(devnet, [frozen]);
        const said = [["host_unusable.frozen", frozen], ["host_unusable.expired", expiring]] as const;
        for (const [event, { stateMachine }] of said) {
          assert.equal(relayer.lines.filter(saidOf(event, stateMachine)).length, 1);
        }
      },
    );
  }));
