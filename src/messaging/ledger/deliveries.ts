/** Table `delivery`: receipts of our own deliveries, from inclusion until the fee is claimed (I4, I7). */
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, type Parameters, type Row, RowFormat, type RowOf, toHeight } from "./columns.ts";
import { Table } from "./database.ts";

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

const byKey = "commitment = :commitment AND dest = :dest";

/** Maximum number of rows of {@link Deliveries.listNotFinal} by default. */
const defaultLimit = 1_000;

// Must be written as in the index, or SQLite does not use it.
const isClaimable = "claim_state = 'unclaimed' AND is_final = 1";

const format = new RowFormat({
  commitment: column.hash,
  dest: column.stateMachine,
  source: column.stateMachine,
  relayer: column.bytes,
  txHash: column.optional(column.hash),
  isFinal: column.flag,
  fee: column.optional(column.decimal),
  claimState: column.oneOf(claimStates),
  /** Block of the hub that recorded the claim. */
  claimHubBlock: column.optional(column.height),
  createdAtMs: column.number,
  updatedAtMs: column.number,
});

/** A delivery as stored. */
export interface DeliveryRow extends RowOf<typeof format> {
  readonly block: DeliveryBlock;
}

const pairFormat = new RowFormat({
  source: column.stateMachine,
  dest: column.stateMachine,
  relayer: column.bytes,
  count: column.number,
  oldestBlock: column.height,
  newestBlock: column.height,
});

/** Unclaimed final deliveries that can share a claim. */
export type ClaimPair = RowOf<typeof pairFormat>;

function toDelivery(row: Row): DeliveryRow {
  const block = {
    height: column.height.read(row, "block_height"),
    hash: column.optional(column.hash).read(row, "block_hash"),
  };
  return { ...format.read(row), block };
}

/** The delivery records. Every method may throw a `LedgerFault`. */
export class Deliveries extends Table {
  /**
   * Inserts or refreshes the record (transaction, block, finality, relayer, fee if given). The claim state is kept,
   * except that `lost` starts over, and that unpaid records are no longer `unclaimed`. A final record never becomes
   * non-final.
   */
  record(delivery: NewDelivery): void {
    this.recordAll([delivery], delivery);
  }

