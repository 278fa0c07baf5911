import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { createLedger } from "../../../src/messaging/ledger/ledger.ts";
import { Database } from "../../../src/messaging/ledger/database.ts";
import { toFileFault } from "../../../src/messaging/ledger/file_faults.ts";
import { openDatabase } from "../../../src/messaging/ledger/open.ts";
import { checkAtStart } from "../../../src/messaging/ledger/schema.ts";
import { parseStateMachine } from "../../../src/core/ismp/state_machine.ts";
import {
  type Ledger,
  LedgerFault,
  openLedger,
  refusalOfWriter,
  unresolvedSubmissionStates,
  withDirectory,
  writerCommand,
} from "../../support/ledger.ts";
import type { LedgerFaultCode } from "../../../src/messaging/ledger/fault.ts";
import { ethereum, hashOf, hub, newMessage } from "../../support/ledger_rows.ts";
import { RecordedLog } from "../../support/recorded_log.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";
import * as z from "zod";

const clock = { now: () => 1_000_000 };

function throwsFault(work: () => unknown, code: LedgerFaultCode, text: RegExp): void {
  throws(work, (error) => {
    ok(error instanceof LedgerFault, String(error));
    equal(error.code, code, error.message);
    match(error.message, text);
    return true;
  });
}

function fill(ledger: Ledger, count: number): void {
  ledger.transaction(() => {
    for (let number = 1; number <= count; number++) {
      ledger.messages.record(newMessage(number, { encoded: new Uint8Array(1_000) }));
    }
  });
}

Deno.test("open: a new file is made, and everything is there after closing and opening", () =>
  withDirectory((directory) => {
    const path = `${directory}/relayer.db`;
    const first = openLedger(path, { clock });
    fill(first, 3);
    first.notes.write("setting", "a", "b");
    first.close();
    first.close();
    deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name).sort(), [
      "relayer.db",
      "relayer.db.lock",
    ]);
    const second = openLedger(path, { clock });
    equal(second.messages.find(hashOf(3), hub)?.encoded.length, 1_000);
    equal(second.notes.find("setting", "a", z.string()), "b");
    second.close();
  }));

Deno.test("open: the journal is synced at every commit and written ahead", () =>
  withDirectory((directory) => {
    const db = openDatabase(`${directory}/a.db`, { clock });
    const read = (name: string): unknown => Object.values(db.row(`PRAGMA ${name}`) ?? {})[0];
    const names = [
      "journal_mode",
      "synchronous",
      "foreign_keys",
      "locking_mode",
      "auto_vacuum",
      "user_version",
    ];
    deepEqual(names.map(read), ["wal", 2n, 1n, "normal", 2n, 1n]);
    equal(read("busy_timeout"), 5_000n);
    db.close();
  }));

Deno.test("open: the log is written back by Litestream where it works, until the log is very long", () =>
  withDirectory((directory) => {
    const pagesOf = (name: string, isReplicated?: boolean): unknown => {
      const log = new RecordedLog();
      const db = openDatabase(`${directory}/${name}.db`, { clock, log, isReplicated });
      const { wal_autocheckpoint: pages } = db.row("PRAGMA wal_autocheckpoint") ?? {};
      db.close();
      return [pages, ...log.events("info")];
    };
    const own = [1_000n];
    const left = [16_384n, "database_opened.replicated"];
    deepEqual(pagesOf("a"), own);
    deepEqual(pagesOf("a", true), left);
    Deno.mkdirSync(`${directory}/.a.db-litestream`);
    deepEqual(pagesOf("a"), left);
    deepEqual(pagesOf("a", false), own);
    openDatabase(`${directory}/c.db`, { clock }).close();
    const replicated = new DatabaseSync(`${directory}/c.db`);
    replicated.exec("CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)");
    replicated.close();
    deepEqual(pagesOf("c"), left);
  }));

