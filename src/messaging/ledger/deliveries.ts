/** Table `delivery`: receipts of our own deliveries, from inclusion until the fee is claimed (I4, I7). */
import { type Hash256, toHex } from "../../core/encoding/bytes.ts";
import { compareIntegers } from "../../core/encoding/scale.ts";
import { IdentifierError, type StateMachine } from "../../core/ismp/state_machine.ts";
import {
  findDecimal,
  findHash,
  findInteger,
  type Parameters,
  readBytes,
  readHash,
  readInteger,
  readNumber,
  readOneOf,
  readStateMachine,
  readText,
  type Row,
  toDecimal,
  toHeight,
} from "./columns.ts";
import type { Database } from "./database.ts";

/** Every {@link ClaimState}. */
export const claimStates = ["unclaimed", "claiming", "claimed", "no_fee", "lost", "unclaimable"] as const;

/**
 * `no_fee`: the request pays nothing. `lost`: the destination has no receipt of ours, or no longer. `unclaimable`: the
 * hub does not know the request.
 */
export type ClaimState = typeof claimStates[number];

/** Block of the destination; the hash is unknown for receipts found after the fact. */
export interface DeliveryBlock {
  readonly height: bigint;
  readonly hash: Hash256 | undefined;
}

/** Key of a delivery. */
export interface DeliveryKey {
  /** Of the request. */
  readonly commitment: Hash256;
  readonly dest: StateMachine;
}

/** Where and by whom something was delivered. */
export interface DeliveryReceipt {
  /** Relayer id in the receipt. */
  readonly relayer: Uint8Array;
  readonly txHash: Hash256 | undefined;
  readonly block: DeliveryBlock;
  readonly isFinal: boolean;
}

/** A message of which there is a receipt of ours. */
export interface DeliveredMessage extends DeliveryKey {
  /** Chain where the fee was paid. */
  readonly source: StateMachine;
  /** Fee in units of the source's fee token, if known. */
  readonly fee?: bigint | undefined;
  /** False when there is nothing to claim: the record is `no_fee` from the start. True when absent. */
  readonly isPaid?: boolean | undefined;
}

/** Receipt of ours. */
export interface NewDelivery extends DeliveredMessage, DeliveryReceipt {}