  /** As {@link record} for the messages of one transaction. */
  recordAll(deliveries: readonly DeliveredMessage[], receipt: DeliveryReceipt): void {
    this.db.run(
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
          fee?.toString() ?? null,
          isPaid === false ? "no_fee" : "unclaimed",
        ])),
        relayer: receipt.relayer,
        txHash: receipt.txHash,
        height: toHeight(receipt.block.height),
        hash: receipt.block.hash,
        isFinal: receipt.isFinal ? 1 : 0,
        now: this.db.now(),
      },
    );
  }

  find(commitment: Hash256, dest: StateMachine): DeliveryRow | undefined {
    return this.db.find("delivery", { commitment, dest }, toDelivery);
  }

  /** Oldest block first. */
  listNotFinal(dest: StateMachine, limit = defaultLimit): DeliveryRow[] {
    return this.db.rows(
      "SELECT * FROM delivery WHERE dest = :dest AND is_final = 0 ORDER BY block_height, commitment LIMIT :limit + 0",
      { dest, limit },
    ).map(toDelivery);
  }

  /** As {@link listNotFinal}, only receipts whose block is not known: those found after the fact, and lost ones. */
  listFoundNotFinal(dest: StateMachine): DeliveryRow[] {
    return this.db.rows(
      `SELECT * FROM delivery WHERE dest = :dest AND is_final = 0 AND block_hash IS NULL AND claim_state <> 'lost'
       UNION ALL SELECT * FROM delivery WHERE claim_state = 'lost' AND dest = :dest
       ORDER BY block_height, commitment LIMIT :limit + 0`,
      { dest, limit: defaultLimit },
    ).map(toDelivery);
  }

  /**
   * Marks a record as final; a lost one is claimed once the hub knows `height`, at which the receipt is there.
   * @returns false when there is no such record.
   */
  markFinal(commitment: Hash256, dest: StateMachine, height: bigint): boolean {
    return this.#change(
      `is_final = 1, claim_state = CASE claim_state WHEN 'lost' THEN 'unclaimed' ELSE claim_state END,
       block_height = CASE claim_state WHEN 'lost' THEN :height ELSE block_height END`,
      byKey,
      { commitment, dest, height: toHeight(height) },
    );
  }

  /** As {@link markFinal} for several records; those that do not exist are left out. */
  markAllFinal(commitments: readonly Hash256[], dest: StateMachine): void {
    this.#change(
      "is_final = 1",
      "dest = :dest AND commitment IN (SELECT value FROM json_each(:list)) AND is_final = 0",
      { dest, list: JSON.stringify(commitments) },
    );
  }

  /** Removes a record whose block was reorganised; false when there is none or it is claimed. */
  remove(commitment: Hash256, dest: StateMachine): boolean {
    const key = { commitment, dest };
    return this.db.run(`DELETE FROM delivery WHERE ${byKey} AND claim_state <> 'claimed'`, key).changes > 0;
  }

  /** @throws {Error} a defect: no such record. */
  setFee(commitment: Hash256, dest: StateMachine, fee: bigint): void {
    if (!this.#change("fee = :fee", byKey, { commitment, dest, fee: fee.toString() })) {
      throw missing(commitment, dest);
    }
  }

  /** @throws {Error} a defect: no such record, or a claimed one is set to anything else. */
  setClaimState({ commitment, dest }: DeliveryKey, to: ClaimState, hubBlock?: bigint): void {
    const old = this.find(commitment, dest);
    if (old === undefined) throw missing(commitment, dest);
    // What the hub has paid stays paid (I7).
    if (old.claimState === "claimed" && to !== "claimed") {
      throw new Error(`Illegal change of a claimed delivery: ${commitment} to ${to}`);
    }
    this.#change("claim_state = :to, claim_hub_block = coalesce(:hubBlock, claim_hub_block)", byKey, {
      commitment,
      dest,
      to,
      hubBlock: hubBlock && toHeight(hubBlock),
    });
  }

  /** Addresses that delivered for us and may have been credited with fees of `source`. */
  listRelayers(source: StateMachine): Uint8Array[] {
    return this.db.rows(
      // Steps from one pair of destination and relayer to the next: there are few, however many deliveries there are.
      `WITH RECURSIVE step(id) AS (
         SELECT (SELECT rowid FROM delivery WHERE source = :source ORDER BY dest, relayer LIMIT 1)
         UNION ALL
         SELECT (SELECT n.rowid FROM delivery n WHERE n.source = :source
             AND (n.dest, n.relayer) > (d.dest, d.relayer) ORDER BY n.dest, n.relayer LIMIT 1)
           FROM step JOIN delivery d ON d.rowid = step.id)
       SELECT DISTINCT relayer FROM step JOIN delivery d ON d.rowid = step.id ORDER BY relayer`,
      { source },
    ).map((row) => column.bytes.read(row, "relayer"));
  }

  /** Pairs that have final unclaimed rows, oldest block first. */
  listClaimPairs(): ClaimPair[] {
    return this.db.rows(
      `SELECT source, dest, relayer, count(*) AS count, min(block_height) AS oldest_block,
         max(block_height) AS newest_block
       FROM delivery INDEXED BY delivery_unclaimed WHERE ${isClaimable}
       GROUP BY source, dest, relayer ORDER BY oldest_block`,
    ).map(pairFormat.read);
  }

  /** Final unclaimed rows at or below `maxBlock`, oldest block first. */
  listUnclaimed(
    // Picked by name: callers pass a pair with more fields than the query has parameters.
    { source, dest, relayer, maxBlock, limit }: Pick<ClaimPair, "source" | "dest" | "relayer"> & {
      readonly maxBlock: bigint;
      readonly limit: number;
    },
  ): DeliveryRow[] {
    return this.db.rows(
      `SELECT * FROM delivery WHERE source = :source AND dest = :dest AND relayer = :relayer AND ${isClaimable}
         AND block_height <= :maxBlock ORDER BY block_height, commitment LIMIT :limit + 0`,
      { source, dest, relayer, maxBlock, limit },
    ).map(toDelivery);
  }

  /** Rows in a claim state that were changed at `sinceMs` or later, by time of their last change. */
  listByClaimState(
    claimState: ClaimState,
    { limit, sinceMs = 0 }: { readonly limit: number; readonly sinceMs?: number },
  ): DeliveryRow[] {
    return this.db.rows(
      `SELECT * FROM delivery WHERE claim_state = :claimState AND updated_at_ms >= :sinceMs
       ORDER BY updated_at_ms, commitment, dest LIMIT :limit + 0`,
      { claimState, limit, sinceMs },
    ).map(toDelivery);
  }

  #change(set: string, where: string, parameters: Parameters): boolean {
    const sql = `UPDATE delivery SET ${set}, updated_at_ms = :now WHERE ${where}`;
    return this.db.run(sql, { ...parameters, now: this.db.now() }).changes > 0;
  }
}

function missing(commitment: Hash256, dest: StateMachine): Error {
  return new Error(`No delivery of ${commitment} to ${dest}`);
}
