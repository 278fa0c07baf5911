/** Connection to the database file: cached statements, transactions, and faults as data. */
import type { Clock } from "../../core/runtime/clock.ts";
import type { Parameters, Row } from "./columns.ts";
import { LedgerFault, type LedgerFaultCode } from "./fault.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";

/** Result code of SQLite (https://sqlite.org/rescode.html) that is a fault of the file, not of the caller. */
interface KnownResult {
  readonly primary: number;
  /** SQLite's message for it (`sqlite3_errstr`). */
  readonly words: string;
  readonly code: LedgerFaultCode;
  readonly text: string;
}

const knownResults: readonly KnownResult[] = [
  {
    primary: 5,
    words: "database is locked",
    code: "busy",
    text: "another process keeps it locked (a tool that writes to it?). End that process",
  },
  { primary: 6, words: "database table is locked", code: "locked", text: "it is in use within this process" },
  {
    primary: 8,
    words: "attempt to write a readonly database",
    code: "readonly",
    text: "it cannot be written. Check the permissions of the file and how its file system is mounted",
  },
  {
    primary: 10,
    words: "disk I/O error",
    code: "io",
    text: "the operating system reported a read or write error. Check the disk, its space and its quota",
  },
  {
    primary: 11,
    words: "database disk image is malformed",
    code: "corrupt",
    text: "its content is damaged. Restore a copy, or move the file away and start with a new one",
  },
  {
    primary: 13,
    words: "database or disk is full",
    code: "full",
    text: "no space left on the device. Free some space",
  },
  {
    primary: 14,
    words: "unable to open database file",
    code: "io",
    text: "it, or a file beside it, cannot be opened. Check the permissions of the directory",
  },
  {
    primary: 26,
    words: "file is not a database",
    code: "corrupt",
    text: "the file is not a database. Name another file with --db",
  },
];

/**
 * Converts the error of a statement to a fault of the file, or `undefined` when it is none (a violated constraint, a
 * defect). Errors of statements carry SQLite's extended result code as `errcode`, whose low byte is the primary code;
 * those of opening and of scripts only carry its message.
 */
export function toLedgerFault(error: unknown, path: string): LedgerFault | undefined {
  if (error instanceof LedgerFault) return error;
  if (!(error instanceof Error)) return undefined;
  const primary = "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
  const known = knownResults.find((result) =>
    primary === undefined ? error.message.startsWith(result.words) : primary === result.primary
  );
  return known && new LedgerFault(known.code, { path, text: known.text, cause: error });
}

/** Database connection. Statements are prepared once and cached: there are as many as queries in this folder. */
export class Database {
  readonly path: string;
  readonly #sqlite: DatabaseSync;
  readonly #clock: Pick<Clock, "now">;
  readonly #statements = new Map<string, StatementSync>();
  readonly #endings: (() => void)[] = [];
  #isInTransaction = false;
  #fault: LedgerFault | undefined;
  #onFault: (fault: LedgerFault | undefined) => void = () => {};

  /** `clock` dates the rows. */
  constructor(sqlite: DatabaseSync, path: string, clock: Pick<Clock, "now">) {
    this.#sqlite = sqlite;
    this.path = path;
    this.#clock = clock;
  }

  /** Time that rows are dated with, Unix milliseconds. */
  now(): number {
    return this.#clock.now();
  }

  /** The fault of the file that a statement met, until {@link noteWritten}; `undefined`: none. */
  get fault(): LedgerFault | undefined {
    return this.#fault;
  }

  /** Calls `listener` when {@link fault} begins and ends. It must not throw. */
  watchFault(listener: (fault: LedgerFault | undefined) => void): void {
    this.#onFault = listener;
  }

  /** Notes that the file can be written. */
  noteWritten(): void {
    this.#setFault(undefined);
  }

  /** Runs statements without parameters and results (schema, pragmas). */
  execute(sql: string): void {
    this.#guard(() => this.#sqlite.exec(sql));
  }

  /** Runs a statement that changes rows. */
  run(sql: string, parameters: Parameters = {}): { readonly changes: number; readonly lastId: number } {
    const result = this.#guard(() => this.#prepare(sql).run(bind(parameters)));
    return { changes: Number(result.changes), lastId: Number(result.lastInsertRowid) };
  }

