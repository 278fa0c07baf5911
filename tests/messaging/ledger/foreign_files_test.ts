/** Files of others beside the database: links, and what another user owns. */
import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { copyDatabase } from "../../../src/messaging/ledger/backup.ts";
import { LedgerFault } from "../../../src/messaging/ledger/fault.ts";
import { findReason } from "../../../src/messaging/ledger/file_faults.ts";
import { inspectDatabase, openDatabase, openReadOnlyLedger } from "../../../src/messaging/ledger/open.ts";
import { migrations } from "../../../src/messaging/ledger/tables.ts";
import { openLedger, withDirectory } from "../../support/ledger.ts";

const clock = { now: () => 1_000_000 };

/** Another user of this machine. */
const OTHER = 65_534;
const isRoot = Deno.uid() === 0;

Deno.test("files: what others have put in the place of lock, probe and copy is neither written to nor emptied nor given away", () =>
  withDirectory((directory) => {
    const path = `${directory}/a.db`;
    const victim = `${directory}/victim`;
    const next = { clock, migrations: [...migrations, "CREATE TABLE next (x)"] };
    const plant: Readonly<Record<string, (place: string) => void>> = {
      link: (place) => Deno.symlinkSync(victim, place),
      "second name": (place) => Deno.linkSync(victim, place),
      ...isRoot && {
        "file of another user": (place: string) => {
          Deno.writeTextFileSync(place, "theirs");
          Deno.chownSync(place, OTHER, OTHER);
        },
      },
    };
    for (const [name, put] of Object.entries(plant)) {
      Deno.writeTextFileSync(victim, "precious", { mode: 0o640 });
      openDatabase(path, { clock }).close();
      equal((Deno.statSync(`${path}.lock`).mode ?? 0) & 0o777, 0o600);
      for (const end of [".backup-v1", ".backup-v1.tmp", ".probe"]) put(`${path}${end}`);
      openDatabase(path, next).close(); // with a copy of the old tables
      equal(Deno.lstatSync(`${path}.backup-v1`).isFile, true, name);
      equal(findReason(path), undefined, name);
      Deno.removeSync(`${path}.lock`);
      put(`${path}.lock`);
      const before = Deno.readTextFileSync(`${path}.lock`);
      refuses(() => openDatabase(path, next), /a\.db\.lock is not a file of this user alone\. Remove it/);
      equal(Deno.readTextFileSync(`${path}.lock`), before, name);
      equal(Deno.readTextFileSync(victim), "precious", name);
      equal(Deno.statSync(victim).uid, Deno.uid(), name);
      for (const { name } of [...Deno.readDirSync(directory)]) Deno.removeSync(`${directory}/${name}`);
    }
  }));

Deno.test({
  name: "files: root works on no database that another user owns or can replace, and leaves nothing there",
  ignore: !isRoot,
  fn: () =>
    withDirectory(async (directory) => {
      const mine = `${directory}/mine.db`;
      openLedger(mine, { clock }).close();
      Deno.mkdirSync(`${directory}/theirs/deep`, { recursive: true });
      Deno.copyFileSync(mine, `${directory}/theirs/deep/a.db`);
      Deno.symlinkSync(`${directory}/theirs/deep`, `${directory}/link`);
      Deno.symlinkSync(mine, `${directory}/link.db`);
      await runQuietly("chown", ["-h", `${OTHER}`, `${directory}/link.db`]);
      Deno.chownSync(`${directory}/theirs`, OTHER, OTHER); // can replace `deep`
      const theirs = [`${directory}/theirs/deep/a.db`, `${directory}/link/a.db`, `${directory}/link.db`];
      const text = /belongs to user 65534, and root does not work on files of others.*sudo -u '#65534'/;
      for (const path of theirs) {
        refuses(() => openLedger(path, { clock }), text);
        refuses(() => openReadOnlyLedger(path, { clock }), text);
        const facts = inspectDatabase(path, clock, () => undefined);
        match(facts.kind === "unusable" ? facts.fault.message : "", text);
        await rejects(copyDatabase(path, `${directory}/copy.db`, clock), text);
      }
      await rejects(copyDatabase(mine, `${directory}/link/copy.db`, clock), text);
      deepEqual([...Deno.readDirSync(`${directory}/theirs/deep`)].map(({ name }) => name), ["a.db"]);
      openLedger(mine, { clock }).close();
    }),
});

async function runQuietly(command: string, args: string[]): Promise<void> {
  equal((await new Deno.Command(command, { args }).output()).success, true, command);
}

const ENDLESS =
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS id FROM n";

Deno.test("files: a database with other tables, views or triggers than ours is refused by name before any of it runs", () =>
  withDirectory((directory) => {
    const hostile: readonly (readonly [string, RegExp])[] = [
      [`ALTER TABLE meta RENAME TO other; CREATE VIEW meta AS ${ENDLESS}`, /view meta.*table meta/],
      [`CREATE VIEW more AS ${ENDLESS}`, /view more/],
      ["CREATE TRIGGER t AFTER INSERT ON submission BEGIN DELETE FROM submission; END", /trigger t/],
      ["CREATE TABLE o (n); CREATE TRIGGER o AFTER INSERT ON o BEGIN DELETE FROM meta; END", /trigger o/],
      ["CREATE INDEX slow ON message (hex(zeroblob(100000000)))", /index slow/],
      ["ALTER TABLE submission ADD COLUMN spy TEXT", /table submission/],
      ["DROP TABLE operator_hold", /table operator_hold/],
      ["CREATE VIRTUAL TABLE f USING fts5(x)", /table f/],
    ];
    const path = `${directory}/a.db`;
    for (const [sql, text] of hostile) {
      openLedger(path, { clock }).close();
      const raw = new DatabaseSync(path);
      raw.exec(sql);
      raw.close();
      const before = Deno.readFileSync(path);
      const refuse = (work: () => unknown): void =>
        throws(
          work,
          (fault) =>
            fault instanceof LedgerFault && fault.code === "foreign_schema" && text.test(fault.message),
        );
      refuse(() => openLedger(path, { clock }));
      refuse(() => openReadOnlyLedger(path, { clock }));
      const facts = inspectDatabase(path, clock, () => undefined);
      equal(facts.kind === "unusable" && facts.fault.code, "foreign_schema");
      deepEqual(Deno.readFileSync(path), before, sql);
      Deno.removeSync(path);
    }
  }));

Deno.test("files: tables of other programs stay allowed, and no statement can change the schema's own table", () =>
  withDirectory((directory) => {
    const db = openDatabase(`${directory}/a.db`, { clock });
    db.execute(
      "CREATE TABLE _litestream_seq (id INTEGER); CREATE INDEX _litestream ON _litestream_seq (id); ANALYZE",
    );
    deepEqual(db.row("PRAGMA trusted_schema"), { trusted_schema: 0n });
    throws(
      () => db.execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql"),
      /may not be modified/,
    );
    db.close();
    openLedger(`${directory}/a.db`, { clock }).close();
  }));

function refuses(work: () => unknown, text: RegExp): void {
  throws(
    work,
    (fault) => fault instanceof LedgerFault && fault.code === "denied" && text.test(fault.message),
  );
}
