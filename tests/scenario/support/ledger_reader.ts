/**
 * What the database of a relayer holds, also while it runs: a copy of it is read, which holds nobody up.
 * Start reading at {@link readLedger}. Source of the tables: src/messaging/ledger/tables.ts.
 */
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { concatBytes } from "../../../src/core/encoding/bytes.ts";

type Value = SQLOutputValue | undefined;

/** What the columns of a table hold: each has the name of its field in small letters with underscores. */
type Columns = Readonly<Record<string, (value: Value, column: string) => unknown>>;

type RowOf<C extends Columns> = { readonly [F in keyof C]: ReturnType<C[F]> };

function text(value: Value, column: string): string {
  if (typeof value !== "string") throw new Error(`Column ${column}: expected text`);
  return value;
}

function integer(value: Value, column: string): bigint {
  if (typeof value !== "bigint") throw new Error(`Column ${column}: expected an integer`);
  return value;
}

function hex(value: Value, column: string): string {
  if (!(value instanceof Uint8Array)) throw new Error(`Column ${column}: expected bytes`);
  return `0x${value.toHex()}`;
}

/** A number that is kept as text, as it may have more than 64 bits. */
function amount(value: Value, column: string): bigint {
  return BigInt(text(value, column));
}

function number(value: Value, column: string): number {
  return Number(integer(value, column));
}

function flag(value: Value, column: string): boolean {
  return integer(value, column) === 1n;
}

function maybe<T>(
  read: (value: Value, column: string) => T,
): (value: Value, column: string) => T | undefined {
  return (value, column) => value === null ? undefined : read(value, column);
}

const message = {
  commitment: text,
  target: text,
  source: text,
  kind: text,
  requestCommitment: text,
  requestSource: text,
  requestDest: text,
  nonce: amount,
  seenAtHeight: integer,
  state: text,
  reason: maybe(text),
  detail: maybe(text),
  requiredUsd18: maybe(amount),
  offeredUsd18: maybe(amount),
  attempts: number,
  nextAttemptAtMs: number,
};

/** A row of `message`. Heights and times are 64-bit, amounts in 18 decimals of a dollar. */
export type LedgerMessage = RowOf<typeof message>;

const submission = {
  id: number,
  chain: text,
  kind: text,
  account: maybe(text),
  nonce: maybe(amount),
  hash: text,
  state: text,
  replaces: maybe(number),
};

const submissionItem = {
  commitment: text,
  requestCommitment: text,
  target: text,
  outcome: maybe(text),
};

/** A row of `submission` with its items. */
export type LedgerSubmission = RowOf<typeof submission> & {
  readonly items: readonly RowOf<typeof submissionItem>[];
};

const delivery = {
  commitment: text,
  dest: text,
  source: text,
  /** Lower-case hex with 0x. */
  relayer: hex,
  txHash: maybe(text),
  blockHeight: integer,
  isFinal: flag,
  /** Units of the source's fee token; `undefined`: not read yet. */
  fee: maybe(amount),
  claimState: text,
  claimHubBlock: maybe(integer),
};

/** A row of `delivery`. */
export type LedgerDelivery = RowOf<typeof delivery>;

const withdrawal = {
  id: number,
  chain: text,
  /** The account on the hub, lower-case hex with 0x. */
  address: hex,
  nonce: maybe(amount),
  /** Units of the chain's fee token. */
  amount: amount,
  /** Best block of the hub when the row was written. */
  hubBlock: integer,
  state: text,
  /** Of the payment, once it was found. */
  commitment: maybe(text),
  /** Block of the hub that holds the payment. */
  dispatchHubBlock: maybe(integer),
};

/** A row of `withdrawal`. */
export type LedgerWithdrawal = RowOf<typeof withdrawal>;

const reward = {
  kind: text,
  chain: text,
  reference: text,
  state: text,
};

/** A row of `reward`. */
export type LedgerReward = RowOf<typeof reward>;

const spending = {
  chain: text,
  hash: text,
  purpose: text,
  rule: text,
  result: maybe(text),
  maxCostWei: amount,
  gasUsed: maybe(amount),
  gasPriceWei: maybe(amount),
  dataCostWei: maybe(amount),
  costWei: maybe(amount),
  /** In 18 decimals of a dollar. */
  costUsd18: maybe(amount),
  offeredUsd18: maybe(amount),
  revenueUsd18: maybe(amount),
  lossMicroUsd: maybe(integer),
  minedAtMs: maybe(number),
  createdAtMs: number,
};

