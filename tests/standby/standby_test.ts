/** Two machines with the start script, real etcd and real Litestream: one relays, the other takes over. */
import assert from "node:assert/strict";
import { sendPing, type SentMessage, waitUntil } from "../../devnet/traffic/messages.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { TOKEN } from "../scenario/support/fee_accounts.ts";
import { untilClaimed } from "../scenario/support/replica_rounds.ts";
import { assertHandledOnce } from "../scenario/support/moments.ts";
import type { RelayerProcess } from "../scenario/support/relayer_process.ts";
import { playSceneOn, type Scene, type SceneRelayer, startSceneDevnet } from "../scenario/support/scene.ts";
import { runOnce } from "../scenario/support/run_once.ts";
import { buildLitestream } from "../litestream/litestream.ts";
import { say } from "../support/notes.ts";
import { Etcd, Link } from "./etcd.ts";

const LEASE_SECONDS = 15;

Deno.test("standby: one of two machines relays, the other takes over", async (t) => {
  const litestream = await buildLitestream();
  await using etcd = new Etcd(await Deno.makeTempDir({ prefix: "etcd-" }));
  await etcd.start();
  await using devnet = await startSceneDevnet();
  const play = (work: (pair: Pair) => Promise<void>): Promise<void> =>
    playSceneOn(devnet, async (scene) => {
      using pair = new Pair(scene, etcd, litestream);
      await work(pair);
    });

  await t.step("kill -9 of everything on the machine that relays", () =>
    play(async (pair) => {
      const [first, second] = await pair.startBoth();
      const early = await pair.send();
      await first.waitForLine("batch_sent");
      const late = await pair.send();
      const killedMs = Date.now();
      await killGroup(first);
      const { atMs } = await second.waitForLine("program_started");
      say(
        `standby: took over ${
          ((atMs - killedMs) / 1_000).toFixed(1)
        } s after kill -9, lease ${LEASE_SECONDS} s`,
      );
      await pair.finish([...early, ...late]);
    }));

  await t.step(
    "the machine that relays is cut off from etcd: it ends before the other begins",
    () =>
      play(async (pair) => {
        const [first, second] = await pair.startBoth();
        const early = await pair.send();
        await first.waitForLine("batch_sent");
        pair.links[0].isCut = true;
        const cutMs = Date.now();
        const late = await pair.send();
        const { atMs } = await second.waitForLine("program_started");
        assert.equal(first.isRunning, false);
        const lastMs = first.lines.filter(({ record }) => record?.event !== undefined).at(-1)?.atMs ?? 0;
        assert.ok(lastMs < atMs, "what it said last was before the other began");
        assert.ok(first.lines.some(({ record }) => record?.event === "fence_gone"), first.tail());
        say(
          `standby: cut off, ended after ${((lastMs - cutMs) / 1_000).toFixed(1)} s, taken over after ${
            ((atMs - cutMs) / 1_000).toFixed(1)
          } s`,
        );
        await pair.finish([...early, ...late]);
      }),
  );

  await t.step("etcd is started again: the same machine relays on", () =>
    play(async (pair) => {
      const [first, second] = await pair.startBoth();
      const early = await pair.send();
      await etcd.kill();
      await etcd.start();
      const late = await pair.send();
      await pair.scene.untilDelivered([...early, ...late]);
      assert.ok(first.isRunning);
      assert.ok(!second.lines.some(({ record }) => record?.event === "program_started"));
      await killGroup(first);
      await second.waitForLine("program_started");
      await pair.finish([...early, ...late]);
    }));
});

/** Two machines with one account, one replica and one lock. */
class Pair implements Disposable {
  readonly scene: Scene;
  readonly links: readonly [Link, Link];
  readonly #relayer: SceneRelayer;
  readonly #litestream: string;

  constructor(scene: Scene, etcd: Etcd, litestream: string) {
    this.scene = scene;
    this.links = [new Link(etcd.port), new Link(etcd.port)];
    this.#relayer = scene.relayer();
    this.#litestream = litestream;
  }

  /** Starts both; the first one has the lock. */
  async startBoth(): Promise<readonly [RelayerProcess, RelayerProcess]> {
    const first = await this.#start(0);
    await first.waitForLine("leg_started");
    const second = await this.#start(1);
    this.#relayer.lostPaths.push(first.dbPath);
    return [first, second];
  }

  async #start(index: 0 | 1): Promise<RelayerProcess> {
    const folder = `${this.scene.folder}/machine-${index}`;
    await Deno.mkdir(folder);
    const dbPath = `${folder}/relayer.db`;
    return await this.#relayer.start({}, {
      dbPath,
      executable: `${REPOSITORY}/packaging/standby/causeway-standby`,
      env: {
        CAUSEWAY: RELAYER_EXECUTABLE,
        LITESTREAM: this.#litestream,
        CAUSEWAY_DB: dbPath,
        CAUSEWAY_REPLICA: `file://${this.scene.folder}/replica`,
        CAUSEWAY_FENCE: `${folder}/fence`,
        CAUSEWAY_LOCK: this.scene.folder,
        CAUSEWAY_LEASE: `${LEASE_SECONDS}`,
        ETCDCTL_ENDPOINTS: this.links[index].endpoint,
      },
    });
  }

  /** Messages both ways. */
  async send(): Promise<readonly SentMessage[]> {
    const { devnet } = this.scene;
    const sent = await Promise.all([
      sendPing(devnet, { from: "A", to: "B", count: 10, fee: TOKEN }),
      sendPing(devnet, { from: "B", to: "A", count: 10, fee: TOKEN }),
    ]);
    return sent.flat();
  }

  /** Everything arrives by the machine that relays now, which then ends in order. */
  async finish(sent: readonly SentMessage[]): Promise<void> {
    await this.scene.untilDelivered(sent);
    await this.#relayer.untilEnded(sent);
    await untilClaimed(this.scene, this.#relayer);
    await this.scene.finish({
      mostReverts: this.scene.devnet.chains.length,
      allowedErrors: [({ stream, record }) => stream === "stderr" || record?.event === "fence_gone"],
    });
    await assertHandledOnce(this.scene, this.#relayer, sent);
  }

  [Symbol.dispose](): void {
    for (const link of this.links) link[Symbol.dispose]();
    for (const process of this.#relayer.processes) killGroup(process);
  }
}

/** Kills all that a machine runs. */
async function killGroup(process: RelayerProcess): Promise<void> {
  await runOnce("kill", ["-KILL", "--", `-${process.pid}`]);
  await waitUntil("the machine is dead", () => !process.isRunning);
}
