import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { Database } from "../../../src/messaging/ledger/database.ts";
import { RememberedAnswers } from "../../../src/messaging/ledger/remembered_answers.ts";

const COUNT = "SELECT count(*) AS count FROM t WHERE name = :name";

/** A database that remembers, and another hand in the same file's tables, whose writes it does not see. */
function open(): { readonly db: Database; readonly sqlite: DatabaseSync; readonly time: { nowMs: number } } {
  const time = { nowMs: 1_000_000 };
  const sqlite = new DatabaseSync(":memory:");
  sqlite.exec("CREATE TABLE t (name TEXT, bytes BLOB)");
  const db = new Database(sqlite, ":memory:", { now: () => time.nowMs });
  db.remember(new RememberedAnswers());
  return { db, sqlite, time };
}

const countOf = (db: Database, name: string): unknown => db.row(COUNT, { name })?.count;

Deno.test("remembered answers: what was asked is not asked again for some seconds, each question by itself", () => {
  const { db, sqlite, time } = open();
  assert.equal(countOf(db, "a"), 0n);
  sqlite.exec("INSERT INTO t (name) VALUES ('a'), ('b')");
  assert.equal(countOf(db, "a"), 0n);
  assert.equal(countOf(db, "b"), 1n);
  assert.equal(db.rows(COUNT, { name: "a" }).at(0)?.count, 1n);
  time.nowMs += 5_000;
  assert.equal(countOf(db, "a"), 1n);
});

Deno.test("remembered answers: every write of this connection is seen at once, in and after transactions", () => {
  const { db } = open();
  assert.equal(countOf(db, "a"), 0n);
  db.run("INSERT INTO t (name) VALUES ('a')");
  assert.equal(countOf(db, "a"), 1n);
  db.transaction(() => {
    assert.equal(countOf(db, "a"), 1n);
    db.run("INSERT INTO t (name) VALUES ('a')");
    assert.equal(countOf(db, "a"), 2n);
  });
  assert.equal(countOf(db, "a"), 2n);
  assert.throws(() =>
    db.transaction(() => {
      db.run("DELETE FROM t");
      assert.equal(countOf(db, "a"), 0n);
      throw new Error("rolled back");
    }), /rolled back/);
  assert.equal(countOf(db, "a"), 2n);
  db.row("INSERT INTO t (name) VALUES ('a') RETURNING name");
  assert.equal(countOf(db, "a"), 3n);
  db.execute("DELETE FROM t");
  assert.equal(countOf(db, "a"), 0n);
});

Deno.test("remembered answers: a clock that is set back keeps none, and long answers are not kept", () => {
  const { db, sqlite, time } = open();
  assert.equal(countOf(db, "a"), 0n);
  sqlite.exec("INSERT INTO t (name) VALUES ('a'), ('a'), ('a')");
  time.nowMs -= 60_000;
  assert.equal(countOf(db, "a"), 3n);
  const all = "SELECT name FROM t";
  assert.equal(db.rows(all).length, 3);
  sqlite.exec("INSERT INTO t (name) VALUES ('a')");
  assert.equal(db.rows(all).length, 4);
});