/** A row of `spending`. */
export type LedgerSpending = RowOf<typeof spending>;

const cursor = {
  source: text,
  target: text,
  scanned: integer,
};

/** A row of `cursor`. */
export type LedgerCursor = RowOf<typeof cursor>;

/** All of it at one moment. */
export interface LedgerSnapshot {
  readonly meta: ReadonlyMap<string, string>;
  readonly cursors: readonly LedgerCursor[];
  readonly messages: readonly LedgerMessage[];
  readonly submissions: readonly LedgerSubmission[];
  readonly deliveries: readonly LedgerDelivery[];
  readonly withdrawals: readonly LedgerWithdrawal[];
  readonly rewards: readonly LedgerReward[];
  readonly spending: readonly LedgerSpending[];
  /** Every byte of the file and its log, for searches. */
  readonly bytes: Uint8Array;
}

/** The file could not be read as a whole although several copies were taken. */
export class LedgerReadFault extends Error {
  override readonly name = "LedgerReadFault";
  readonly code = "no_consistent_copy";
}

const MAX_COPIES = 20;

/**
 * Copies the database at `path` with its log and reads the copy. A copy taken while the log is folded into the file
 * may be torn; then another one is taken.
 * @throws {Deno.errors.NotFound} when there is no database.
 * @throws {LedgerReadFault} when no copy is whole.
 */
export async function readLedger(path: string): Promise<LedgerSnapshot> {
  const folder = await Deno.makeTempDir({ prefix: "ledger-" });
  try {
    let last: unknown;
    for (let attempt = 0; attempt < MAX_COPIES; attempt++) {
      const copy = `${folder}/${attempt}.db`;
      const before = await versionOf(path);
      await Deno.copyFile(path, copy);
      await copyIfThere(`${path}-wal`, `${copy}-wal`);
      if (before === await versionOf(path)) {
        try {
          return readCopy(copy);
        } catch (error) {
          last = error;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new LedgerReadFault(`No consistent copy of ${path} after ${MAX_COPIES} attempts`, { cause: last });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Changes whenever the database file itself is written. */
async function versionOf(path: string): Promise<string> {
  const { size, mtime } = await Deno.stat(path);
  return `${size} ${mtime?.getTime()}`;
}

async function copyIfThere(from: string, to: string): Promise<void> {
  try {
    await Deno.copyFile(from, to);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

function readCopy(path: string): LedgerSnapshot {
  const bytes = readBytes(path);
  const database = new DatabaseSync(path);
  try {
    const check = database.prepare("PRAGMA integrity_check(1)").get()?.integrity_check;
    if (check !== "ok") throw new Error(`Torn copy: ${check}`);
    const items = Map.groupBy(
      readRows(database, "submission_item ORDER BY submission_id, position", {
        submissionId: number,
        ...submissionItem,
      }),
      ({ submissionId }) => submissionId,
    );
    return {
      meta: new Map(
        readRows(database, "meta", { name: text, value: text }).map(({ name, value }) => [name, value]),
      ),
      cursors: readRows(database, "cursor ORDER BY source, target", cursor),
      messages: readRows(database, "message ORDER BY source, target, nonce", message),
      submissions: readRows(database, "submission ORDER BY id", submission).map((row) => ({
        ...row,
        items: (items.get(row.id) ?? []).map(({ submissionId: _, ...item }) => item),
      })),
      deliveries: readRows(database, "delivery ORDER BY dest, block_height", delivery),
      withdrawals: readRows(database, "withdrawal ORDER BY id", withdrawal),
      rewards: readRows(database, "reward ORDER BY kind, chain, reference", reward),
      spending: readRows(database, "spending ORDER BY id", spending),
      bytes,
    };
  } finally {
    database.close();
  }
}

function readBytes(path: string): Uint8Array {
  const parts = [Deno.readFileSync(path)];
  try {
    parts.push(Deno.readFileSync(`${path}-wal`));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  return concatBytes(...parts);
}

/** The rows of `from`, a table and its order. */
function readRows<C extends Columns>(database: DatabaseSync, from: string, columns: C): RowOf<C>[] {
  const statement = database.prepare(`SELECT * FROM ${from}`);
  statement.setReadBigInts(true);
  return statement.all().map((row) => readRow(row, columns));
}

function readRow<C extends Columns>(row: Record<string, SQLOutputValue>, columns: C): RowOf<C> {
  const fields = Object.entries(columns).map(([field, read]) => {
    const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [field, read(row[column], column)];
  });
  return Object.fromEntries(fields);
}
