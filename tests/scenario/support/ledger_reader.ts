/**
 * What the database of a relayer holds, also while it runs: a copy of it is read, which holds nobody up.
 * Start reading at {@link readLedger}. Source of the tables: src/messaging/ledger/tables.ts.
 */
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import { concatBytes } from "../../../src/core/encoding/bytes.ts";

/** A row of `message`. Heights and times are 64-bit, amounts in 18 decimals of a dollar. */
export interface LedgerMessage {
  readonly commitment: string;
  readonly target: string;
  readonly source: string;
  readonly kind: string;
  readonly requestCommitment: string;
  readonly requestSource: string;
  readonly requestDest: string;
  readonly nonce: bigint;
  readonly seenAtHeight: bigint;
  readonly state: string;
  readonly reason: string | undefined;
  readonly detail: string | undefined;
  readonly requiredUsd18: bigint | undefined;
  readonly offeredUsd18: bigint | undefined;
  readonly attempts: number;
  readonly nextAttemptAtMs: number;
}

/** A row of `submission` with its items. */
export interface LedgerSubmission {
  readonly id: number;
  readonly chain: string;
  readonly kind: string;
  readonly account: string | undefined;
  readonly nonce: bigint | undefined;
  readonly hash: string;
  readonly state: string;
  readonly replaces: number | undefined;
  readonly items: readonly {
    readonly commitment: string;
    readonly requestCommitment: string;
    readonly target: string;
    readonly outcome: string | undefined;
  }[];
}

/** A row of `delivery`. */
export interface LedgerDelivery {
  readonly commitment: string;
  readonly dest: string;
  readonly source: string;
  /** Lower-case hex with 0x. */
  readonly relayer: string;
  readonly txHash: string | undefined;
  readonly blockHeight: bigint;
  readonly isFinal: boolean;
  /** Units of the source's fee token; `undefined`: not read yet. */
  readonly fee: bigint | undefined;
  readonly claimState: string;
  readonly claimHubBlock: bigint | undefined;
}

/** A row of `withdrawal`. */
export interface LedgerWithdrawal {
  readonly id: number;
  readonly chain: string;
  /** The account on the hub, lower-case hex with 0x. */
  readonly address: string;
  readonly nonce: bigint | undefined;
  /** Units of the chain's fee token. */
  readonly amount: bigint;
  /** Best block of the hub when the row was written. */
  readonly hubBlock: bigint;
  readonly state: string;
  /** Of the payment, once it was found. */
  readonly commitment: string | undefined;
  /** Block of the hub that holds the payment. */
  readonly dispatchHubBlock: bigint | undefined;
}

/** A row of `reward`. */
export interface LedgerReward {
  readonly kind: string;
  readonly chain: string;
  readonly reference: string;
  readonly state: string;
}

/** A row of `spending`. */
export interface LedgerSpending {
  readonly chain: string;
  readonly hash: string;
  readonly purpose: string;
  readonly rule: string;
  readonly result: string | undefined;
  readonly maxCostWei: bigint;
  readonly gasUsed: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly dataCostWei: bigint | undefined;
  readonly costWei: bigint | undefined;
  /** In 18 decimals of a dollar. */
  readonly costUsd18: bigint | undefined;
  readonly offeredUsd18: bigint | undefined;
  readonly revenueUsd18: bigint | undefined;
  readonly lossMicroUsd: bigint | undefined;
  readonly minedAtMs: number | undefined;
  readonly createdAtMs: number;
}

