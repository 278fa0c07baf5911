/** Opening the database file. Every way in which it can fail is a `LedgerFault` that names the path and what to do. */
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { Database, toLedgerFault } from "./database.ts";
import { LedgerFault } from "./fault.ts";
import { copyAndClose } from "./file_copy.ts";
import { findFile, findReason, refuseWrongPlace, toFileFault } from "./file_faults.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { checkAtStart, migrate, readSchemaVersion, shrink } from "./schema.ts";
import { migrations } from "./tables.ts";
import { basename, dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Time for which a statement waits for a program that replicates the database, or for an operator's tool, ms. */
const BUSY_MS = 5_000;

/**
 * Pages of the log after which it is written back although another program should do it: 64 MiB, the file does not grow
 * without end when that program is gone.
 */
const MAX_LEFT_PAGES = 16_384;

/** Dependencies of {@link openLedger}. */
export interface OpenDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log?: Pick<Log, "info"> | undefined;
  /**
   * True: another program replicates the database and writes its log back (`leave_checkpoints`); `undefined`: found out
   * by the traces of Litestream.
   */
  readonly isReplicated?: boolean | undefined;
  /** Steps of the tables; all known ones when absent. For tests of upgrades. */
  readonly migrations?: readonly string[];
}

/** A file to open. */
interface FileToOpen {
  readonly path: string;
  /** For the rows that are written to it. */
  readonly clock: OpenDeps["clock"];
  readonly readOnly?: boolean;
}

/**
 * Opens (or creates) the database of the messaging relayer for this process alone, checks it and migrates its tables;
 * before that an existing file is copied to `<path>.backup-v<N>`, N being its old version.
 * @throws {LedgerFault}
 */
export function openLedger(path: string, deps: OpenDeps): Ledger {
  return createLedger(openDatabase(path, deps));
}

/** As {@link openReadOnlyDatabase}, with the tables' queries. @throws {LedgerFault} */
export function openReadOnlyLedger(path: string, { clock }: Pick<OpenDeps, "clock">): Ledger {
  return createLedger(openReadOnlyDatabase(path, clock));
}

/** Opens an existing database for reading only, also while a relayer works on it. @throws {LedgerFault} */
export function openReadOnlyDatabase(path: string, clock: OpenDeps["clock"]): Database {
  refuseWrongPlace(path);
  if (findFile(path) === undefined) {
    const text = "there is no such file. Name the relayer's database with --db";
    throw new LedgerFault("io", { path, text });
  }
  let version = 0;
  const db = connect({ path, clock, readOnly: true }, (opened) => {
    version = readSchemaVersion(opened, migrations);
  });
  if (version === migrations.length) return db;
  db.close();
  const text = version === 0
    ? "it is empty: no relayer has used it yet"
    : "it was written by an older version of this program. Start the relayer once, which brings it up to date";
  throw new LedgerFault("io", { path, text });
}

/** As {@link openLedger}, without the tables' queries. */
export function openDatabase(path: string, deps: OpenDeps): Database {
  const steps = deps.migrations ?? migrations;
  refuseWrongPlace(path);
  const file = { path, clock: deps.clock };
  // Files that are not ours are not changed, and nothing is left beside them.
  let db = connect(file, (opened) => void readSchemaVersion(opened, steps));
  let lock: Deno.FsFile | undefined;
  try {
    const taken = lock = takeLock(path);
    const version = readSchemaVersion(db, steps);
    checkAtStart(db, BigInt(Deno.statSync(resolve(path)).size));
    if (version > 0 && version < steps.length) {
      const copy = `${resolve(path)}.backup-v${version}`;
      copyAndClose(db, copy);
      deps.log?.info("database_opened.copied", { copy, from: version, to: steps.length });
      db = connect(file, () => {});
    }
    prepareWriting(db);
    migrate(db, steps, version);
    shrink(db);
    if (deps.isReplicated ?? hasLitestream(db)) {
      db.row(`PRAGMA wal_autocheckpoint = ${MAX_LEFT_PAGES}`);
      deps.log?.info("database_opened.replicated", { database: path });
    }
    db.atClose(() => release(taken));
    return db;
  } catch (error) {
    db.close();
    if (lock !== undefined) release(lock);
    throw error;
  }
}