/** A delivery as stored. */
export interface DeliveryRow extends Omit<NewDelivery, "isPaid"> {
  readonly fee: bigint | undefined;
  readonly claimState: ClaimState;
  /** Block of the hub that recorded the claim. */
  readonly claimHubBlock: bigint | undefined;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** Unclaimed final deliveries that can share a claim. */
export interface ClaimPair {
  readonly source: StateMachine;
  readonly dest: StateMachine;
  readonly relayer: Uint8Array;
  readonly count: number;
  readonly oldestBlock: bigint;
  readonly newestBlock: bigint;
}

/** The delivery records. Every method may throw a `LedgerFault`. */
export interface Deliveries {
  /**
   * Inserts or refreshes the record (transaction, block, finality, relayer, fee if given). The claim state is kept,
   * except that `lost` starts over, and that unpaid records are no longer `unclaimed`. A final record never becomes
   * non-final.
   */
  record(delivery: NewDelivery): void;
  /** As {@link record} for the messages of one transaction. */
  recordAll(deliveries: readonly DeliveredMessage[], receipt: DeliveryReceipt): void;
  find(commitment: Hash256, dest: StateMachine): DeliveryRow | undefined;
  /** Oldest block first. */
  listNotFinal(dest: StateMachine, limit?: number): DeliveryRow[];
  /** As {@link listNotFinal}, only receipts whose block is not known: those found after the fact, and lost ones. */
  listFoundNotFinal(dest: StateMachine): DeliveryRow[];
  /**
   * Marks a record as final; a lost one is claimed once the hub knows `height`, at which the receipt is there.
   * @returns false when there is no such record.
   */
  markFinal(commitment: Hash256, dest: StateMachine, height: bigint): boolean;
  /** As {@link markFinal} for several records; those that do not exist are left out. */
  markAllFinal(commitments: readonly Hash256[], dest: StateMachine): void;
  /** Removes a record whose block was reorganised; false when there is none or it is claimed. */
  remove(commitment: Hash256, dest: StateMachine): boolean;
  setFee(commitment: Hash256, dest: StateMachine, fee: bigint): void;
  /** Addresses that delivered for us and may have been credited with fees of `source`. */
  listRelayers(source: StateMachine): Uint8Array[];
  /** Counts records whose chains are unknown to the protocol; the lists below omit them. */
  countUnreadable(): number;
  countByClaimState(): { readonly claimState: ClaimState; readonly count: number }[];
  /** Pairs that have final unclaimed rows, oldest block first. */
  listClaimPairs(): ClaimPair[];
  /** Final unclaimed rows at or below `maxBlock`, oldest block first. */
  listUnclaimed(query: {
    readonly source: StateMachine;
    readonly dest: StateMachine;
    readonly relayer: Uint8Array;
    readonly maxBlock: bigint;
    readonly limit: number;
  }): DeliveryRow[];
  /** Rows in a claim state, by time of their last change; paginated by `offset`. */
  listByClaimState(
    claimState: ClaimState,
    page: { readonly limit: number; readonly offset?: number },
  ): DeliveryRow[];
  /** @throws {Error} a defect: no such record, or a claimed one is set to anything else. */
  setClaimState(key: DeliveryKey, to: ClaimState, hubBlock?: bigint): void;
}

const byKey = "commitment = :commitment AND dest = :dest";

// Must be written as in the index, or SQLite does not use it.
const isClaimable = "claim_state = 'unclaimed' AND is_final = 1";

/** Maximum number of rows of {@link Deliveries.listNotFinal} by default. */
const defaultLimit = 1_000;

/** The delivery records in a database. */
export function openDeliveries(db: Database): Deliveries {
  const change = (set: string, where: string, parameters: Parameters): boolean =>
    db.run(`UPDATE delivery SET ${set}, updated_at_ms = :now WHERE ${where}`, {
      ...parameters,
      now: db.now(),
    }).changes > 0;
  return {
    record: (delivery) => recordAll(db, [delivery], delivery),
    recordAll: (deliveries, receipt) => recordAll(db, deliveries, receipt),
    find: (commitment, dest) => find(db, commitment, dest),
    listNotFinal: (dest, limit = defaultLimit) =>
      db.rows(
        "SELECT * FROM delivery WHERE dest = :dest AND is_final = 0 ORDER BY block_height, commitment LIMIT :limit + 0",
        { dest, limit },
      ).flatMap(readable(toDelivery)),
    listFoundNotFinal: (dest) =>
      db.rows(
        `SELECT * FROM delivery WHERE dest = :dest AND is_final = 0 AND block_hash IS NULL AND claim_state <> 'lost'
         UNION ALL SELECT * FROM delivery WHERE claim_state = 'lost' AND dest = :dest
         ORDER BY block_height, commitment LIMIT :limit + 0`,
        { dest, limit: defaultLimit },
      ).flatMap(readable(toDelivery)),
    markFinal: (commitment, dest, height) =>
      change(
        `is_final = 1, claim_state = CASE claim_state WHEN 'lost' THEN 'unclaimed' ELSE claim_state END,
         block_height = CASE claim_state WHEN 'lost' THEN :height ELSE block_height END`,
        byKey,
        { commitment, dest, height: toHeight(height) },
      ),
    markAllFinal: (commitments, dest) =>
      void change(
        "is_final = 1",
        "dest = :dest AND commitment IN (SELECT value FROM json_each(:list)) AND is_final = 0",
        { dest, list: JSON.stringify(commitments) },
      ),
    remove: (commitment, dest) =>
      db.run(`DELETE FROM delivery WHERE ${byKey} AND claim_state <> 'claimed'`, { commitment, dest })
        .changes > 0,
    setFee: (commitment, dest, fee) => {
      if (!change("fee = :fee", byKey, { commitment, dest, fee: toDecimal(fee) })) {
        throw missing(commitment, dest);
      }
    },
    countByClaimState: () =>
      db.rows("SELECT claim_state, count(*) AS count FROM delivery GROUP BY claim_state").map((row) => ({
        claimState: readOneOf(row, "claim_state", claimStates),
        count: readNumber(row, "count"),
      })),
    listRelayers: (source) => listRelayers(db, source),
    countUnreadable: () => countUnreadable(db),
    listClaimPairs: () => listClaimPairs(db),
    // Picked by name: callers pass a pair with more fields than the query has parameters.
    listUnclaimed: ({ source, dest, relayer, maxBlock, limit }) =>
      db.rows(
        `SELECT * FROM delivery WHERE source = :source AND dest = :dest AND relayer = :relayer AND ${isClaimable}
           AND block_height <= :maxBlock ORDER BY block_height, commitment LIMIT :limit + 0`,
        { source, dest, relayer, maxBlock, limit },
      ).map(toDelivery),
    listByClaimState: (claimState, { limit, offset = 0 }) =>
      db.rows(
        `SELECT * FROM delivery WHERE claim_state = :claimState ORDER BY updated_at_ms, commitment, dest
         LIMIT :limit + 0 OFFSET :offset + 0`,
        { claimState, limit, offset },
      ).flatMap(readable(toDelivery)),
    setClaimState: ({ commitment, dest }, to, hubBlock) => {
      const old = find(db, commitment, dest);
      if (old === undefined) throw missing(commitment, dest);
      refuseUnclaiming(old, to);
      change("claim_state = :to, claim_hub_block = coalesce(:hubBlock, claim_hub_block)", byKey, {
        commitment,
        dest,
        to,
        hubBlock: hubBlock === undefined ? undefined : toHeight(hubBlock),
      });
    },
  };
}

function missing(commitment: Hash256, dest: StateMachine): Error {
  return new Error(`No delivery of ${commitment} to ${dest}`);
}

/** Refuses to change a claimed record: what the hub has paid stays paid (I7). */
function refuseUnclaiming(row: DeliveryRow, to: ClaimState): void {
  if (row.claimState === "claimed" && to !== "claimed") {
    throw new Error(`Illegal change of a claimed delivery: ${row.commitment} to ${to}`);
  }
}

function find(db: Database, commitment: Hash256, dest: StateMachine): DeliveryRow | undefined {
  const row = db.row(`SELECT * FROM delivery WHERE ${byKey}`, { commitment, dest });
  return row && toDelivery(row);
}

function recordAll(
  db: Database,
  deliveries: readonly DeliveredMessage[],
  receipt: DeliveryReceipt,
): void {
  db.run(
    `INSERT INTO delivery (commitment, dest, source, relayer, tx_hash, block_height, block_hash, is_final, fee,
       claim_state, created_at_ms, updated_at_ms)
     SELECT item.value ->> 0, item.value ->> 1, item.value ->> 2, :relayer, :txHash, :height, :hash, :isFinal,
       item.value ->> 3, item.value ->> 4, :now, :now FROM json_each(:list) AS item WHERE true
     ON CONFLICT (commitment, dest) DO UPDATE SET
       relayer = excluded.relayer,
       tx_hash = coalesce(excluded.tx_hash, tx_hash),
       block_height = excluded.block_height,
       block_hash = excluded.block_hash,
       is_final = max(is_final, excluded.is_final),
       fee = coalesce(excluded.fee, fee),
       claim_state = CASE WHEN claim_state IN ('lost', 'unclaimed') THEN excluded.claim_state
         ELSE claim_state END,
       updated_at_ms = excluded.updated_at_ms`,
    {
      list: JSON.stringify(deliveries.map(({ commitment, dest, source, fee, isPaid }) => [
        commitment,
        dest,
        source,
        toDecimal(fee) ?? null,
        isPaid === false ? "no_fee" : "unclaimed",
      ])),
      relayer: receipt.relayer,
      txHash: receipt.txHash,
      height: toHeight(receipt.block.height),
      hash: receipt.block.hash,
      isFinal: receipt.isFinal ? 1 : 0,
      now: db.now(),
    },
  );
}

/** Steps from pair to pair and counts each in its range of the index, which takes less than to group all rows. */
function listClaimPairs(db: Database): ClaimPair[] {
  const pairs: ClaimPair[] = [];
  const list = (column: SteppedColumn, fixed: Readonly<Record<string, string>>): Generator<Row> =>
    listDistinct(db, column, fixed, CLAIMABLE_ROWS);
  for (const row of list("source", {})) {
    const source = readText(row, "source");
    for (const row of list("dest", { source })) {
      const dest = readText(row, "dest");
      for (const row of list("relayer", { source, dest })) {
        pairs.push(...readClaimPair(db, { source, dest, relayer: readBytes(row, "relayer") }));
      }
    }
  }
  return pairs.sort((a, b) => compareIntegers(a.oldestBlock, b.oldestBlock));
}

function readClaimPair(
  db: Database,
  pair: { readonly source: string; readonly dest: string; readonly relayer: Uint8Array },
): readonly ClaimPair[] {
  // By themselves the smallest and the largest are found without reading the rows between.
  const select = (aggregate: string): string =>
    `(SELECT ${aggregate} FROM delivery INDEXED BY delivery_unclaimed
      WHERE ${isClaimable} AND source = :source AND dest = :dest AND relayer = :relayer)`;
  const rows = db.rows(
    `SELECT :source AS source, :dest AS dest, :relayer AS relayer, ${select("count(*)")} AS count,
       ${select("min(block_height)")} AS oldest, ${select("max(block_height)")} AS newest`,
    pair,
  );
  return rows.flatMap(readable(toClaimPair));
}

/** Omits rows with unreadable chains, so that one of them does not hide the others. */
function readable<T>(read: (row: Row) => T): (row: Row) => T[] {
  return (row) => {
    try {
      return [read(row)];
    } catch (error) {
      if (!(error instanceof IdentifierError)) throw error;
      return [];
    }
  };
}

function listRelayers(db: Database, source: StateMachine): Uint8Array[] {
  const relayers = new Map<string, Uint8Array>();
  for (const dest of listDestinations(db, source)) {
    for (const row of listDistinct(db, "relayer", { source, dest })) {
      const relayer = readBytes(row, "relayer");
      relayers.set(toHex(relayer), relayer);
    }
  }
  return [...relayers].sort(([one], [other]) => one < other ? -1 : 1).map(([, bytes]) => bytes);
}

function countUnreadable(db: Database): number {
  const isReadable = readable((row) => [readStateMachine(row, "source"), readStateMachine(row, "dest")]);
  let unreadable = 0;
  for (const row of listDistinct(db, "source", {})) {
    const source = readText(row, "source");
    for (const dest of listDestinations(db, source)) {
      if (isReadable({ source, dest }).length > 0) continue;
      const counted = db.row(
        "SELECT count(*) AS count FROM delivery WHERE source = :source AND dest = :dest",
        { source, dest },
      );
      unreadable += counted === undefined ? 0 : readNumber(counted, "count");
    }
  }
  return unreadable;
}

/** Destinations with deliveries of requests from a source, as text: it may be unreadable. */
function listDestinations(db: Database, source: string): readonly string[] {
  const rows = listDistinct(db, "dest", { source });
  return [...rows].map((row) => readText(row, "dest"));
}

type SteppedColumn = "source" | "dest" | "relayer";

/** Rows of an index that begins with source, destination and relayer. */
interface IndexedRows {
  readonly index: string;
  /** Condition of a partial index. */
  readonly where: string;
}

const ALL_ROWS: IndexedRows = { index: "delivery_by_pair", where: "true" };
const CLAIMABLE_ROWS: IndexedRows = { index: "delivery_unclaimed", where: isClaimable };

/**
 * Lists the values of a column of an index where those before it are fixed. It steps from one value to the next: there
 * are few of them, however many deliveries there are.
 */
function* listDistinct(
  db: Database,
  column: SteppedColumn,
  fixed: Readonly<Record<string, string>>,
  { index, where }: IndexedRows = ALL_ROWS,
): Generator<Row> {
  const conditions = Object.keys(fixed).map((name) => `${name} = :${name} AND`).join(" ");
  const select = (bound: string): string =>
    `SELECT ${column} FROM delivery INDEXED BY ${index} WHERE ${where} AND ${conditions} ${bound} ORDER BY ${column} LIMIT 1`;
  // No value sorts before the empty text. One bound at a time: SQLite would use the first of two.
  for (let row = db.row(select(`${column} >= ''`), fixed); row !== undefined;) {
    yield row;
    row = db.row(select(`${column} > :last`), { ...fixed, last: row[column] });
  }
}

function toClaimPair(row: Row): ClaimPair {
  return {
    source: readStateMachine(row, "source"),
    dest: readStateMachine(row, "dest"),
    relayer: readBytes(row, "relayer"),
    count: readNumber(row, "count"),
    oldestBlock: readInteger(row, "oldest"),
    newestBlock: readInteger(row, "newest"),
  };
}

function toDelivery(row: Row): DeliveryRow {
  return {
    commitment: readHash(row, "commitment"),
    dest: readStateMachine(row, "dest"),
    source: readStateMachine(row, "source"),
    relayer: readBytes(row, "relayer"),
    txHash: findHash(row, "tx_hash"),
    block: { height: readInteger(row, "block_height"), hash: findHash(row, "block_hash") },
    isFinal: readInteger(row, "is_final") === 1n,
    fee: findDecimal(row, "fee"),
    claimState: readOneOf(row, "claim_state", claimStates),
    claimHubBlock: findInteger(row, "claim_hub_block"),
    createdAtMs: readNumber(row, "created_at_ms"),
    updatedAtMs: readNumber(row, "updated_at_ms"),
  };
}
