/**
 * What the database of a relayer holds, also while it runs: it is read in one transaction, which holds nobody up.
 * Start reading at {@link readLedger}. Source of the tables: src/messaging/ledger/tables.ts.
 */
import { DatabaseSync } from "node:sqlite";
import { concatBytes, toHex } from "../../../src/core/encoding/bytes.ts";
import { column, type Row, RowFormat, type RowOf } from "../../../src/messaging/ledger/columns.ts";

const { text, integer, number, flag, decimal, optional } = column;
const hex = { ...text, read: (row: Row, name: string): string => toHex(column.bytes.read(row, name)) };

const message = new RowFormat({
  commitment: text,
  target: text,
  source: text,
  kind: text,
  requestCommitment: text,
  requestDest: text,
  nonce: decimal,
  seenAtHeight: integer,
  state: text,
  reason: optional(text),
  detail: optional(text),
});

/** A row of `message`. */
export type LedgerMessage = RowOf<typeof message>;

const submission = new RowFormat({
  id: number,
  chain: text,
  kind: text,
  account: optional(text),
  nonce: optional(decimal),
  hash: text,
  state: text,
  replaces: optional(number),
});

const submissionItem = new RowFormat({
  submissionId: number,
  commitment: text,
  requestCommitment: text,
  target: text,
  outcome: optional(text),
});

/** A row of `submission` with its items. */
export type LedgerSubmission = RowOf<typeof submission> & {
  readonly items: readonly Omit<RowOf<typeof submissionItem>, "submissionId">[];
};

const delivery = new RowFormat({
  commitment: text,
  dest: text,
  source: text,
  /** Lower-case hex with 0x. */
  relayer: hex,
  txHash: optional(text),
  blockHeight: integer,
  isFinal: flag,
  /** Units of the source's fee token; `undefined`: not read yet. */
  fee: optional(decimal),
  claimState: text,
  claimHubBlock: optional(integer),
});

/** A row of `delivery`. */
export type LedgerDelivery = RowOf<typeof delivery>;

const withdrawal = new RowFormat({
  id: number,
  chain: text,
  /** The account on the hub, lower-case hex with 0x. */
  address: hex,
  nonce: optional(decimal),
  /** Units of the chain's fee token. */
  amount: decimal,
  /** Best block of the hub when the row was written. */
  hubBlock: integer,
  state: text,
  /** Of the payment, once it was found. */
  commitment: optional(text),
  /** Block of the hub that holds the payment. */
  dispatchHubBlock: optional(integer),
});

const reward = new RowFormat({
  kind: text,
  chain: text,
  reference: text,
  state: text,
});

const spending = new RowFormat({
  chain: text,
  hash: text,
  purpose: text,
  rule: text,
  result: optional(text),
  maxCostWei: decimal,
  gasUsed: optional(decimal),
  gasPriceWei: optional(decimal),
  dataCostWei: optional(decimal),
  costWei: optional(decimal),
  /** In 18 decimals of a dollar. */
  costUsd18: optional(decimal),
  offeredUsd18: optional(decimal),
  revenueUsd18: optional(decimal),
  lossMicroUsd: optional(integer),
  minedAtMs: optional(number),
  createdAtMs: number,
});

/** A row of `spending`. */
export type LedgerSpending = RowOf<typeof spending>;

const cursor = new RowFormat({
  source: text,
  target: text,
  scanned: integer,
});

/** A row of `cursor`. */
export type LedgerCursor = RowOf<typeof cursor>;

/** All of it at one moment. */
export interface LedgerSnapshot {
  readonly meta: ReadonlyMap<string, string>;
  readonly cursors: readonly LedgerCursor[];
  readonly messages: readonly LedgerMessage[];
  readonly submissions: readonly LedgerSubmission[];
  readonly deliveries: readonly LedgerDelivery[];
  readonly withdrawals: readonly RowOf<typeof withdrawal>[];
  readonly rewards: readonly RowOf<typeof reward>[];
  readonly spending: readonly LedgerSpending[];
  /** Every byte of the file and its log, for searches. */
  readonly bytes: Uint8Array;
}

/** Reads the database at `path` as it is now. @throws {Deno.errors.NotFound} when there is none. */
export function readLedger(path: string): Promise<LedgerSnapshot> {
  return Promise.try(read, path);
}

function read(path: string): LedgerSnapshot {
  const bytes = concatBytes(Deno.readFileSync(path), readLog(path));
  const database = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  try {
    database.exec("BEGIN");
    return { ...readTables(database), bytes };
  } finally {
    database.close();
  }
}

/** The log beside the file, which goes with the last process that has it open. */
function readLog(path: string): Uint8Array {
  try {
    return Deno.readFileSync(`${path}-wal`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return new Uint8Array();
    throw error;
  }
}

function readTables(database: DatabaseSync): Omit<LedgerSnapshot, "bytes"> {
  const list = <T>(from: string, format: RowFormat<T>): T[] => {
    const statement = database.prepare(`SELECT * FROM ${from}`);
    statement.setReadBigInts(true);
    return statement.all().map(format.read);
  };
  const meta = list("meta", new RowFormat({ name: text, value: text }));
  const items = Map.groupBy(
    list("submission_item ORDER BY submission_id, position", submissionItem),
    ({ submissionId }) => submissionId,
  );
  return {
    meta: new Map(meta.map(({ name, value }) => [name, value])),
    cursors: list("cursor ORDER BY source, target", cursor),
    messages: list("message ORDER BY source, target, nonce", message),
    submissions: list("submission ORDER BY id", submission).map((row) => ({
      ...row,
      items: (items.get(row.id) ?? []).map(({ submissionId: _, ...item }) => item),
    })),
    deliveries: list("delivery ORDER BY dest, block_height", delivery),
    withdrawals: list("withdrawal ORDER BY id", withdrawal),
    rewards: list("reward ORDER BY kind, chain, reference", reward),
    spending: list("spending ORDER BY id", spending),
  };
}