Deno.test("open: special names of SQLite are plain file names here, and an empty file becomes a database", () =>
  withDirectory((directory) => {
    for (const name of [":memory:", "file:a?mode=memory"]) {
      openLedger(`${directory}/${name}`, { clock }).close();
      ok(Deno.statSync(`${directory}/${name}`).isFile);
    }
    Deno.writeTextFileSync(`${directory}/a.db`, "");
    openLedger(`${directory}/a.db`, { clock }).close();
  }));

Deno.test("open: places where no database can be are named, with what to do", () =>
  withDirectory((directory) => {
    Deno.writeTextFileSync(`${directory}/file`, "");
    throwsFault(
      () => openLedger(`${directory}/none/a.db`, { clock }),
      "no_directory",
      /none does not exist. Create/,
    );
    throwsFault(
      () => openLedger(`${directory}/file/a.db`, { clock }),
      "no_directory",
      /file is not a directory/,
    );
    throwsFault(() => openLedger(directory, { clock }), "not_a_file", /it is a directory/);
    throwsFault(() => openLedger("/dev/null", { clock }), "not_a_file", /not a regular file/);
  }));

Deno.test("open: a file system that is mounted read-only is named, with what to do", () => {
  throwsFault(
    () => {
      throw toFileFault(Object.assign(new Error(), { code: "EROFS" }), "a.db", "/data");
    },
    "readonly",
    /data is on a file system that is mounted read-only. Map/,
  );
});

Deno.test("open: without permission the text names the owner and how to change it", () =>
  withDirectory(async (directory) => {
    const said = await refusalOfWriter(`${directory}/a.db`, { flags: [`--deny-write=${directory}`] });
    match(said, /may not read and write .*owned by \d+:\d+.*chown -R 65532:65532/s);
  }));

Deno.test("open: damage in the middle or a cut end is found before anything is written (F6)", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    fill(ledger, 200);
    ledger.close();
    const whole = Deno.readFileSync(path);
    const random = seededRandomness(11);
    const pages = whole.length / 4096;
    let found = 0;
    for (let page = 1; page < pages; page += 7) {
      const broken = whole.slice();
      broken.set(random.bytes(4096), page * 4096);
      Deno.writeFileSync(path, broken);
      try {
        openLedger(path, { clock }).close();
      } catch (error) {
        ok(error instanceof LedgerFault, String(error));
        equal(error.code, "corrupt");
        found++;
      }
    }
    // Pages that hold nothing but the bytes of a long value cannot be told from intact ones.
    ok(found >= pages / 7 * 0.8, `found ${found} of ${pages / 7}`);
    Deno.writeFileSync(path, whole.slice(0, whole.length / 2));
    throwsFault(() => openLedger(path, { clock }), "corrupt", /damaged|not a database/);
  }));

Deno.test("open: of a very large file the tables that guard money are checked, and only they (F6)", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    fill(ledger, 200);
    ledger.close();
    const whole = Deno.readFileSync(path);
    const check = (table: string): void => {
      const damaged = whole.slice();
      damaged.fill(0xee, (rootOf(path, table) - 1) * 4096, rootOf(path, table) * 4096);
      Deno.writeFileSync(`${path}.damaged`, damaged);
      const sqlite = new DatabaseSync(`${path}.damaged`, { readOnly: true });
      try {
        checkAtStart(new Database(sqlite, path, clock), 1n << 40n);
      } finally {
        sqlite.close();
      }
    };
    for (const table of ["meta", "submission", "withdrawal"]) {
      throwsFault(() => check(table), "corrupt", /damaged/);
    }
    check("message_change");
  }));

function rootOf(path: string, table: string): number {
  const sqlite = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(sqlite.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table)?.rootpage);
  } finally {
    sqlite.close();
  }
}

/** A file that another program, or another version of this one, has made. */
const made = (sql: string) => (path: string): void => {
  const other = new DatabaseSync(path);
  other.exec(sql);
  other.close();
};

