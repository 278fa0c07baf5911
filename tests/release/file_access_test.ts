/** Programs give up the right to write files, and work on: in a process of its own, since there is no way back. */
import assert from "node:assert/strict";
import { REPOSITORY } from "../../devnet/programs/repository.ts";
import { runOnce } from "../scenario/support/run_once.ts";

/** What a program does: opens its database, gives up access, continues. Tells on standard output what still works. */
const PROGRAM = `
import { openDatabase } from "${REPOSITORY}/src/messaging/ledger/open.ts";
import { dropWriteAccess } from "${REPOSITORY}/src/core/runtime/file_access.ts";
import { openControlSocket } from "${REPOSITORY}/src/core/runtime/control_socket.ts";
import { systemClock } from "${REPOSITORY}/src/core/runtime/system_clock.ts";
const folder = Deno.args[0];
const db = openDatabase(folder + "/relayer.db", { clock: { now: () => 0 } });
db.execute("CREATE TABLE t (n INTEGER) STRICT");
const socket = openControlSocket({ clock: systemClock, log: { debug() {} } }, folder + "/relayer.db.sock");
const client = await Deno.connect({ transport: "unix", path: folder + "/relayer.db.sock" });
await client.write(new TextEncoder().encode("a command\\n"));
const bytes = new Uint8Array(100);
const tell = (what, work) => {
  try {
    work();
    console.log(what, "works");
  } catch (error) {
    console.log(what, error.name);
  }
};
const read = () => Deno.readTextFileSync(folder + "/key");
tell("read before:", read);
dropWriteAccess({ debug: (line) => console.log(line) });
tell("read:", read);
tell("write:", () => Deno.writeTextFileSync(folder + "/new", ""));
tell("list:", () => [...Deno.readDirSync(folder)]);
tell("second database:", () => openDatabase(folder + "/other.db", { clock: { now: () => 0 } }));
// More than the log file of the database takes before it is written back.
tell("database:", () => {
  for (let n = 0; n < 3000; n++) db.execute("INSERT INTO t VALUES (" + n + ")");
  db.row("PRAGMA wal_checkpoint(TRUNCATE)");
});
tell("close:", () => db.close());
const stop = new AbortController();
await Promise.all([
  socket.serve((line) => Promise.resolve("answer to " + line), stop.signal),
  client.read(bytes).then((count) => {
    console.log(new TextDecoder().decode(bytes.subarray(0, count)).trim());
    socket.close();
    stop.abort();
  }),
]);
`;

Deno.test("file access: the right to write is given up for good, while database and socket continue", async () => {
  const folder = await Deno.makeTempDir({ prefix: "file-access-" });
  try {
    await Deno.writeTextFile(`${folder}/key`, "secret");
    await Deno.writeTextFile(`${folder}/program.ts`, PROGRAM);
    const { code, stdout, stderr } = await runOnce(Deno.execPath(), [
      ...["run", "--quiet", "--no-prompt", "--no-check", `--config=${REPOSITORY}/deno.json`],
      ...["--allow-read", "--allow-write", "--allow-sys=uid", `${folder}/program.ts`, folder],
    ]);
    assert.deepEqual([code, stdout.split("\n")], [0, [
      "read before: works",
      "file_access_dropped",
      "read: works",
      "write: NotCapable",
      "list: works",
      "second database: LedgerFault",
      "database: works",
      "close: works",
      "answer to a command",
      "",
    ]], stderr);
    assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [
      "key",
      "program.ts",
      "relayer.db",
      "relayer.db.lock",
      "relayer.db.sock",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
