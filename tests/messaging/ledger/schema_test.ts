import { deepEqual, throws } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../../src/messaging/ledger/open.ts";
import { LedgerFault, withDirectory } from "../../support/ledger.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const clock = { now: () => 1_000_000 };
const one = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)";
const two = "ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = 'new'";
const three = "CREATE TABLE b AS SELECT x FROM a; DROP TABLE a";
const broken = "CREATE TABLE c (x); INSERT INTO missing VALUES (1)";

function readRows(path: string, sql: string): unknown[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare(sql).all().map((row) => ({ ...row }));
  db.close();
  return rows;
}

Deno.test("migrations: an older file is copied, then migrated; the copy is a whole database (F6)", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const log = new RecordedLog();
    openDatabase(path, { clock, migrations: [one] }).close();
    openDatabase(path, { clock, log, migrations: [one, two] }).close();
    deepEqual(readRows(path, "SELECT * FROM a"), [{ x: 1, y: "new" }]);
    deepEqual(readRows(`${path}.backup-v1`, "SELECT * FROM a"), [{ x: 1 }]);
    openDatabase(`${path}.backup-v1`, { clock, migrations: [one] }).close();
    deepEqual(log.lines.map(({ fields }) => [fields.copy, fields.from, fields.to]), [[
      `${path}.backup-v1`,
      1,
      2,
    ]]);
    openDatabase(path, { clock, migrations: [one, two, three] }).close();
    deepEqual(readRows(`${path}.backup-v2`, "SELECT * FROM a"), [{ x: 1, y: "new" }]);
    deepEqual(readRows(path, "PRAGMA user_version"), [{ user_version: 3 }]);
  }));

Deno.test("migrations: a step that fails leaves the file as it was, and the next start tries again", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    openDatabase(path, { clock, migrations: [one] }).close();
    throws(() => openDatabase(path, { clock, migrations: [one, broken] }), /missing/);
    deepEqual(readRows(path, "SELECT name FROM sqlite_schema"), [{ name: "a" }]);
    deepEqual(readRows(path, "PRAGMA user_version"), [{ user_version: 1 }]);
    openDatabase(path, { clock, migrations: [one, two, three] }).close();
    deepEqual(readRows(path, "SELECT x FROM b"), [{ x: 1 }]);
  }));

Deno.test("migrations: the copy holds what is in the log only, while another program reads the file", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const old = openDatabase(path, { clock, migrations: [one] });
    const reader = new DatabaseSync(path);
    try {
      reader.exec("BEGIN");
      reader.prepare("SELECT * FROM a").all(); // from now on nobody writes the log back beyond this
      old.run("INSERT INTO a (x) VALUES (7)");
      old.close();
      throws(() => readRows(`${path}.backup-v1`, "SELECT * FROM a"));
      const db = openDatabase(path, { clock, migrations: [one, two] });
      deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
        "a.db",
        "a.db-shm",
        "a.db-wal",
        "a.db.backup-v1",
        "a.db.lock",
      ]);
      deepEqual(readRows(`${path}.backup-v1`, "SELECT x FROM a WHERE x = 7"), [{ x: 7 }]);
      throws(() => openDatabase(path, { clock, migrations: [one, two] }), /another process uses it/);
      db.close();
    } finally {
      reader.close();
    }
  }));

Deno.test("migrations: without room or right for the copy nothing is changed", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    openDatabase(path, { clock, migrations: [one] }).close();
    Deno.mkdirSync(`${path}.backup-v1`);
    throws(() => openDatabase(path, { clock, migrations: [one, two] }), LedgerFault);
    deepEqual(readRows(path, "PRAGMA user_version"), [{ user_version: 1 }]);
  }));
