/**
 * Opening the database file: the only part of the ledger that touches the file system. Every way in which it can
 * fail is a `LedgerFault` that names the path and what to do.
 */
import type { Clock } from "../../core/runtime/clock.ts";
import type { Log } from "../../core/telemetry/log.ts";
import { Database, toLedgerFault } from "./database.ts";
import { LedgerFault } from "./fault.ts";
import { createLedger, type Ledger } from "./ledger.ts";
import { migrations as allMigrations } from "./migrations/all.ts";
import { checkAtStart, migrate, type Migration, readSchemaVersion, shrink } from "./schema.ts";
import { dirname, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Dependencies of {@link openLedger}. */
export interface OpenDeps {
  readonly clock: Pick<Clock, "now">;
  readonly log?: Pick<Log, "info"> | undefined;
  /** Migrations; all known ones when absent. For tests of upgrades. */
  readonly migrations?: readonly Migration[];
}

/**
 * Opens (or creates) the database of the messaging relayer, locks it exclusively, checks it and migrates its tables;
 * before that an existing file is copied to `<path>.backup-v<N>`, N being its old version.
 * @throws {LedgerFault}
 */
export function openLedger(path: string, deps: OpenDeps): Ledger {
  return createLedger(openDatabase(path, deps));
}

/**
 * Opens an existing database for reading only, while no other process has it open.
 * @throws {LedgerFault}
 */
export function openReadOnlyLedger(path: string, { clock }: Pick<OpenDeps, "clock">): Ledger {
  return createLedger(openReadOnlyDatabase(path, clock));
}

/** As {@link openReadOnlyLedger}, without the tables' queries. */
export function openReadOnlyDatabase(path: string, clock: OpenDeps["clock"]): Database {
  refuseWrongPlace(path);
  if (findFile(path) === undefined) {
    throw new LedgerFault("io", {
      path,
      text: "there is no such file. Name the relayer's database with --db",
    });
  }
  return connect({ path, clock, readOnly: true }, (db) => {
    db.execute("PRAGMA busy_timeout = 500"); // a relayer that runs keeps it locked
    const version = guardOpening(path, () => readSchemaVersion(db, allMigrations.length));
    if (version === allMigrations.length) return;
    const text = version === 0
      ? "it is empty: no relayer has used it yet"
      : "it was written by an older version of this program. Start the relayer once, which brings it up to date";
    throw new LedgerFault("io", { path, text });
  });
}

/** As {@link openLedger}, without the tables' queries. */
export function openDatabase(path: string, deps: OpenDeps): Database {
  const steps = deps.migrations ?? allMigrations;
  refuseWrongPlace(path);
  let db = connectForWriting(path, steps.length, deps.clock);
  try {
    const version = readSchemaVersion(db, steps.length);
    checkAtStart(db, fileSize(path));
    if (version > 0 && version < steps.length) {
      db = backUp(db, { version, newest: steps.length }, deps);
    }
    migrate(db, steps, version);
    shrink(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function connectForWriting(path: string, newest: number, clock: OpenDeps["clock"]): Database {
  return connectLocked({ path, newest, clock }, (db) => {
    db.execute("PRAGMA auto_vacuum = INCREMENTAL");
    db.row("PRAGMA journal_mode = WAL");
    db.execute("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA journal_size_limit = 16777216;");
    db.run("BEGIN IMMEDIATE");
    db.run("COMMIT");
  });
}

/**
 * Opens the file, takes its lock, which lasts until the connection is closed or the process dies, and makes sure that
 * it is ours before `prepare` touches it.
 * @param file.newest newest version of the tables that this program knows
 * @throws {LedgerFault}
 */
export function connectLocked(
  { path, newest, clock }: {
    readonly path: string;
    readonly newest: number;
    readonly clock: OpenDeps["clock"];
  },
  prepare: (db: Database) => void,
): Database {
  return connect({ path, clock, readOnly: false }, (db) =>
    guardOpening(path, () => {
      // The order matters: exclusive mode before WAL keeps the index in memory and locks out other processes.
      db.row("PRAGMA locking_mode = EXCLUSIVE");
      // Ownership is checked before anything is written: foreign files must not change.
      readSchemaVersion(db, newest);
      prepare(db);
    }));
}

/** Opens the file and prepares the connection, which is closed again when that fails. */
function connect(
  { path, clock, readOnly }: {
    readonly path: string;
    readonly clock: OpenDeps["clock"];
    readonly readOnly: boolean;
  },
  prepare: (db: Database) => void,
): Database {
  // An absolute path is never interpreted as one of SQLite's special names (":memory:", "file:...").
  const db = guardOpening(
    path,
    () => new Database(new DatabaseSync(resolve(path), { readOnly }), path, clock),
  );
  try {
    prepare(db);
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
    if (fault !== undefined && fault.code !== "io" && fault.code !== "readonly") throw fault;
    throw findReason(path) ?? fault ??
      new LedgerFault("io", { path, text: "it cannot be opened", cause: error });
  }
}

/** @throws {LedgerFault} when there is no directory for the file, or something else in its place. */
export function refuseWrongPlace(path: string): void {
  const directory = dirname(resolve(path));
  const parent = statOrUndefined(directory, path);
  if (parent === undefined) {
    throw new LedgerFault("no_directory", {
      path,
      text: `the directory ${directory} does not exist. Create it first`,
    });
  }
  if (!parent.isDirectory) {
    throw new LedgerFault("no_directory", {
      path,
      text: `${directory} is not a directory. Name another path with --db`,
    });
  }
  const file = findFile(path);
  if (file !== undefined && !file.isFile) {
    const kind = file.isDirectory ? "a directory" : "not a regular file";
    throw new LedgerFault("not_a_file", { path, text: `it is ${kind}. Name a file with --db` });
  }
}

/** The file at the path of a database; `undefined`: there is none. @throws {LedgerFault} */
export function findFile(path: string): Deno.FileInfo | undefined {
  return statOrUndefined(resolve(path), path);
}

function statOrUndefined(place: string, path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(place);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    if (error instanceof Deno.errors.NotADirectory) return undefined;
    throw toFileFault(error, path, place);
  }
}

function fileSize(path: string): bigint {
  return BigInt(Deno.statSync(resolve(path)).size);
}

/** Tests what SQLite needs, to report what fails; `undefined` when nothing does. */
export function findReason(path: string): LedgerFault | undefined {
  const file = resolve(path);
  const directory = dirname(file);
  try {
    if (statOrUndefined(file, path) !== undefined) Deno.openSync(file, { read: true, write: true }).close();
  } catch (error) {
    return toFileFault(error, path, file);
  }
  const probe = `${file}.probe`;
  try {
    Deno.openSync(probe, { write: true, create: true }).close();
    Deno.removeSync(probe);
    return undefined;
  } catch (error) {
    return toFileFault(error, path, directory);
  }
}

/** Converts an error of the operating system at `place` to a fault of the database at `path`. */
export function toFileFault(error: unknown, path: string, place: string): LedgerFault {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOSPC" || code === "EDQUOT") {
    return new LedgerFault("full", {
      path,
      text: "no space left on the device. Free some space and start again",
      cause: error,
    });
  }
  if (code === "EROFS") {
    const text = `${place} is on a file system that is mounted read-only. Map a writable directory`;
    return new LedgerFault("readonly", { path, text, cause: error });
  }
  if (error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable) {
    return new LedgerFault("denied", { path, text: deniedText(place), cause: error });
  }
  const reason = error instanceof Error ? error.message : String(error);
  return new LedgerFault("io", { path, text: `${place}: ${reason}`, cause: error });
}

function deniedText(place: string): string {
  return `this user may not read and write ${place}${
    ownerText(place)
  }. Give the directory to the user that runs ` +
    `the program; in a container any user will do: chown -R 65532:65532 the mapped directory, or run with ` +
    `--user "$(id -u):$(id -g)"`;
}

function ownerText(place: string): string {
  try {
    const { uid, gid } = Deno.statSync(place);
    return uid === null ? "" : ` (owned by ${uid}:${gid})`;
  } catch {
    return ""; // the owner is optional information
  }
}

/**
 * Copies the file next to itself. It must be closed meanwhile: closing any descriptor of a file drops all of the
 * process's locks on it (POSIX), so the copy of an open file would unlock it.
 */
function backUp(
  db: Database,
  { version, newest }: { readonly version: number; readonly newest: number },
  deps: OpenDeps,
): Database {
  const { path } = db;
  db.row("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  const copy = `${resolve(path)}.backup-v${version}`;
  const unfinished = `${copy}.tmp`;
  try {
    Deno.copyFileSync(resolve(path), unfinished);
    const file = Deno.openSync(unfinished, { read: true, write: true });
    file.syncSync();
    file.close();
    Deno.renameSync(unfinished, copy);
  } catch (error) {
    throw toFileFault(error, path, copy);
  }
  deps.log?.info("database_copied", { copy, from: version, to: newest });
  const again = connectForWriting(path, newest, deps.clock);
  if (readSchemaVersion(again, newest) !== version) {
    again.close();
    throw new LedgerFault("locked", {
      path,
      text: "another process changed it at the same time. Start again",
    });
  }
  return again;
}