/** A row of `cursor`. */
export interface LedgerCursor {
  readonly source: string;
  readonly target: string;
  readonly scanned: bigint;
}

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
    const [check] = query(database, "PRAGMA integrity_check(1)");
    if (check?.integrity_check !== "ok") throw new Error(`Torn copy: ${check?.integrity_check}`);
    const items = Map.groupBy(
      query(database, "SELECT * FROM submission_item ORDER BY submission_id, position"),
      (row) => Number(row.submission_id),
    );
    return {
      meta: new Map(
        query(database, "SELECT * FROM meta").map((row) => [text(row, "name"), text(row, "value")]),
      ),
      cursors: query(database, "SELECT * FROM cursor ORDER BY source, target").map(readCursor),
      messages: query(database, "SELECT * FROM message ORDER BY source, target, nonce").map(readMessage),
      submissions: query(database, "SELECT * FROM submission ORDER BY id").map((row) =>
        readSubmission(row, items.get(Number(row.id)) ?? [])
      ),
      deliveries: query(database, "SELECT * FROM delivery ORDER BY dest, block_height").map(readDelivery),
      withdrawals: query(database, "SELECT * FROM withdrawal ORDER BY id").map(readWithdrawal),
      rewards: query(database, "SELECT * FROM reward ORDER BY kind, chain, reference").map(readReward),
      spending: query(database, "SELECT * FROM spending ORDER BY id").map(readSpending),
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

type Row = Readonly<Record<string, SQLOutputValue>>;

function query(database: DatabaseSync, sql: string): Row[] {
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all();
}

function readCursor(row: Row): LedgerCursor {
  return { source: text(row, "source"), target: text(row, "target"), scanned: integer(row, "scanned") };
}

function readMessage(row: Row): LedgerMessage {
  return {
    commitment: text(row, "commitment"),
    target: text(row, "target"),
    source: text(row, "source"),
    kind: text(row, "kind"),
    requestCommitment: text(row, "request_commitment"),
    requestSource: text(row, "request_source"),
    requestDest: text(row, "request_dest"),
    nonce: BigInt(text(row, "nonce")),
    seenAtHeight: integer(row, "seen_at_height"),
    state: text(row, "state"),
    reason: maybe(row, "reason"),
    detail: maybe(row, "detail"),
    requiredUsd18: amount(row, "required_usd18"),
    offeredUsd18: amount(row, "offered_usd18"),
    attempts: Number(integer(row, "attempts")),
    nextAttemptAtMs: Number(integer(row, "next_attempt_at_ms")),
  };
}

function readSubmission(row: Row, items: readonly Row[]): LedgerSubmission {
  const replaces = row.replaces;
  return {
    id: Number(integer(row, "id")),
    chain: text(row, "chain"),
    kind: text(row, "kind"),
    account: maybe(row, "account"),
    nonce: amount(row, "nonce"),
    hash: text(row, "hash"),
    state: text(row, "state"),
    replaces: replaces === null ? undefined : Number(replaces),
    items: items.map((item) => ({
      commitment: text(item, "commitment"),
      requestCommitment: text(item, "request_commitment"),
      target: text(item, "target"),
      outcome: maybe(item, "outcome"),
    })),
  };
}

function readDelivery(row: Row): LedgerDelivery {
  return {
    commitment: text(row, "commitment"),
    dest: text(row, "dest"),
    source: text(row, "source"),
    relayer: hex(row, "relayer"),
    txHash: maybe(row, "tx_hash"),
    blockHeight: integer(row, "block_height"),
    isFinal: integer(row, "is_final") === 1n,
    fee: amount(row, "fee"),
    claimState: text(row, "claim_state"),
    claimHubBlock: maybeInteger(row, "claim_hub_block"),
  };
}

function readWithdrawal(row: Row): LedgerWithdrawal {
  return {
    id: Number(integer(row, "id")),
    chain: text(row, "chain"),
    address: hex(row, "address"),
    nonce: amount(row, "nonce"),
    amount: BigInt(text(row, "amount")),
    hubBlock: integer(row, "hub_block"),
    state: text(row, "state"),
    commitment: maybe(row, "commitment"),
    dispatchHubBlock: maybeInteger(row, "dispatch_hub_block"),
  };
}

function readReward(row: Row): LedgerReward {
  return {
    kind: text(row, "kind"),
    chain: text(row, "chain"),
    reference: text(row, "reference"),
    state: text(row, "state"),
  };
}

function readSpending(row: Row): LedgerSpending {
  const minedAtMs = maybeInteger(row, "mined_at_ms");
  return {
    chain: text(row, "chain"),
    hash: text(row, "hash"),
    purpose: text(row, "purpose"),
    rule: text(row, "rule"),
    result: maybe(row, "result"),
    maxCostWei: BigInt(text(row, "max_cost_wei")),
    gasUsed: amount(row, "gas_used"),
    gasPriceWei: amount(row, "gas_price_wei"),
    dataCostWei: amount(row, "data_cost_wei"),
    costWei: amount(row, "cost_wei"),
    costUsd18: amount(row, "cost_usd18"),
    offeredUsd18: amount(row, "offered_usd18"),
    revenueUsd18: amount(row, "revenue_usd18"),
    lossMicroUsd: maybeInteger(row, "loss_micro_usd"),
    minedAtMs: minedAtMs === undefined ? undefined : Number(minedAtMs),
    createdAtMs: Number(integer(row, "created_at_ms")),
  };
}

function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== "string") throw new Error(`Column ${column}: expected text`);
  return value;
}

function maybe(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : text(row, column);
}

function integer(row: Row, column: string): bigint {
  const value = row[column];
  if (typeof value !== "bigint") throw new Error(`Column ${column}: expected an integer`);
  return value;
}

function maybeInteger(row: Row, column: string): bigint | undefined {
  return row[column] === null ? undefined : integer(row, column);
}

function hex(row: Row, column: string): string {
  const value = row[column];
  if (!(value instanceof Uint8Array)) throw new Error(`Column ${column}: expected bytes`);
  return `0x${value.toHex()}`;
}

function amount(row: Row, column: string): bigint | undefined {
  const found = maybe(row, column);
  return found === undefined ? undefined : BigInt(found);
}
