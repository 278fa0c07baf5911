/** The compiled consensus relayer on nodes that offer no unsafe methods, as public ones do. */
import assert from "node:assert/strict";
import type { FaultHook } from "../../devnet/hub/rpc/json_rpc.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import {
  beginSessions,
  deliveredDuring,
  postTo,
  TELLING,
  untilHostHas,
  untilHostsKnow,
  untilIdle,
} from "./support/consensus_network.ts";
import { playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";

/** How often a node refused methods. */
interface Denial {
  readonly hook: FaultHook;
  readonly refused: ReadonlyMap<string, number>;
}

/** Refuses methods as nodes do that are called from outside. */
function denying(...methods: readonly string[]): Denial {
  const refused = new Map<string, number>();
  const hook: FaultHook = ({ method }) => {
    if (!methods.includes(method)) return undefined;
    refused.set(method, (refused.get(method) ?? 0) + 1);
    return { kind: "error", code: -32601, message: "RPC call is unsafe to be called externally" };
  };
  return { hook, refused };
}

/** What the hub's node does not offer: its offchain database, and looks back over many blocks. */
const HUB_METHODS = ["offchain_localStorageGet", "state_queryStorage"] as const;

/** The same of the relay chain's node, and what gateways in front of it deny. */
const RELAY_METHODS = ["state_queryStorage", "state_queryStorageAt"] as const;

/** Looks for which a relayer is watched while it can do nothing. */
const WATCHED_LOOKS = 3;

Deno.test("nodes without unsafe methods", (t) =>
  playConsensus(t, {
    kinds: ["bsc"],
    blockTimeSec: "automine",
    hubBlockTimeMs: 200,
    acceptsProofs: {},
  }, async (scene) => {
    const { devnet } = scene;
    const { chains } = devnet;
    const chain = scene.chain("bsc");
    scene.limit({ withoutUpdates: [chain.stateMachine] });
    let relayer: RelayerProcess;

    await scene.step("the operator is told once which node is wanted, and nothing is sent", async () => {
      const hub = denying(...HUB_METHODS);
      devnet.hub.fault = hub.hook;
      await beginSessions(devnet, 2, true);
      const [delivered] = await deliveredDuring(chains, async () => {
        relayer = await scene.start(TELLING);
        const told = await relayer.waitForLine("proofs_unavailable.withheld");
        assert.equal(told.level, "warn");
        assert.equal(told.record?.chain, chain.stateMachine);
        for (const named of ["--rpc-methods=unsafe", "--enable-offchain-indexing=true", `127.0.0.1`]) {
          assert.ok(told.text.includes(named), told.text);
        }
        const asked = (): number => hub.refused.get("offchain_localStorageGet") ?? 0;
        const [before, since] = [asked(), scene.now(relayer)];
        const pauses = (): readonly number[] =>
          relayer.lines.slice(since).filter(({ record }) => record?.event === "poll_finished")
            .map(({ record }) => Number(record?.nextInMs));
        // Two proofs are wanted, and both are asked for in a look, which may not have ended when it asks.
        await waitUntil(
          "the node is asked again",
          () => asked() >= before + 2 * WATCHED_LOOKS && pauses().length >= WATCHED_LOOKS,
        );
        assert.ok(pauses().every((pauseMs) => pauseMs >= 1_000), `${pauses()}`);
      });
      assert.deepEqual(delivered, []);
      const told = relayer.lines.filter(({ level }) => level === "warn" || level === "error");
      assert.equal(told.length, 1, told.map(({ text }) => text).join("\n"));
    });

    await scene.step("once the node offers them the host follows, without a restart", async () => {
      devnet.hub.fault = undefined;
      await untilHostsKnow(devnet, chains);
    });

    await scene.step("with a prover section the relayer makes the proofs that nodes withhold", async () => {
      await scene.kill(relayer);
      devnet.hub.fault = denying(...HUB_METHODS).hook;
      const relay = denying(...RELAY_METHODS);
      devnet.relay.fault = relay.hook;
      const [delivered] = await deliveredDuring(chains, async () => {
        await beginSessions(devnet, 2, true);
        relayer = await scene.start({ ...TELLING, makesProofs: true });
        await untilHostsKnow(devnet, chains);
        await untilHostHas(chain, (await postTo(devnet, chain)).height);
        await untilIdle(scene, relayer, chains);
      });
      assert.deepEqual(delivered?.map(({ effects }) => effects), [["rotation", "rotation"], ["height"]]);
      assert.equal(relay.refused.get("state_queryStorageAt"), 1);
      const told = relayer.lines.filter(({ level }) => level === "warn" || level === "error");
      assert.deepEqual(told.map(({ text }) => text), []);
      devnet.hub.fault = undefined;
      devnet.relay.fault = undefined;
    });
  }));
