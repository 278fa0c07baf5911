/** Databases that cannot be used: each is told with its path and what to do, and nothing is lost or sent unrecorded. */
import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { Devnet } from "../../devnet/devnet.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { runOnce, runRelayerOnce } from "./support/run_once.ts";
import { readLedger } from "./support/ledger_reader.ts";
import { type LineMatch, type RelayerProcess, startRelayer } from "./support/relayer_process.ts";
import { startSceneDevnet } from "./support/scene.ts";
import { playGuardedOn, secretly } from "./support/secrets.ts";

/** The user `nobody` of Linux distributions; any that owns nothing here would do. */
const NOBODY = 65534;

/** A configuration whose chains nobody serves: the database comes first, so none of them is ever asked. */
function configOf(hub = "KUSAMA-4009"): string {
  const chain = {
    stateMachine: "EVM-31337",
    consensusStateId: "ETH0",
    rpcUrl: "http://127.0.0.1:9",
    ismpHost: `0x${"11".repeat(20)}`,
  };
  return relayerConfig({ hub: { stateMachine: hub, wsUrl: "ws://127.0.0.1:9" }, chains: [chain] });
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "database-" });
  try {
    await Deno.writeTextFile(`${folder}/relayer.toml`, configOf(), { mode: 0o600 });
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Starts a relayer of a hub on a new database, until it has made its tables. */
async function startOnNewDatabase(folder: string, hub?: string): Promise<RelayerProcess> {
  const process = await startRelayer({ config: configOf(hub), folder, logLevel: "debug" });
  // The hub's name is the last thing that is written before the chains are asked.
  await waitUntil("the database names its hub", async () => {
    const ledger = await readLedger(process.dbPath).catch(() => undefined);
    return ledger !== undefined && ledger.meta.size > 0;
  });
  return process;
}

/** Expects that a command, or the relayer, refuses the database at `path` with exactly one line of its log. */
async function expectRefusal(
  folder: string,
  path: string,
  expected: RegExp,
  command: readonly string[] = [],
): Promise<void> {
  const args = [`--config=${folder}/relayer.toml`, `--db=${path}`, "--log-format=json", ...command];
  const { code, stdout, stderr } = await runRelayerOnce(args);
  const [log, rest] = command.length === 0 ? [stdout, stderr] : [stderr, stdout];
  assert.deepEqual([code, rest], [1, ""], log);
  const { level, event, explanation } = JSON.parse(log.trim());
  assert.deepEqual([level, event], ["error", "database_unusable"], log);
  assert.ok(explanation.startsWith(`Database ${path}: `), explanation);
  assert.match(explanation, expected);
}

Deno.test("database: with tables of another relayer program or of another hub every command says what to do", () =>
  inFolder(async (folder) => {
    const foreign = `${folder}/foreign.db`;
    const database = new DatabaseSync(foreign);
    database.exec("CREATE TABLE Deliveries (id INTEGER)");
    database.close();
    const ofOthers =
      /holds the tables of another relayer program and was not changed\. Name a new file with --db/;
    const before = await Deno.readFile(foreign);
    for (const command of [[], ["accumulate-fees"], ["accumulate-fees", "--withdraw"]]) {
      await expectRefusal(folder, foreign, ofOthers, command);
    }
    assert.deepEqual(await Deno.readFile(foreign), before);
    const process = await startOnNewDatabase(folder, "POLKADOT-3367");
    assert.equal(await process.terminate(), 0);
    await expectRefusal(folder, process.dbPath, /POLKADOT-3367.*KUSAMA-4009|KUSAMA-4009.*POLKADOT-3367/);
  }));

Deno.test({
  name: "database: a command of another user is refused with the owner of the socket",
  ignore: Deno.uid() !== 0,
  fn: () =>
    inFolder(async (folder) => {
      await Deno.chmod(folder, 0o755);
      await Deno.chown(`${folder}/relayer.toml`, NOBODY, NOBODY);
      const process = await startOnNewDatabase(folder);
      const args = [
        `--config=${folder}/relayer.toml`,
        `--db=${process.dbPath}`,
        "--log-level=error",
        "retry",
      ];
      const { code, stdout, stderr } = await runRelayerOnce(args, { uid: NOBODY, cwd: folder });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(
        stderr,
        /^This user may not use .*relayer\.db\.sock, which .* \(uid 0\): run the command as that user/,
      );
      assert.equal(await process.terminate(), 0);
    }),
});

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
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    await relayer.startAndWait(secretly(devnet.endpoints));
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
    // Free again, whether the process ends in order or not at all; and a copy belongs to nobody.
    const killed = await relayer.startAndWait(secretly(devnet.endpoints));
    const copy = `${scene.folder}/copy.db`;
    await relayer.ask("backup", copy);
    await killed.kill();
    const next = await relayer.startAndWait(secretly(devnet.endpoints));
    const restored = await relayer.startAndWait(secretly(devnet.endpoints), { dbPath: copy });
    for (const each of [next, restored]) assert.equal(await each.terminate(), 0);
  });
}

/**
 * Messages while the database cannot be written to, twice within five minutes: nothing may be sent that is not in it, it
 * is told everywhere until a write works, and all of them are delivered once.
 */
async function playFailingWrites(devnet: Devnet): Promise<void> {
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    // A limit on the size of files stands for a disk that fails; without the trap its signal would end the program.
    const executable = `${scene.folder}/limited`;
    await Deno.writeTextFile(executable, `#!/bin/bash\ntrap '' XFSZ\nexec ${RELAYER_EXECUTABLE} "$@"\n`);
    await Deno.chmod(executable, 0o755);
    const process = await relayer.startAndWait(secretly(devnet.endpoints), { executable });
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
