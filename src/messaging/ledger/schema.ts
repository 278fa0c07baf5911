/** Schema version of a file, and migration to the newest. Does not access files: copies are made by `open.ts`. */
import { column } from "./columns.ts";
import type { Database } from "./database.ts";
import { LedgerFault } from "./fault.ts";
import { DatabaseSync } from "node:sqlite";

/** SQLite's application id of our files: ASCII `CSWY`. */
const applicationId = 0x43535759;

/**
 * Tables of the program whose configuration format we share (docs/protocol/messaging.md section 18.1), in lower case.
 */
const referenceTables: ReadonlySet<string> = new Set([
  "deliveries",
  "pendingwithdrawal",
  "unprofitablemessages",
  "outboundrotationclaims",
  "outboundrequestclaims",
  "_prisma_migrations",
]);

/**
 * Version of the tables in the file, which are exactly those of that version; 0: it is empty.
 * @throws {LedgerFault} `newer_schema`, `reference_schema` or `foreign_schema`.
 */
export function readSchemaVersion(db: Database, steps: readonly string[]): number {
  const version = readPragma(db, "user_version");
  if (version > 0 && readPragma(db, "application_id") === applicationId) {
    if (version <= steps.length) {
      refuseOtherSchema(db, steps.slice(0, version));
      return version;
    }
    throw new LedgerFault("newer_schema", {
      path: db.path,
      text:
        `it was written by a newer version of this program (tables ${version}, known up to ${steps.length}). ` +
        "Install that version, or name another file with --db",
    });
  }
  const tables = db.rows(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
  )
    .map((row) => column.text.read(row, "name"));
  if (version === 0 && tables.length === 0) return 0;
  throw foreignFile(db.path, tables);
}

const SCHEMA =
  "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";

/**
 * Refuses a file with views, triggers or tables that its version does not have: what a query does is decided by the
 * file then. Other programs may have plain tables of their own in it.
 */
function refuseOtherSchema(db: Database, steps: readonly string[]): void {
  const model = new DatabaseSync(":memory:");
  for (const sql of steps) model.exec(sql);
  const ours = new Map(model.prepare(SCHEMA).all().map((row) => [`${row.type} ${row.name}`, row]));
  const tables = new Set([...ours.values()].map(({ tbl_name: table }) => table));
  model.close();
  const others = db.rows(SCHEMA).flatMap(({ type, name, tbl_name: table, sql }) => {
    const known = ours.get(`${type} ${name}`);
    ours.delete(`${type} ${name}`);
    if (known !== undefined) return known.sql === sql && known.tbl_name === table ? [] : [`${type} ${name}`];
    const isPlain = /^CREATE (TABLE|(UNIQUE )?INDEX) /i.test(String(sql)) && !tables.has(table ?? null);
    return isPlain ? [] : [`${type} ${name}`];
  });
  const wrong = [...others, ...ours.keys()].map((each) => each.slice(0, 80));
  if (wrong.length === 0) return;
  const which = wrong.slice(0, 5).join(", ");
  throw new LedgerFault("foreign_schema", {
    path: db.path,
    text:
      `its tables are not those of this program (${which}): a build from before the first release wrote it, or ` +
      "somebody changed them. Claim what it lists with the program that wrote it, restore a copy, or name another file " +
      "with --db",
  });
}

function foreignFile(path: string, tables: readonly string[]): LedgerFault {
  if (tables.some((name) => referenceTables.has(name.toLowerCase()))) {
    return new LedgerFault("reference_schema", {
      path,
      text:
        "it holds the tables of another relayer program and was not changed. Name a new file with --db and keep this " +
        "one; claim what it still lists with the program that wrote it",
    });
  }
  const names = tables.slice(0, 5).join(", ");
  return new LedgerFault("foreign_schema", {
    path,
    text: `it belongs to another application (tables: ${names || "none"}). Name another file with --db`,
  });
}

function readPragma(db: Database, name: "user_version" | "application_id"): number {
  const row = db.row(`PRAGMA ${name}`);
  if (row === undefined) throw new Error(`No value for PRAGMA ${name}`);
  return column.number.read(row, name);
}

/** Applies the steps above `from`, each in one transaction: a failing one leaves the file at the previous version. */
export function migrate(db: Database, steps: readonly string[], from: number): void {
  for (const [index, sql] of [...steps.entries()].slice(from)) {
    db.transaction(() => {
      db.execute(sql);
      db.execute(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${index + 1};`);
    });
  }
}

/** Maximum size of a file of which indexes are compared with tables, bytes: 64 MiB, some tenths of a second. */
const fullCheckBytes = 64n * 1024n * 1024n;

/**
 * Checks for corruption: fully in small files, without comparing indexes with tables in large ones.
 * @throws {LedgerFault} `corrupt`.
 */
export function checkIntegrity(db: Database, sizeBytes: bigint): void {
  refuseFindings(db, sizeBytes > fullCheckBytes ? "quick_check(5)" : "integrity_check(5)");
}

function refuseFindings(db: Database, check: string): void {
  const findings = db.rows(`PRAGMA ${check}`).map((row) => String(Object.values(row)[0]));
  if (findings.length === 1 && findings[0] === "ok") return;
  throw new LedgerFault("corrupt", {
    path: db.path,
    text: `its content is damaged (${findings.join("; ").slice(0, 300)}). ` +
      "Restore a copy, or move the file away and start with a new one",
  });
}

/** Maximum size of a file that is read from end to end at start, bytes: 256 MiB, about a second. */
const wholeFileBytes = 256n * 1024n * 1024n;

/** Tables by which nothing is signed or claimed twice. They are small beside the messages. */
const guardingTables = [
  "meta",
  "note",
  "cursor",
  "submission",
  "withdrawal",
  "reward",
  "suspension",
  "operator_hold",
];

/**
 * As {@link checkIntegrity}, within about a second: of a very large file only the tables that guard money. Damage in the
 * others is found by the query that reads it.
 * @throws {LedgerFault} `corrupt`.
 */
export function checkAtStart(db: Database, sizeBytes: bigint): void {
  const isNew = readPragma(db, "user_version") === 0;
  if (sizeBytes <= wholeFileBytes || isNew) return checkIntegrity(db, sizeBytes);
  for (const table of guardingTables) refuseFindings(db, `quick_check(${table})`);
}

/**
 * Returns pages to the file system when more than half of the file is unused (docs/architecture/ledger.md,
 * "Retention").
 */
export function shrink(db: Database): void {
  const read = (name: string): number => column.number.read(db.row(`PRAGMA ${name}`) ?? {}, name);
  if (read("freelist_count") * 2 > read("page_count")) db.rows("PRAGMA incremental_vacuum");
}