/** What others have made: how, the code of the refusal, and its text. */
const others: Readonly<Record<string, readonly [(path: string) => void, LedgerFaultCode, RegExp]>> = {
  "a text": [
    (path) => Deno.writeTextFileSync(path, "[hub]\nrpc = 'x'\n".repeat(100)),
    "corrupt",
    /not a database.*another file/,
  ],
  "zeros": [
    (path) => Deno.writeFileSync(path, new Uint8Array(8192)),
    "corrupt",
    /not a database.*another file/,
  ],
  "another relayer program": [
    made("CREATE TABLE Deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT, hash TEXT)"),
    "reference_schema",
    /another relayer program.*new file with --db/,
  ],
  "another application": [made("CREATE TABLE notes (x)"), "foreign_schema", /another application/],
  "another application with a version": [
    made("CREATE TABLE t (x); PRAGMA user_version = 1"),
    "foreign_schema",
    /another application/,
  ],
  "a newer version": [
    (path) => {
      openLedger(path, { clock }).close();
      made("PRAGMA user_version = 99")(path);
    },
    "newer_schema",
    /tables 99, known up to \d+.*Install that version/,
  ],
};
for (const [what, [make, code, text]] of Object.entries(others)) {
  Deno.test(`open: the file of ${what} is refused, and stays as it is (F6)`, () =>
    withDirectory((directory) => {
      const path = `${directory}/a.db`;
      make(path);
      const before = Deno.readFileSync(path);
      throwsFault(() => openLedger(path, { clock }), code, text);
      deepEqual(Deno.readFileSync(path), before);
    }));
}

Deno.test("hub: a file belongs to the hub that first used it", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const first = openLedger(path, { clock });
    first.bindHub(hub);
    first.bindHub(hub);
    first.close();
    const second = openLedger(path, { clock });
    const other = parseStateMachine("KUSAMA-4009");
    throwsFault(() => second.bindHub(other), "wrong_hub", /hub POLKADOT-3367, .* names KUSAMA-4009/);
    second.close();
  }));

Deno.test("disk full: the write is refused, nothing of it stays, and it works again when there is space (F6)", () =>
  withDirectory((directory) => {
    const db = openDatabase(`${directory}/a.db`, { clock });
    const ledger = createLedger(db);
    fill(ledger, 10);
    const pages = Object.values(db.row("PRAGMA page_count") ?? {})[0];
    db.row(`PRAGMA max_page_count = ${pages}`);
    throwsFault(
      () =>
        ledger.transaction(() => {
          ledger.cursors.advance(ethereum, hub, 5n);
          ledger.messages.record(newMessage(11, { encoded: new Uint8Array(100_000) }));
        }),
      "full",
      /no space left/,
    );
    equal(ledger.cursors.find(ethereum, hub), undefined);
    equal(ledger.messages.find(hashOf(11), hub), undefined);
    throws(
      () => ledger.messages.record(newMessage(12, { encoded: new Uint8Array(100_000) })),
      (error) => error instanceof LedgerFault && error.reaction === "retry",
    );
    db.row("PRAGMA max_page_count = 1000000");
    ledger.checkWritable();
    fill(ledger, 12);
    ledger.close();
    const again = openLedger(`${directory}/a.db`, { clock });
    equal(again.messages.countByState()[0]?.count, 12);
    again.close();
  }));

Deno.test("open: a file that is mostly unused gives its space back", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const first = openLedger(path, { clock });
    fill(first, 2_000);
    for (let number = 1; number <= 2_000; number++) {
      first.messages.transition(hashOf(number), hub, { to: "gone" });
    }
    first.prune(clock.now() + 31 * 86_400_000);
    first.close();
    const beforeBytes = Deno.statSync(path).size;
    openLedger(path, { clock }).close();
    ok(Deno.statSync(path).size < beforeBytes / 4, `${beforeBytes} to ${Deno.statSync(path).size}`);
  }));

