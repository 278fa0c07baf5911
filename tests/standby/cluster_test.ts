/** Two machines with cables that are pulled, and three real nodes of etcd, one of them on each machine. */
import assert from "node:assert/strict";
import type { Devnet } from "../../devnet/devnet.ts";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import { playSceneOn, startSceneDevnet } from "../scenario/support/scene.ts";
import { buildLitestream } from "./litestream.ts";
import { say } from "../support/notes.ts";
import { Cluster } from "./cluster.ts";
import { Link, requireTools } from "./etcd.ts";
import { LEASE_SECONDS, lineAt, Machines, SCRIPT, seconds, TAKEOVER_WITHIN_MS } from "./machines.ts";

/** Two that relay, and one that is there for the majority alone. */
const NODES = 3;

const isRoot = Deno.uid() === 0;
if (!isRoot) say("\n!!! NOT TESTED: three nodes of etcd and pulled cables, which need root\n");

Deno.test({
  name: "standby: three nodes of etcd; what is cut off stops before the other machine begins",
  ignore: !isRoot,
  fn: async (t) => {
    await requireTools({
      etcd: "apt install etcd-server",
      etcdctl: "apt install etcd-client",
      ip: "apt install iproute2",
    });
    const litestream = await buildLitestream();
    const folder = await Deno.makeTempDir({ prefix: "cluster-" });
    try {
      await using cluster = await Cluster.create(folder, NODES);
      await cluster.startNodes();
      await using devnet = await startSceneDevnet();
      const play = (work: (pair: Machines, ways: Ways) => Promise<void>): Promise<void> =>
        playSceneOn(devnet, async (scene) => {
          using ways = new Ways(cluster, devnet);
          const plans = await Promise.all([0, 1].map(async (index) => ({
            etcd: cluster.endpoints,
            executable: await cluster.programOn(index, SCRIPT),
            changes: ways.changesOf(index),
          })));
          using pair = new Machines(scene, litestream, plans);
          await work(pair, ways);
        });

      await t.step(
        "one of three nodes is killed, that of the machine that relays: nothing happens",
        () =>
          play(async (pair) => {
            const [first, second] = await pair.startBoth();
            const [node] = cluster.nodes;
            await node?.kill();
            const killedMs = Date.now();
            const sent = await pair.send();
            await pair.scene.untilDelivered(sent);
            await waitUntil(
              "a lease that is not renewed would have ended",
              () => Date.now() - killedMs > LEASE_SECONDS * 1_000,
            );
            assert.ok(first.isRunning, first.tail());
            assert.equal(lineAt(second, "program_started"), undefined);
            node?.spawn();
            await cluster.untilWhole();
            await pair.finish(sent, first, 0);
          }),
      );

      await t.step(
        "the machine that relays is cut off from the majority, with its node, and still reaches the chains: " +
          "it stops within the lease, before the other begins",
        () =>
          play(async (pair, ways) => {
            const [first, second] = await pair.startBoth();
            const early = await pair.send();
            await first.waitForLine("batch_sent");
            await cluster.pull(0, "cluster");
            const cutMs = Date.now();
            const late = await pair.send();
            const { atMs } = await second.waitForLine("program_started");
            assert.ok(lineAt(first, "fence_gone") !== undefined, first.tail());
            const lastMs = ways.lastSentMs(0);
            assert.ok(lastMs > cutMs, "it relayed on for a while");
            assert.ok(lastMs < cutMs + LEASE_SECONDS * 1_000 && lastMs < atMs);
            assert.ok(atMs - cutMs < TAKEOVER_WITHIN_MS);
            say(
              `standby: cut off from the majority, sent its last byte to a chain after ${
                seconds(lastMs - cutMs)
              } s, taken over after ${seconds(atMs - cutMs)} s`,
            );
            await pair.keepLost(first.dbPath);
            await cluster.plug(0, "cluster");
            await cluster.untilWhole();
            // Only then etcdctl hears that its lock is gone.
            await first.exitCode();
            await pair.finish([...early, ...late], second);
            assert.equal(ways.lastSentMs(0), lastMs, "it sends nothing more");
          }),
      );

      await t.step(
        "all cables of the machine that relays are pulled, and plugged in when the other relays",
        () =>
          play(async (pair) => {
            const [first, second] = await pair.startBoth();
            const early = await pair.send();
            await first.waitForLine("batch_sent");
            await Promise.all([cluster.pull(0, "cluster"), cluster.pull(0, "chains")]);
            const cutMs = Date.now();
            const late = await pair.send();
            const { atMs } = await second.waitForLine("program_started");
            assert.ok(lineAt(first, "fence_gone") !== undefined, first.tail());
            await Promise.all([cluster.plug(0, "cluster"), cluster.plug(0, "chains")]);
            await cluster.untilWhole();
            await first.exitCode();
            say(`standby: all cables pulled, taken over after ${seconds(atMs - cutMs)} s`);
            assert.ok(atMs - cutMs < TAKEOVER_WITHIN_MS);
            await pair.keepLost(first.dbPath);
            await pair.finish([...early, ...late], second);
          }),
      );
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** Ways of two machines to the chains and the hub. */
class Ways implements Disposable {
  readonly #devnet: Devnet;
  readonly #links: readonly { readonly hub: Link; readonly chains: readonly Link[] }[];

  constructor(cluster: Cluster, devnet: Devnet) {
    this.#devnet = devnet;
    this.#links = [0, 1].map((index) => {
      const link = (url: string): Link => new Link(Number(new URL(url).port), cluster.chainsHost(index));
      return { hub: link(devnet.hub.wsUrl), chains: devnet.chains.map(({ rpcUrl }) => link(rpcUrl)) };
    });
  }

  /** What differs in the configuration of a machine. */
  changesOf(index: number): { hubUrl: string; rpcUrls: Record<string, readonly string[]> } {
    const links = this.#links[index];
    assert.ok(links !== undefined);
    return {
      hubUrl: links.hub.endpoint.replace("http", "ws"),
      rpcUrls: Object.fromEntries(
        this.#devnet.chains.map(({ stateMachine }, at) => [stateMachine, [links.chains[at]?.endpoint ?? ""]]),
      ),
    };
  }

  /** When anything of a machine arrived last, Unix ms. */
  lastSentMs(index: number): number {
    return Math.max(...this.#of(index).map(({ lastSentMs }) => lastSentMs));
  }

  [Symbol.dispose](): void {
    for (const index of this.#links.keys()) for (const link of this.#of(index)) link[Symbol.dispose]();
  }

  #of(index: number): readonly Link[] {
    const links = this.#links[index];
    return links === undefined ? [] : [links.hub, ...links.chains];
  }
}
