/** Databases that cannot be used: each is told with its path and what to do, and nothing is lost or sent unrecorded. */
import assert from "node:assert/strict";
import type { Devnet } from "../../devnet/devnet.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { runOnce } from "./support/run_once.ts";
import type { LineMatch } from "./support/relayer_process.ts";
import { playSceneOn, startSceneDevnet } from "./support/scene.ts";

Deno.test("database of a working relayer", async (t) => {
  await using devnet = await startSceneDevnet();
  await t.step(
    "database: a second process on the same file is refused, the first one continues unharmed; its end by kill -9 frees the file (F24)",
    () => playSecondProcess(devnet),
  );
  await t.step(
    "database: while every write fails nothing is sent; afterwards all is delivered once (F6)",
    () => playFailingWrites(devnet),
  );
});

async function playSecondProcess(devnet: Devnet): Promise<void> {
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait();
    const before = await sendPing(devnet, { from: "A", to: "B", count: 2 });
    for (const _ of [1, 2]) {
      const second = await relayer.run();
      assert.deepEqual([second.code, second.stderr], [1, ""]);
      assert.match(
        second.stdout,
        /^.*ERROR .*Database .*relayer\.db: another process uses it \(process \d+ locks .*\.lock\)\. Stop the other.*\n$/,
      );
      // The socket of the first one is unharmed.
      await relayer.ask("list", "--json");
    }
    const after = await sendPing(devnet, { from: "B", to: "A", count: 2 });
    await scene.untilDelivered([...before, ...after]);
    await scene.finish();
    // Free again, whether the process ends in order or not at all.
    const killed = await relayer.startAndWait();
    await killed.kill();
    const next = await relayer.startAndWait();
    assert.equal(await next.terminate(), 0);
  });
}

/**
 * Messages while the database cannot be written to, twice within five minutes: nothing may be sent that is not in it, it
 * is told everywhere until a write works, and all of them are delivered once.
 */
async function playFailingWrites(devnet: Devnet): Promise<void> {
  await playSceneOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    // A limit on the size of files stands for a disk that fails; without the trap its signal would end the program.
    const executable = `${scene.folder}/limited`;
    await Deno.writeTextFile(executable, `#!/bin/bash\ntrap '' XFSZ\nexec ${RELAYER_EXECUTABLE} "$@"\n`);
    await Deno.chmod(executable, 0o755);
    const process = await relayer.startAndWait({}, { executable });
    const limit = async (bytes: string): Promise<void> => {
      const result = await runOnce("prlimit", [`--pid=${process.pid}`, `--fsize=${bytes}:unlimited`]);
      assert.deepEqual(result, { code: 0, stdout: "", stderr: "" });
    };
    for (const time of [1, 2]) {
      await limit("4096");
      const sent = (await Promise.all([
        sendPing(devnet, { from: "A", to: "B", count: 40 }),
        sendPing(devnet, { from: "B", to: "A", count: 40 }),
      ])).flat();
      await process.waitForLine(nth("database_fault", time));
      assert.ok(process.isRunning);
      const failing = await relayer.run("--log-level=error", "status");
      assert.match(
        failing.stdout,
        /State\n[^]*?\n {2}program .*(no space left|read or write error).*database_fault/,
      );
      await limit("unlimited");
      await process.waitForLine(nth("database_restored", time));
      await scene.untilDelivered(sent);
      assert.doesNotMatch(await relayer.ask("status"), /\n {2}program +stops work/);
    }
    const restored = process.lines.findLastIndex(({ record }) => record?.event === "database_restored");
    await scene.finish({ allowedErrors: [/no space left on the device|read or write error/] });
    const after = process.lines.slice(restored).filter(({ record }) => record?.event === "worker_restarting");
    assert.deepEqual(after, [], "told after its end");
  });
}

/** Matches the line that is the nth with an event. */
function nth(event: string, count: number): LineMatch {
  let seen = 0;
  return ({ record }) => record?.event === event && ++seen === count;
}