/** Starts a writer, kills it after `count` acknowledgements, and gives the last number that it acknowledged. */
async function killWriter(path: string, first: number, count: number): Promise<number> {
  const child = writerCommand(path, { first }).spawn();
  let text = "";
  let isKilled = false;
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (!isKilled && text.split("\n").length > count) {
      isKilled = true;
      child.kill("SIGKILL");
    }
  }
  await child.stderr.cancel();
  await child.status;
  return Number(text.trimEnd().split("\n").at(-1));
}

Deno.test("crash: a writer killed at seeded moments loses no acknowledged row and no half transaction", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const random = seededRandomness(2026);
    let next = 1;
    for (let round = 0; round < 6; round++) {
      const acknowledged = await killWriter(path, next, 1 + Math.floor(random.fraction() * 200));
      ok(acknowledged >= next);
      const ledger = openLedger(path, { clock });
      const scanned = Number(ledger.cursors.find(ethereum, hub));
      ok(scanned === acknowledged || scanned === acknowledged + 1, `${scanned} after ${acknowledged}`);
      const unresolved = ledger.submissions.listUnresolved(hub);
      deepEqual(unresolved.map(({ submission }) => submission.nonce), numbersTo(scanned));
      ok(unresolved.every(({ state }) => state === unresolvedSubmissionStates[0]));
      deepEqual(ledger.messages.countByState().map(({ state, count }) => [state, count]), [[
        "submitted",
        scanned,
      ]]);
      ledger.close();
      next = scanned + 1;
    }
  }));

function numbersTo(last: number): bigint[] {
  return Array.from({ length: last }, (_, index) => BigInt(index + 1));
}

Deno.test("lock: a second process learns which one to stop, and gets in when the first is dead (F6)", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    const mine = openLedger(path, { clock });
    const refusal = `another process uses it (process ${Deno.pid} locks ${directory}/a.db.lock). ` +
      "Stop the other program";
    const said = await refusalOfWriter(path);
    ok(said.includes("LedgerFault") && said.includes(refusal), said);
    throwsFault(() => openLedger(path, { clock }), "locked", /another process/);
    fill(mine, 1);
    mine.close();
    ok(await killWriter(path, 5, 1) >= 5);
    openLedger(path, { clock }).close();
  }));

Deno.test("lock: links lead to the lock of their file, and a copy has its own (F6)", () =>
  withDirectory(async (directory) => {
    const path = `${directory}/a.db`;
    Deno.mkdirSync(`${directory}/links`);
    Deno.symlinkSync(path, `${directory}/links/b.db`);
    const mine = openLedger(`${directory}/links/b.db`, { clock });
    fill(mine, 3);
    throwsFault(() => openLedger(path, { clock }), "locked", /a\.db\.lock\)/);
    for (const end of ["", "-wal", ".lock"]) Deno.copyFileSync(`${path}${end}`, `${directory}/copy.db${end}`);
    const copy = openLedger(`${directory}/copy.db`, { clock });
    equal(copy.messages.count({}), 3);
    match(await refusalOfWriter(`${directory}/links/b.db`), /another process uses it/);
    copy.close();
    mine.close();
    openLedger(path, { clock }).close();
  }));

Deno.test("lock: another program may read and write meanwhile, as one that replicates does", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const ledger = openLedger(path, { clock });
    fill(ledger, 3);
    const { success, stdout } = new Deno.Command(Deno.execPath(), {
      args: [
        "eval",
        `import { DatabaseSync } from "node:sqlite";
        const db = new DatabaseSync(${JSON.stringify(path)});
        db.exec("CREATE TABLE IF NOT EXISTS _other (n INTEGER); INSERT INTO _other VALUES (1)");
        console.log(db.prepare("SELECT count(*) AS count FROM message").get().count);`,
      ],
    }).outputSync();
    deepEqual([success, new TextDecoder().decode(stdout)], [true, "3\n"]);
    ledger.messages.record(newMessage(4));
    equal(ledger.messages.count({}), 4);
    ledger.close();
  }));