/** Makes every commit durable, and sure that this process may write now. */
function prepareWriting(db: Database): void {
  guardOpening(db.path, () => {
    db.execute("PRAGMA auto_vacuum = INCREMENTAL");
    db.row("PRAGMA journal_mode = WAL");
    db.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 16777216;");
    tryWriting(db);
  });
}

/** True when Litestream has worked on the database: it makes a table in it, and a folder beside the file. */
function hasLitestream(db: Database): boolean {
  if (db.row("SELECT name FROM sqlite_schema WHERE name = '_litestream_seq'") !== undefined) return true;
  const file = Deno.realPathSync(resolve(db.path));
  return findFile(`${dirname(file)}/.${basename(file)}-litestream`) !== undefined;
}

/** Makes sure that this process may write now, and that no other one is writing. */
function tryWriting(db: Database): void {
  db.run("BEGIN IMMEDIATE");
  db.run("ROLLBACK");
}

/** Opens the file and prepares the connection, which is closed again when that fails. */
function connect({ path, clock, readOnly = false }: FileToOpen, prepare: (db: Database) => void): Database {
  // An absolute path is never interpreted as one of SQLite's special names (":memory:", "file:...").
  const db = guardOpening(
    path,
    () => new Database(new DatabaseSync(resolve(path), { readOnly, timeout: BUSY_MS }), path, clock),
  );
  try {
    guardOpening(path, () => {
      db.execute("PRAGMA trusted_schema = OFF"); // the runtime opens files in defensive mode
      prepare(db);
    });
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Runs an opening and adds the cause to its errors, which carry no code and do not explain missing permissions. */
function guardOpening<T>(path: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    const fault = toLedgerFault(error, path);
    if (fault?.code === "busy") {
      const text =
        "another process uses it. Stop the other program (a running causeway, or a manual run) and start again";
      throw new LedgerFault("locked", { path, text, cause: error });
    }
    if (fault !== undefined && fault.code !== "io" && fault.code !== "readonly") throw fault;
    throw findReason(path) ?? fault ??
      new LedgerFault("io", { path, text: "it cannot be opened", cause: error });
  }
}

/** Longest content of the file that is read, bytes. */
const MAX_CONTENT_BYTES = 256;

/**
 * Takes the lock of the database at `path`, which exists, by which only one program works on it: an advisory one (flock)
 * on a file beside it. The kernel releases it when the process ends, however it ends, so the file itself means nothing
 * and stays. SQLite's own locks last no longer than a transaction: others may read and replicate the database meanwhile.
 * @throws {LedgerFault} `locked` at once when another process has it.
 */
function takeLock(path: string): Deno.FsFile {
  const place = placeOf(path);
  let file: Deno.FsFile | undefined;
  try {
    file = openOwn(path, place);
    if (!file.tryLockSync(true)) throw heldFault(path, place, file);
    const note = `${Deno.pid}\nThe process that works on this database locks this file. Leave it here.\n`;
    file.truncateSync();
    file.writeSync(new TextEncoder().encode(note));
    return file;
  } catch (error) {
    file?.close();
    throw error instanceof LedgerFault ? error : toFileFault(error, path, place);
  }
}

/** Makes the file, or opens the one that is there: it is emptied later, so it must be ours, and is not found by a link. */
function openOwn(path: string, place: string): Deno.FsFile {
  try {
    return Deno.openSync(place, { read: true, write: true, createNew: true, mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
  const found = Deno.lstatSync(place);
  const isOwn = found.isFile && found.nlink === 1 && found.uid === Deno.uid(); // and it has no other name
  const file = isOwn ? Deno.openSync(place, { read: true, write: true }) : undefined;
  const opened = file?.statSync();
  if (file !== undefined && opened?.ino === found.ino && opened.dev === found.dev) return file;
  file?.close();
  const text = `${place} is not a file of this user alone. Remove it while no relayer runs on this database`;
  throw new LedgerFault("denied", { path, text });
}

/** Unlocks before it closes: a child process that was just forked has the file open for a moment longer (flock(2)). */
function release(file: Deno.FsFile): void {
  file.unlockSync();
  file.close();
}

/** True when a process works on the database at `path`. */
export function isHeld(path: string): boolean {
  try {
    refuseHeld(path);
    return false;
  } catch (error) {
    if (error instanceof LedgerFault && error.code === "locked") return true;
    throw error;
  }
}

/**
 * Refuses a database that another process works on; leaves no trace.
 * @throws {LedgerFault} `locked`.
 */
function refuseHeld(path: string): void {
  const place = placeOf(path);
  let file: Deno.FsFile | undefined;
  try {
    file = Deno.openSync(place);
    if (!file.tryLockSync(true)) throw heldFault(path, place, file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return; // nobody has ever worked on it
    throw error instanceof LedgerFault ? error : toFileFault(error, path, place);
  } finally {
    file?.close();
  }
}

/** The file for a database: beside the file itself, whatever links lead to it. */
function placeOf(path: string): string {
  return `${Deno.realPathSync(resolve(path))}.lock`;
}

function heldFault(path: string, place: string, file: Deno.FsFile): LedgerFault {
  const bytes = new Uint8Array(MAX_CONTENT_BYTES);
  const count = file.readSync(bytes) ?? 0;
  // A process in a container has a number of its own there.
  const holder = /^\d+/.exec(new TextDecoder().decode(bytes.subarray(0, count)))?.[0];
  return new LedgerFault("locked", {
    path,
    text: `another process uses it (${holder === undefined ? "it" : `process ${holder}`} locks ${place}). ` +
      "Stop the other program (a running causeway, or a manual run) and start again",
  });
}

/** Owner and permission bits of the file. */
export interface FileOwner {
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  readonly mode: number | undefined;
}

/** State of the database; `content` is what `read` returned. */
export type DatabaseFacts<T> =
  /** Will be created. */
  | { readonly kind: "absent" }
  | {
    readonly kind: "usable";
    /** Version of its tables, and the newest that this program knows. */
    readonly version: number;
    readonly newest: number;
    readonly sizeBytes: number;
    readonly owner: FileOwner;
    /** `undefined`: the tables are of an earlier version, or there are none. */
    readonly content: T | undefined;
  }
  | { readonly kind: "unusable"; readonly fault: LedgerFault };

/**
 * Inspects the file at `path`: it is opened as the relayer opens it, so that permissions are really tried, and closed
 * again. Its content stays as it is, and nothing is created; `read` must not write.
 */
export function inspectDatabase<T>(
  path: string,
  clock: Pick<Clock, "now">,
  read: (ledger: Pick<Ledger, "submissions">) => T,
): DatabaseFacts<T> {
  try {
    refuseWrongPlace(path);
    const reason = findReason(path);
    if (reason !== undefined) return { kind: "unusable", fault: reason };
    const file = findFile(path);
    if (file === undefined) return { kind: "absent" };
    const newest = migrations.length;
    const db = connect({ path, clock }, (opened) => {
      readSchemaVersion(opened, migrations);
      refuseHeld(path);
      tryWriting(opened);
    });
    try {
      const version = readSchemaVersion(db, migrations);
      const content = version === newest ? read(createLedger(db)) : undefined;
      const owner = { uid: file.uid ?? undefined, gid: file.gid ?? undefined, mode: file.mode ?? undefined };
      return { kind: "usable", version, newest, sizeBytes: file.size, owner, content };
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof LedgerFault) return { kind: "unusable", fault: error };
    throw error;
  }
}