  /** Inserts a row, by the names of its columns. @param onConflict SQL: what is done when its key is there already */
  insert(table: string, row: Parameters, onConflict = ""): ReturnType<Database["run"]> {
    const names = Object.keys(row);
    const values = names.map((name) => `:${name}`).join(", ");
    return this.run(`INSERT INTO ${table} (${names.join(", ")}) VALUES (${values}) ${onConflict}`, row);
  }

  /** Inserts a row, or replaces the one with its key but for the time of its creation. */
  put(table: string, key: readonly string[], row: Parameters): void {
    const changed = Object.keys(row).filter((name) => !key.includes(name) && name !== "created_at_ms");
    const set = changed.map((name) => `${name} = excluded.${name}`).join(", ");
    this.insert(table, row, `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${set}`);
  }

  /** Changes the row with a key. */
  set(table: string, key: Parameters, change: Parameters): void {
    this.update(table, change, equations(key).join(" AND "), key);
  }

  /** Changes the rows that match a condition; returns their number. */
  update(table: string, change: Parameters, where: string, parameters: Parameters): number {
    const set = equations(change).join(", ");
    return this.run(`UPDATE ${table} SET ${set} WHERE ${where}`, { ...parameters, ...change }).changes;
  }

  /** Removes the row with a key; returns how many there were. */
  remove(table: string, key: Parameters): number {
    return this.run(`DELETE FROM ${table} WHERE ${equations(key).join(" AND ")}`, key).changes;
  }

  /** The row with a key, as `read` reads it. */
  find<T>(table: string, key: Parameters, read: (row: Row) => T): T | undefined {
    const row = this.row(`SELECT * FROM ${table} WHERE ${equations(key).join(" AND ")}`, key);
    return row && read(row);
  }

  /** First row of a query. */
  row(sql: string, parameters: Parameters = {}): Row | undefined {
    return this.#guard(() => this.#prepare(sql).get(bind(parameters)));
  }

  /**
   * Returns all rows of a query: limit it with `LIMIT :limit + 0` where the table can be large. SQLite recompiles a
   * statement whose LIMIT is a bare parameter on every call (https://sqlite.org/src: computeLimitRegisters in
   * select.c), which takes ten times as long as running it.
   */
  rows(sql: string, parameters: Parameters = {}): readonly Row[] {
    return this.#guard(() => this.#prepare(sql).all(bind(parameters)));
  }

  /**
   * Runs `work` between BEGIN IMMEDIATE and COMMIT; rolls back when it throws.
   * @throws {Error} a defect: called within another transaction, or with asynchronous work.
   */
  transaction<T>(work: () => T): T {
    if (this.#isInTransaction) throw new Error("Transactions of the ledger do not nest");
    this.run("BEGIN IMMEDIATE");
    this.#isInTransaction = true;
    try {
      const result = work();
      if (result instanceof Promise) throw new Error("The work of a transaction must not be asynchronous");
      this.run("COMMIT");
      return result;
    } catch (error) {
      // After some faults (a full disk) SQLite has already rolled back.
      if (this.#sqlite.isTransaction) this.run("ROLLBACK");
      throw error;
    } finally {
      this.#isInTransaction = false;
    }
  }

  /** Adds what is done once, after the connection has been closed. */
  atClose(end: () => void): void {
    this.#endings.push(end);
  }

  /** Closes the connection. */
  close(): void {
    this.#statements.clear();
    if (this.#sqlite.isOpen) this.#sqlite.close();
    for (const end of this.#endings.splice(0)) end();
  }

  #prepare(sql: string): StatementSync {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#sqlite.prepare(sql);
    statement.setReadBigInts(true);
    this.#statements.set(sql, statement);
    return statement;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      const fault = toLedgerFault(error, this.path);
      if (fault !== undefined) this.#setFault(fault);
      throw fault ?? error;
    }
  }

  #setFault(fault: LedgerFault | undefined): void {
    const isNews = this.#fault?.code !== fault?.code;
    this.#fault = fault;
    if (isNews) this.#onFault(fault);
  }
}

/** Part of the ledger over one table or several. */
export class Table {
  protected readonly db: Database;

  constructor(db: Database) {
    this.db = db;
  }
}

function equations(values: Parameters): readonly string[] {
  return Object.keys(values).map((name) => `${name} = :${name}`);
}

type Bound = Readonly<Record<string, Exclude<Parameters[string], undefined>>>;

function bind(parameters: Parameters): Bound {
  const bound: Record<string, Bound[string]> = {};
  for (const name in parameters) bound[name] = parameters[name] ?? null;
  return bound;
}
