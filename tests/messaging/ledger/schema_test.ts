import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { migrations } from "../../../src/messaging/ledger/migrations/all.ts";
import type { Migration } from "../../../src/messaging/ledger/schema.ts";
import { openDatabase } from "../../../src/messaging/ledger/open.ts";
import { LedgerFault, openLedger, withDirectory } from "../../support/ledger.ts";
import { hashOf, hub, newMessage } from "../../support/ledger_rows.ts";
import { RecordedLog } from "../../support/recorded_log.ts";

const clock = { now: () => 1_000_000 };
const one: Migration = {
  version: 1,
  title: "first",
  sql: "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)",
};
const two: Migration = {
  version: 2,
  title: "second",
  sql: "ALTER TABLE a ADD COLUMN y TEXT; UPDATE a SET y = 'new'",
};
const three: Migration = {
  version: 3,
  title: "third",
  sql: "CREATE TABLE b AS SELECT x FROM a; DROP TABLE a",
};
const broken: Migration = {
  version: 2,
  title: "broken",
  sql: "CREATE TABLE c (x); INSERT INTO missing VALUES (1)",
};

function readRows(path: string, sql: string): unknown[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare(sql).all().map((row) => ({ ...row }));
  db.close();
  return rows;
}

Deno.test("migrations: a new file gets all steps and no copy", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    openDatabase(path, { clock, migrations: [one, two, three] }).close();
    deepEqual(readRows(path, "SELECT x FROM b"), [{ x: 1 }]);
    ok([...Deno.readDirSync(directory)].every(({ name }) => !name.includes("backup")));
  }));

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

Deno.test("migrations: numbers with a gap are a defect", () =>
  withDirectory((directory) => {
    throws(() => openDatabase(`${directory}/a.db`, { clock, migrations: [two] }), /out of order/);
  }));

for (const { version } of migrations) {
  Deno.test(`migrations: a ledger of version ${version} keeps its rows when it is opened by this program`, () =>
    withDirectory((directory) => {
      const path = `${directory}/a.db`;
      const old = openDatabase(path, { clock, migrations: migrations.slice(0, version) });
      insertMessage(old);
      old.close();
      const ledger = openLedger(path, { clock });
      equal(ledger.messages.find(hashOf(1), hub)?.state, "held");
      equal(ledger.messages.record(newMessage(2)), "new");
      deepEqual(ledger.messages.countByState().map(({ state, count }) => [state, count]), [["held", 1], [
        "seen",
        1,
      ]]);
      ledger.close();
      equal(readRows(path, "PRAGMA user_version").length, 1);
    }));
}

Deno.test("migrations: payments that version 3 delivered apart from the messages are due among them", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const old = openDatabase(path, { clock, migrations: migrations.slice(0, 3) });
    const states = ["delivering", "dispatched", "done"];
    for (const [index, state] of states.entries()) {
      const message = hashOf(index + 1);
      insertMessage(old, message);
      old.execute(
        `INSERT INTO withdrawal VALUES (${
          index + 1
        }, 'EVM-1', x'01', NULL, NULL, '5', 1, '${state}', '${message}', x'01', 1,
          NULL, 2, 0, NULL, 1000, 1000)`,
      );
    }
    old.execute(
      `UPDATE message SET state = 'seen', reason = NULL, next_attempt_at_ms = ${Number.MAX_SAFE_INTEGER}`,
    );
    old.execute(
      `UPDATE message SET state = 'rejected', reason = 'hub_originated' WHERE commitment = '${hashOf(2)}'`,
    );
    old.close();
    const ledger = openLedger(path, { clock });
    deepEqual(ledger.withdrawals.listOpen().map(({ state }) => state), ["dispatched", "dispatched"]);
    const due = states.map((_, index) => {
      const row = ledger.messages.find(hashOf(index + 1), hub);
      return [row?.state, row?.nextAttemptAtMs];
    });
    deepEqual(due, [["seen", 0], ["seen", 0], ["seen", Number.MAX_SAFE_INTEGER]]);
    ledger.close();
  }));

/** A row as version 1 wrote it: frozen here, so that later versions must cope with it. */
function insertMessage(db: ReturnType<typeof openDatabase>, commitment = hashOf(1)): void {
  db.execute(
    `INSERT INTO message VALUES ('${commitment}', '${hub}', 'EVM-1', 'post', '${commitment}', 'EVM-1', 'EVM-56',
    x'07', '00000000000000000001', '00000000000000000000', 100, x'01', 'held', 'unprofitable', NULL, '5', '3', 2, 0, NULL,
    1000, 1000, 1000)`,
  );
}
