/** Two machines with the start script, real etcd and real Litestream: one relays, the other takes over. */
import assert from "node:assert/strict";
import { waitUntil } from "../../devnet/traffic/messages.ts";
import type { RelayerProcess } from "../scenario/support/relayer_process.ts";
import { playSceneOn, startSceneDevnet } from "../scenario/support/scene.ts";
import { buildLitestream } from "./litestream.ts";
import { CLOCK_LIBRARY, FakedClock } from "../soak/machine.ts";
import { say } from "../support/notes.ts";
import { Etcd, Link, requireTools } from "./etcd.ts";
import { LEASE_SECONDS, lineAt, listWorking, type MachinePlan, Machines, seconds } from "./machines.ts";

/** How far the clock of one machine is off, seconds. */
const SKEW = 60;

Deno.test("standby: one of two machines relays, the other takes over", async (t) => {
  await requireTools({
    etcd: "apt install etcd-server",
    etcdctl: "apt install etcd-client",
    [CLOCK_LIBRARY]: "apt install faketime",
  });
  const litestream = await buildLitestream();
  await using etcd = new Etcd(await Deno.makeTempDir({ prefix: "etcd-" }));
  await etcd.start();
  await using devnet = await startSceneDevnet();
  const play = (
    work: (pair: Machines, links: readonly Link[]) => Promise<void>,
    changes: (folder: string) => Promise<readonly Partial<MachinePlan>[]> = () => Promise.resolve([]),
  ): Promise<void> =>
    playSceneOn(devnet, async (scene) => {
      using first = new Link(etcd.port);
      using second = new Link(etcd.port);
      const links = [first, second];
      const changed = await changes(scene.folder);
      const plans = links.map(({ endpoint }, at) => ({ etcd: endpoint, ...changed[at] }));
      using pair = new Machines(scene, litestream, plans);
      await work(pair, links);
    });

  await t.step(
    "the machine that relays is cut off from etcd: it ends before the other begins",
    () =>
      play(async (pair, [link]) => {
        assert.ok(link !== undefined);
        const [first, second] = await pair.startBoth();
        const early = await pair.send();
        await first.waitForLine("batch_sent");
        assert.deepEqual(await listWorking(first), ["causeway", "litestream"]);
        link.isCut = true;
        const cutMs = Date.now();
        const late = await pair.send();
        const { atMs } = await second.waitForLine("program_started");
        // Its `etcdctl lock` may still wait for etcd; nothing that relays or replicates is left.
        assert.deepEqual(await listWorking(first), []);
        const lastMs = lastLineMs(first);
        assert.ok(lastMs < atMs, "what it said last was before the other began");
        assert.ok(lineAt(first, "fence_gone") !== undefined, first.tail());
        say(
          `standby: cut off, ended after ${seconds(lastMs - cutMs)} s, taken over after ${
            seconds(atMs - cutMs)
          } s`,
        );
        await pair.keepLost(first.dbPath);
        await pair.finish([...early, ...late], second);
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
      assert.equal(lineAt(second, "program_started"), undefined);
      await pair.kill(0);
      await second.waitForLine("program_started");
      await pair.finish([...early, ...late], second);
    }));

  await t.step(
    "both are started at once: one of them relays; ended in order, it gives way at once",
    () =>
      play(async (pair) => {
        const both = await Promise.all([pair.start(0), pair.start(1)]);
        await waitUntil("one of them relays", () => both.some((each) => lineAt(each, "leg_started")));
        const holder = both.find((each) => lineAt(each, "program_started")) ?? both[0];
        const other = both.find((each) => each !== holder) ?? both[1];
        const early = await pair.send();
        await pair.settle(early, holder);
        assert.equal(lineAt(other, "program_started"), undefined, "only one of them relays");
        const askedMs = Date.now();
        assert.equal(await holder.terminate(), 0);
        const { atMs } = await other.waitForLine("program_started");
        say(`standby: taken over ${seconds(atMs - askedMs)} s after SIGTERM`);
        assert.ok(lastLineMs(holder) < atMs);
        await pair.keepLost(holder.dbPath);
        await pair.finish([...early, ...await pair.send()], other, 0);
      }),
  );

  await t.step(
    "the clock of one machine is a minute off, either way, and is set back while it relays",
    async () => {
      let clock: FakedClock | undefined;
      const changes = async (folder: string): Promise<readonly Partial<MachinePlan>[]> => {
        clock = await FakedClock.create(folder);
        await clock.set(SKEW);
        return [{ env: { ...clock.environment, FAKETIME_NO_CACHE: "1" } }];
      };
      await play(async (pair) => {
        assert.ok(clock !== undefined);
        const [first, second] = await pair.startBoth();
        assert.ok(timeOf(first) - Date.now() > SKEW * 500, "its clock is ahead");
        const sent = [...await pair.send()];
        await pair.scene.untilDelivered(sent);
        await clock.set(-SKEW);
        const setMs = Date.now();
        sent.push(...await pair.send());
        await pair.scene.untilDelivered(sent);
        await waitUntil(
          "a lease that is not renewed would have ended",
          () => Date.now() - setMs > LEASE_SECONDS * 1_000,
        );
        assert.ok(first.isRunning, first.tail());
        assert.equal(lineAt(second, "program_started"), undefined);
        const later = await pair.send();
        const ahead = await pair.kill(0);
        const taken = await second.waitForLine("program_started");
        sent.push(...later, ...await pair.send());
        await pair.scene.untilDelivered(sent);
        const behind = await pair.start(0);
        sent.push(...await pair.send());
        const killedMs = await pair.kill(1);
        const again = await behind.waitForLine("program_started");
        assert.ok(Date.now() - timeOf(behind) > SKEW * 500, "its clock is behind");
        say(
          `standby: with a clock a minute off, taken over after ${seconds(taken.atMs - ahead)} s by the ` +
            `right one, after ${seconds(again.atMs - killedMs)} s by the wrong one`,
        );
        await pair.finish(sent, behind, 2 * devnet.chains.length);
      }, changes);
    },
  );
});

/** When a process wrote its last line of the log. */
function lastLineMs({ lines }: RelayerProcess): number {
  return lines.filter(({ record }) => record?.event !== undefined).at(-1)?.atMs ?? 0;
}

/** What a process last said that the time is, Unix ms. */
function timeOf({ lines }: RelayerProcess): number {
  return Date.parse(String(lines.findLast(({ record }) => record?.event !== undefined)?.record?.time));
}
