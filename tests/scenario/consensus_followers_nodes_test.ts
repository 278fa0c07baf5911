/**
 * The compiled consensus relayer tells a Substrate chain of a hub that GRANDPA makes final, whatever the relay chain's node
 * lacks: usable votes, unsafe methods, old states, justifications, a connection, the right chain.
 */
import assert from "node:assert/strict";
import { UNSAFE_METHODS } from "../../devnet/profiles/substrate_profiles.ts";
import type { FaultHook } from "../../devnet/hub/rpc/json_rpc.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { type RelayChainNode, startRelayChain } from "../../devnet/relay/relay_chain.ts";
import { DEADLINE_MS, playConsensus } from "./support/consensus_scene.ts";
import type { RelayerProcess } from "./support/relayer_process.ts";
import { HubFollower } from "./support/follower_checks.ts";

const CHAIN = "SUBSTRATE-told";

/** The node of the relay chain keeps the votes of every eighth block. */
const PERIOD = 8;

/** What nodes refuse that serve the public. */
const UNSAFE = new Set(UNSAFE_METHODS);

/** As a node that was started without `--rpc-methods=unsafe`; the tests ask over HTTP and get everything. */
const denyUnsafe: FaultHook = ({ transport, method }) =>
  transport === "ws" && UNSAFE.has(method)
    ? { kind: "error", code: -32601, message: "RPC call is unsafe to be called externally" }
    : undefined;

/** As a node that keeps the states of so many blocks. */
function pruning(relay: RelayChainNode, blocks: number): FaultHook {
  return ({ method, params }) => {
    if (!method.startsWith("state_")) return undefined;
    const block = params.at(-1);
    const { number } = relay.best;
    const isOld = Array.from({ length: number - blocks }, (_, at) => at).some((old) =>
      relay.hash(old) === block
    );
    if (!isOld) return undefined;
    const message = `Client error: UnknownBlock: State already discarded for ${block}`;
    return { kind: "error", code: 4003, message };
  };
}

Deno.test("a Substrate chain follows the hub by nodes that lack something", async (t) => {
  let isSplit = (_block: number): boolean => false;
  await playConsensus(t, {
    kinds: [],
    substrateChains: [{ stateMachine: CHAIN, blockTimeMs: 400 }],
    relay: { grandpaPeriod: PERIOD, splitVotes: (block) => isSplit(block) },
  }, async (scene) => {
    const { devnet } = scene;
    const { relay, hub } = devnet;
    const told = new HubFollower(scene, CHAIN);
    const changes = { hubType: "grandpa" } as const;
    let relayer: RelayerProcess;

    await scene.step("votes for different blocks are not sent; those of another block are", async () => {
      relayer = await scene.start(changes);
      await told.untilKnows(1n);
      const since = scene.now(relayer);
      await scene.whileStopped(relayer, () => {
        isSplit = () => true;
        return Promise.resolve();
      });
      await relayer.waitForLine(told.says("the votes are for different blocks, which the verifier refuses"), {
        since,
        deadlineMs: DEADLINE_MS,
      });
      const { height } = await told.fetchFinality();
      const refusedAt = scene.now(relayer);
      // Whatever is asked for after this was made by now: only later blocks of the period can be proved.
      isSplit = (block) => block % PERIOD !== 0;
      await told.untilGrown();
      const now = await told.fetchFinality();
      assert.equal(now.height % PERIOD, 0);
      assert.ok(now.height > height);
      assert.ok(
        relayer.lines.slice(since, refusedAt).every(({ level }) => level === "debug" || level === "info"),
      );
      isSplit = () => false;
      await told.untilGrown();
    });

    await scene.step(
      "where the relay chain, the hub and the chain deny unsafe methods nothing is missed",
      async () => {
        await scene.kill(relayer);
        for (const node of [relay, hub, told.chain.node]) node.fault = denyUnsafe;
        relay.rotate();
        relayer = await scene.start(changes);
        await told.untilCurrent();
        relay.rotate();
        await told.untilCurrent();
        assert.deepEqual(relayer.lines.filter(({ level }) => level === "warn").map(({ text }) => text), []);
        for (const node of [relay, hub, told.chain.node]) node.fault = undefined;
      },
    );

    await scene.step(
      "sets whose states the relay chain's node has pruned are passed anyway",
      async () => {
        await scene.kill(relayer);
        for (let session = 0; session < 2; session++) {
          relay.rotate();
          relay.produceBlocks(40);
        }
        relay.fault = pruning(relay, 32);
        relayer = await scene.start(changes);
        await told.untilCurrent();
        await relayer.waitForLine(told.says("without heads, which the node has pruned"));
        relay.fault = undefined;
      },
    );

    await scene.step(
      "a node without the votes of a change of the set is named, until it has them",
      async () => {
        const change = relay.rotate().hash;
        let asked = 0;
        const since = scene.now(relayer);
        await scene.whileStopped(relayer, () => {
          relay.alter = ({ method, params }, result) => {
            if (method !== "chain_getBlock" || params[0] !== change) return result;
            asked++;
            return { ...Object(result), justifications: null };
          };
          relay.produceBlocks(2);
          return Promise.resolve();
        });
        await relayer.waitForLine(told.says("the node keeps no justification for"), {
          since,
          deadlineMs: DEADLINE_MS,
        });
        const { setId } = await told.fetchFinality();
        await waitUntil("it has asked again", () => asked > 1, { deadlineMs: DEADLINE_MS });
        assert.equal((await told.fetchFinality()).setId, setId);
        relay.alter = undefined;
        await told.untilCurrent();
      },
    );

    await scene.step("a connection that is lost while an update is made is opened again", async () => {
      const since = scene.now(relayer);
      let lost = 0;
      relay.fault = ({ method }) =>
        method === "state_getReadProof" && lost++ < 2 ? { kind: "drop" } : undefined;
      await scene.untilFailed(relayer, 1, since);
      await told.untilGrown();
      assert.ok(lost > 2);
      relay.fault = undefined;
      await relay.stop();
      await relay.start();
      await told.untilGrown(2);
    });

    await scene.step("another relay chain is named, and nothing of it is sent", async () => {
      await scene.stop(relayer);
      await using other = await startRelayChain({ blockTimeMs: "manual", chainName: "Another" });
      const before = told.now;
      const isAnother = told.says("[hub.grandpa].rpc is another chain");
      scene.expect(isAnother);
      relayer = await scene.start({ ...changes, relayUrl: other.wsUrl });
      // As long as it is shorter it might be the same.
      await relayer.waitForLine(told.says("the node is behind, or"), { deadlineMs: DEADLINE_MS });
      other.produceBlocks(relay.best.number + 20);
      await relayer.waitForLine((line) => line.level === "error" && isAnother(line), {
        deadlineMs: DEADLINE_MS,
      });
      await scene.untilFailed(relayer, 2, 0);
      assert.deepEqual(await told.updatesSince(before), []);
      await scene.stop(relayer);
      relayer = await scene.start(changes);
      await told.untilGrown();
    });
  });
});
