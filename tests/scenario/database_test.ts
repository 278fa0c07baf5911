/** Databases that cannot be used: each is told with its path and what to do, and nothing is lost or sent unrecorded. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Devnet } from "../../devnet/devnet.ts";
import { sendPing } from "../../devnet/traffic/messages.ts";
import { waitUntil } from "../../devnet/waiting.ts";
import { RELAYER_EXECUTABLE } from "../../devnet/programs/relayer_build.ts";
import { relayerConfig } from "../../devnet/programs/relayer_config.ts";
import { runOnce, type RunOptions, runRelayerOnce } from "./support/run_once.ts";
import { readLedger } from "./support/ledger_reader.ts";
import { startRelayer } from "./support/relayer_process.ts";
import { type Scene, type SceneRelayer, startSceneDevnet } from "./support/scene.ts";
import { playGuardedOn, secretly } from "./support/secrets.ts";

/** The user `nobody` of Linux distributions; any that owns nothing here would do. */
const NOBODY = 65534;
const isRoot = Deno.uid() === 0;

/** A configuration whose chains nobody serves: the database comes first, so none of them is ever asked. */
function configOf(hub = "KUSAMA-4009"): string {
  const url = "http://127.0.0.1:9";
  const chain = {
    stateMachine: "EVM-31337",
    consensusStateId: "ETH0",
    rpcUrl: url,
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

/** Expects that the program refuses the database at `path` with exactly one line that says `expected`. */
async function expectRefusal(
  folder: string,
  path: string,
  expected: RegExp | string,
  options: RunOptions = {},
  command: readonly string[] = [],
): Promise<void> {
  const args = [`--config=${folder}/relayer.toml`, `--db=${path}`, "--log-format=json", ...command];
  const { code, stdout, stderr } = await runRelayerOnce(args, options);
  assert.deepEqual([code, stderr], [1, ""], stdout);
  const lines = stdout.trim().split("\n")
    .map((line): { level: string; event: string; explanation: string } => JSON.parse(line));
  assert.deepEqual(lines.map(({ level, event }) => [level, event]), [["error", "database_unusable"]], stdout);
  const said = lines[0]?.explanation ?? "";
  assert.ok(said.startsWith(`Database ${path}: `), said);
  if (typeof expected === "string") assert.equal(said, `Database ${path}: ${expected}`);
  else assert.match(said, expected);
}

/** Leaves an empty database of this hub behind. */
async function makeDatabase(folder: string, hub?: string): Promise<string> {
  const process = await startRelayer({ config: configOf(hub), folder, logLevel: "debug" });
  await untilNamed(process.dbPath);
  assert.equal(await process.terminate(), 0);
  return process.dbPath;
}

/** Waits until the hub's name is in the database, the last thing that is written before the chains are asked. */
function untilNamed(path: string): Promise<void> {
  return waitUntil("the database names its hub", async () => {
    // It is not there at first, or not whole yet.
    const ledger = await readLedger(path).catch(() => undefined);
    return ledger !== undefined && ledger.meta.size > 0;
  });
}

Deno.test("database: places where no database can be are named", async () => {
  await inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/directory`);
    await expectRefusal(
      folder,
      `${folder}/no/where/relayer.db`,
      `the directory ${folder}/no/where does not exist. Create it first`,
    );
    await expectRefusal(folder, `${folder}/directory`, "it is a directory. Name a file with --db");
    await expectRefusal(folder, "/dev/null", "it is not a regular file. Name a file with --db");
    await expectRefusal(
      folder,
      `${folder}/relayer.toml/relayer.db`,
      `${folder}/relayer.toml is not a directory. Name another path with --db`,
    );
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["directory", "relayer.toml"], "something was created");
  });
});

Deno.test("database: files that are none, of others, or newer are refused and stay as they are", async () => {
  await inFolder(async (folder) => {
    const text = `${folder}/text.db`;
    await Deno.writeTextFile(text, "This is a text and no database.\n".repeat(400));
    const foreign = `${folder}/foreign.db`;
    const newer = `${folder}/newer.db`;
    const reference = `${folder}/reference.db`;
    for (
      const [path, sql] of [
        [foreign, "CREATE TABLE bookmarks (url TEXT)"],
        [newer, "PRAGMA application_id = 0x43535759; PRAGMA user_version = 999; CREATE TABLE message (a)"],
        [reference, "CREATE TABLE Deliveries (id INTEGER)"],
      ] as const
    ) {
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
    }
    for (
      const [path, expected] of [
        [text, "the file is not a database. Name another file with --db"],
        [foreign, "it belongs to another application (tables: bookmarks). Name another file with --db"],
        [newer, /written by a newer version.*tables 999, known up to \d+.*Install that version/],
        [reference, /tables of another relayer program and was not changed\. Name a new file/],
      ] as const
    ) {
      const before = await Deno.readFile(path);
      await expectRefusal(folder, path, expected);
      assert.deepEqual(await Deno.readFile(path), before, `${path} was changed`);
    }
  });
});

/**
 * Tables of the program whose configuration we share, with a row each. Source: docs/protocol/messaging.md section 18.1.
 */
const REFERENCE_TABLES = `
CREATE TABLE Deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, hash TEXT NOT NULL, source_chain TEXT NOT NULL,
  dest_chain TEXT NOT NULL, delivery_type INTEGER NOT NULL, created_at INTEGER NOT NULL, height INTEGER NOT NULL);
CREATE TABLE PendingWithdrawal (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, dest TEXT NOT NULL, encoded BLOB NOT NULL);
CREATE TABLE UnprofitableMessages (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, dest TEXT NOT NULL,
  encoded BLOB NOT NULL);
CREATE TABLE _prisma_migrations (id TEXT PRIMARY KEY NOT NULL, migration_name TEXT NOT NULL);
INSERT INTO Deliveries VALUES (1, '${"ab".repeat(32)}', 'EVM-1', 'EVM-2', 0, 1753000000, 5);
INSERT INTO PendingWithdrawal VALUES (1, 'EVM-1', x'00');
INSERT INTO UnprofitableMessages VALUES (1, 'EVM-1', x'00');
INSERT INTO _prisma_migrations VALUES ('1', 'init');`;

Deno.test("database: with what another relayer program left there, it says what to do, and so does accumulate-fees", async () => {
  await inFolder(async (folder) => {
    const path = `${folder}/other.db`;
    const database = new DatabaseSync(path);
    database.exec(REFERENCE_TABLES);
    database.close();
    const before = await Deno.readFile(path);
    const expected =
      "it holds the tables of another relayer program and was not changed. Name a new file with --db " +
      "and keep this one; claim what it still lists with the program that wrote it";
    for (const command of [[], ["accumulate-fees"], ["accumulate-fees", "--withdraw"]]) {
      await expectRefusal(folder, path, expected, {}, command);
    }
    assert.deepEqual(await Deno.readFile(path), before);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assert.deepEqual(names, ["other.db", "relayer.toml"]);
  });
});

Deno.test("database: while any other program holds the file, neither relayer nor accumulate-fees starts", async () => {
  await inFolder(async (folder) => {
    const path = await makeDatabase(folder);
    const holder = new DatabaseSync(path);
    try {
      holder.exec("BEGIN EXCLUSIVE");
      for (const command of [[], ["accumulate-fees", "--wait"]]) {
        await expectRefusal(folder, path, /another process uses it\. Stop the other program/, {}, command);
      }
      holder.exec("ROLLBACK");
    } finally {
      holder.close();
    }
    assert.ok((await readLedger(path)).meta.size > 0);
  });
});

Deno.test("database: a damaged file is refused and left as it is", async () => {
  await inFolder(async (folder) => {
    const path = await makeDatabase(folder);
    const database = new DatabaseSync(path);
    database.exec("PRAGMA journal_mode = DELETE");
    database.close();
    const bytes = await Deno.readFile(path);
    bytes.fill(0xa5, 4096, bytes.length - 4096);
    await Deno.writeFile(path, bytes);
    await expectRefusal(folder, path, /its content is damaged.*Restore a copy, or move the file away/);
    // Cut off in the middle, as a copy that was not finished.
    await Deno.truncate(path, 8192);
    await expectRefusal(folder, path, /its content is damaged.*Restore a copy, or move the file away/);
  });
});

Deno.test("database: the file of another hub is refused by both names and serves its own hub as before", async () => {
  await inFolder(async (folder) => {
    const path = await makeDatabase(folder, "POLKADOT-3367");
    await expectRefusal(folder, path, /POLKADOT-3367.*KUSAMA-4009|KUSAMA-4009.*POLKADOT-3367/);
    assert.ok([...(await readLedger(path)).meta.values()].includes("POLKADOT-3367"));
  });
});

Deno.test("database: what this user may not read or write is named with its owner and what to do", async () => {
  await inFolder(async (folder) => {
    await Deno.chmod(folder, 0o755);
    const closed = `${folder}/closed`;
    await Deno.mkdir(closed);
    await Deno.chmod(closed, 0o555);
    const file = `${folder}/open/relayer.db`;
    await Deno.mkdir(`${folder}/open`);
    const database = new DatabaseSync(file);
    database.close();
    await Deno.chmod(`${folder}/open`, 0o777);
    await Deno.chmod(file, 0o444);
    // Root may write everywhere, so it becomes another user.
    const user = isRoot ? { uid: NOBODY, cwd: folder } : {};
    if (isRoot) await Deno.chown(`${folder}/relayer.toml`, NOBODY, NOBODY);
    const owner = `\\(owned by ${Deno.uid()}:${Deno.gid()}\\)`;
    const todo = "Give the directory to the user that runs the program";
    await expectRefusal(
      folder,
      `${closed}/relayer.db`,
      new RegExp(`may not read and write ${closed} ${owner}\\. ${todo}`),
      user,
    );
    await expectRefusal(folder, file, new RegExp(`may not read and write ${file} ${owner}\\. ${todo}`), user);
    assert.deepEqual([...Deno.readDirSync(closed)], []);
    await Deno.chmod(closed, 0o755);
  });
});

Deno.test({
  name: "database: a command of another user is refused with the owner of the socket",
  ignore: !isRoot,
  fn: () =>
    inFolder(async (folder) => {
      await Deno.chmod(folder, 0o755);
      await Deno.chown(`${folder}/relayer.toml`, NOBODY, NOBODY);
      const process = await startRelayer({ config: configOf(), folder, logLevel: "debug" });
      await untilNamed(process.dbPath);
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
  await t.step({
    name: "database: on a full disk nothing is sent; when there is space again all is delivered once",
    ignore: !await canMount(),
    fn: () => playFullDisk(devnet),
  });
  await t.step(
    "database: while every write fails nothing is sent; afterwards all is delivered once (F6)",
    () => playFailingWrites(devnet),
  );
});

async function playSecondProcess(devnet: Devnet): Promise<void> {
  await playGuardedOn(devnet, async (scene) => {
    const first = scene.relayer();
    const process = await first.startAndWait(secretly(scene.devnet.endpoints));
    const before = await sendPing(scene.devnet, { from: "A", to: "B", count: 2 });
    for (const _ of [1, 2]) {
      const args = [`--config=${process.configPath}`, `--db=${process.dbPath}`];
      const second = await runRelayerOnce(args);
      assert.deepEqual([second.code, second.stderr], [1, ""]);
      assert.match(
        second.stdout,
        /ERROR .*Database .*relayer\.db: another process uses it \(process \d+ locks .*\.lock\)\. Stop the other/,
      );
      assert.equal(second.stdout.trim().split("\n").length, 1, second.stdout);
      const asked = await runRelayerOnce([...args, "--log-level=error", "list", "--json"]);
      assert.deepEqual([asked.code, asked.stderr], [0, ""], "the socket of the first one is unharmed");
    }
    const after = await sendPing(scene.devnet, { from: "B", to: "A", count: 2 });
    await scene.untilDelivered([...before, ...after]);
    await scene.finish();
    // Free again, whether the process ends in order or not at all; and a copy belongs to nobody.
    const killed = await first.startAndWait(secretly(scene.devnet.endpoints));
    const copy = `${scene.folder}/copy.db`;
    const backedUp = await runRelayerOnce([
      `--config=${process.configPath}`,
      `--db=${process.dbPath}`,
      "--log-level=error",
      "backup",
      copy,
    ]);
    assert.deepEqual([backedUp.code, backedUp.stderr], [0, ""]);
    await killed.kill();
    const next = await first.startAndWait(secretly(scene.devnet.endpoints));
    const restored = await first.startAndWait(secretly(scene.devnet.endpoints), { dbPath: copy });
    for (const each of [next, restored]) assert.equal(await each.terminate(), 0);
  });
}

/** Lines by which the relayer tells that the disk is full. */
function reportsDiskFull(
  { level, text }: { readonly level: string | undefined; readonly text: string },
): boolean {
  return level === "error" && /no space left on the device|read or write error/.test(text);
}

/** A disk that can be filled. */
interface FullDisk {
  readonly fill: () => Promise<void>;
  readonly empty: () => Promise<void>;
  /** True: a file of another process cannot grow either. */
  readonly isFullForAll: boolean;
}

/**
 * Messages while the database cannot grow, twice within five minutes: nothing may be sent that is not in it, it is told
 * everywhere until a write works, and all of them are delivered once there is room again.
 */
async function playFull(scene: Scene, relayer: SceneRelayer, disk: FullDisk): Promise<void> {
  const { devnet } = scene;
  const process = relayer.process;
  const before = await sendPing(devnet, { from: "A", to: "B", count: 3 });
  await scene.untilDelivered(before);
  await relayer.untilSettled();
  for (const time of [1, 2]) {
    await disk.fill();
    const sent = (await Promise.all([
      sendPing(devnet, { from: "A", to: "B", count: 40 }),
      sendPing(devnet, { from: "B", to: "A", count: 40 }),
    ])).flat();
    await process.waitForLine(nth("database_fault", time));
    assert.ok(process.isRunning);
    const args = [`--config=${process.configPath}`, `--db=${process.dbPath}`, "--log-level=error"];
    const status = await runRelayerOnce([...args, "status"]);
    assert.match(
      status.stdout,
      /State\n[^]*?\n {2}program .*(no space left|read or write error).*database_fault/,
    );
    if (disk.isFullForAll) {
      const check = await runRelayerOnce([...args, "check"]);
      assert.equal(check.code, 1);
      assert.match(
        check.stdout,
        /machine +database +failed +.*no space left on the device\n.*-> Free some space/,
      );
    }
    await disk.empty();
    await process.waitForLine(nth("database_restored", time));
    await scene.untilDelivered(sent);
    const { stdout } = await runRelayerOnce([...args, "status"]);
    assert.doesNotMatch(stdout, /\n {2}program +stops work/);
  }
  const restored = process.lines.findLastIndex(({ record }) => record?.event === "database_restored");
  await scene.finish({ allowedErrors: [reportsDiskFull] });
  const after = process.lines.slice(restored).filter(({ record }) => record?.event === "worker_restarting");
  assert.deepEqual(after, [], "told after its end");
}

/** Matches the line that is the nth with an event. */
function nth(
  event: string,
  count: number,
): (line: { readonly record: { readonly event?: unknown } | undefined }) => boolean {
  let seen = 0;
  return ({ record }) => record?.event === event && ++seen === count;
}

/** Whether this machine lets us mount; containers often do not. */
async function canMount(): Promise<boolean> {
  if (!isRoot) return false;
  const folder = await Deno.makeTempDir();
  try {
    const mounted = await runOnce("mount", ["-t", "tmpfs", "-o", "size=1m", "none", folder]);
    return mounted.code === 0 && (await runOnce("umount", [folder])).code === 0;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  } finally {
    await Deno.remove(folder);
  }
}

/** Cuts the journal of a database in use, whose room would take the next writes although the disk is full. */
function giveBackJournal(path: string): Promise<void> {
  return waitUntil("the journal is cut", () => {
    if (!existsSync(path)) return true;
    const database = new DatabaseSync(path);
    try {
      return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy === 0;
    } finally {
      database.close();
    }
  });
}

async function playFullDisk(devnet: Devnet): Promise<void> {
  const disk = await Deno.makeTempDir({ prefix: "disk-" });
  const mounted = await runOnce("mount", ["-t", "tmpfs", "-o", "size=24m", "none", disk]);
  assert.deepEqual(mounted, { code: 0, stdout: "", stderr: "" });
  const filler = `${disk}/filler`;
  const dbPath = `${disk}/relayer.db`;
  const fill = async (): Promise<void> => {
    await giveBackJournal(dbPath);
    const { stderr } = await runOnce("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"]);
    assert.match(stderr, /No space left/);
  };
  try {
    await playGuardedOn(devnet, async (scene) => {
      const relayer = scene.relayer();
      // Full from the start.
      await fill();
      const refused = await relayer.start(secretly(scene.devnet.endpoints), { dbPath });
      assert.equal(await refused.exitCode(), 1);
      const [line, ...others] = refused.errorLines;
      assert.deepEqual(others, []);
      assert.deepEqual([line?.record?.event, line?.record?.code], ["database_unusable", "full"]);
      await Deno.remove(filler);
      await relayer.startAndWait(secretly(scene.devnet.endpoints), { dbPath });
      await playFull(scene, relayer, { fill, empty: () => Deno.remove(filler), isFullForAll: true });
    });
  } finally {
    await runOnce("umount", [disk]);
    await Deno.remove(disk);
  }
}

async function playFailingWrites(devnet: Devnet): Promise<void> {
  await playGuardedOn(devnet, async (scene) => {
    const relayer = scene.relayer();
    // A limit on the size of files stands for a disk that fails; without the trap its signal would end the program.
    const executable = `${scene.folder}/limited`;
    await Deno.writeTextFile(executable, `#!/bin/bash\ntrap '' XFSZ\nexec ${RELAYER_EXECUTABLE} "$@"\n`);
    await Deno.chmod(executable, 0o755);
    await relayer.startAndWait(secretly(scene.devnet.endpoints), { executable });
    const limit = async (bytes: string): Promise<void> => {
      const result = await runOnce("prlimit", [`--pid=${relayer.process.pid}`, `--fsize=${bytes}:unlimited`]);
      assert.deepEqual(result, { code: 0, stdout: "", stderr: "" });
    };
    const empty = (): Promise<void> => limit("unlimited");
    await playFull(scene, relayer, { fill: () => limit("4096"), empty, isFullForAll: false });
  });
}
