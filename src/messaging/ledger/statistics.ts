/**
 * Counts and sums over several tables, for metrics and the status. Nothing here decides anything. Sums of money are
 * approximate: they are for people and charts.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, type Columns, type Row, RowFormat } from "./columns.ts";
import type { Database } from "./database.ts";
import { claimStates } from "./deliveries.ts";
import { messageReasons, messageStates, terminalMessageStates } from "./message_state.ts";
import { spendingPurposes, spendingResults } from "./spending.ts";
import { isUnresolvedSql } from "./submissions.ts";

/** A period of time, Unix milliseconds: after `afterMs`, up to and with `untilMs`. */
export type Period = { readonly afterMs: number; readonly untilMs: number };

/** Counts and sums. Every method may throw a `LedgerFault`. */
export type Statistics = ReturnType<typeof openStatistics>;

/** Messages of a leg that have not ended, in one state and for one reason. */
export type OpenCount = ReturnType<Statistics["countOpen"]>[number];

/** A mined transaction. */
export type MinedCost = ReturnType<Statistics["listMinedCosts"]>[number];

/** A message that a transaction carried. */
export type CarriedMessage = ReturnType<Statistics["listCarried"]>[number];

// The conditions must be written as in the indexes, or SQLite does not use them.
const isUnfinished = "state IN ('seen', 'held', 'ready', 'not_executed', 'submitted')";
const isEnded = "state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone')";
const isMined = "mined_at_ms IS NOT NULL AND mined_at_ms > :afterMs AND mined_at_ms <= :untilMs";

/** Sums dollars x 10^18 or wei in whole units. */
const whole = (column: string): string => `coalesce(sum(CAST(${column} AS REAL)) / 1e18, 0.0)`;

/** Sums amounts in the smallest units of a token. */
const units = (column: string): string => `coalesce(sum(CAST(${column} AS REAL)), 0.0)`;

const reads = <T>(columns: Columns<T>): (row: Row) => T => new RowFormat(columns).read;

const leg = { source: column.stateMachine, target: column.stateMachine };
const stage = { target: column.stateMachine, tookMs: column.number };
const claims = {
  source: column.stateMachine,
  state: column.oneOf(claimStates),
  count: column.number,
  feeUnits: column.real,
};

/** Opens the statistics of a database. */
export const openStatistics = (db: Database) => ({
  ...countMessages(db),
  ...sumTransactions(db),
  ...sumFees(db),
});

const countMessages = (db: Database) => ({
  /** Messages that have not ended, by leg, state and reason, with the first sight of the oldest. */
  countOpen: () =>
    db.rows(
      `SELECT source, target, state, nullif(reason, '') AS reason, count,
         (SELECT min(m.created_at_ms) FROM message m WHERE m.source = c.source AND m.target = c.target
           AND m.state = c.state AND m.reason IS nullif(c.reason, '') AND m.${isUnfinished}) AS oldest_ms
       FROM message_count c WHERE count > 0 AND ${isUnfinished} ORDER BY source, target, state, c.reason`,
    ).map(reads({
      ...leg,
      state: column.oneOf(messageStates),
      reason: column.optional(column.oneOf(messageReasons)),
      count: column.number,
      oldestMs: column.number,
    })),
  /** Messages by leg and state that ended within the period. */
  countEnded: (period: Period) =>
    db.rows(
      // One seek for each leg and state: grouping the rows of a day would sort them, and HAVING would count twice.
      `SELECT source, target, state, (SELECT count(*) FROM message m WHERE m.source = c.source
         AND m.target = c.target AND m.state = c.state AND m.${isEnded}
         AND m.updated_at_ms > :afterMs AND m.updated_at_ms <= :untilMs) AS count
       FROM message_count c WHERE c.count > 0 AND ${isEnded} GROUP BY source, target, state`,
      period,
    ).map(
      reads({ ...leg, state: column.oneOf(terminalMessageStates), count: column.number }),
    )
      .filter(({ count }) => count > 0),
  /** Messages that we delivered within the period, by leg and hour of the clock (hours since 1970). */
  countDeliveredByHour: (period: Period) =>
    db.rows(
      `SELECT source, target, updated_at_ms / 3600000 AS hour, count(*) AS value FROM message
       WHERE ${isEnded} AND state = 'delivered' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs
       GROUP BY source, target, hour`,
      period,
    ).map(reads({ ...leg, hour: column.number, value: column.number })),
  /** The last messages that we delivered, newest first. */
  listLastDelivered: (limit: number) =>
    db.rows(
      `SELECT source, target, commitment, created_at_ms AS seen_at_ms, updated_at_ms AS delivered_at_ms,
         (SELECT tx_hash FROM delivery d WHERE d.commitment = message.request_commitment AND d.dest = message.target) AS hash
       FROM message WHERE ${isEnded} AND state = 'delivered' ORDER BY updated_at_ms DESC LIMIT :limit + 0`,
      { limit },
    ).map(
      reads({
        ...leg,
        commitment: column.text,
        hash: column.optional(column.text),
        seenAtMs: column.number,
        deliveredAtMs: column.number,
      }),
    ),
});

const sumTransactions = (db: Database) => ({
  /** Transactions mined within the period, by chain, purpose and result: native tokens, and dollars where known. */
  sumMined: (period: Period) =>
    db.rows(
      `SELECT chain, purpose, result, count(*) AS count, ${whole("cost_wei")} AS spent,
         ${whole("cost_usd18")} AS spent_usd, ${whole("revenue_usd18")} AS earned_usd,
         ${whole("offered_usd18")} AS offered_usd
       FROM spending WHERE ${isMined} GROUP BY chain, purpose, result`,
      period,
    ).map(reads({
      ...{ chain: column.stateMachine, purpose: column.text, result: column.text, count: column.number },
      ...{ spent: column.real, spentUsd: column.real, earnedUsd: column.real, offeredUsd: column.real },
    })),
  /** Profit in dollars and gas price in gwei of transactions mined within the period, by chain and hour of the clock. */
  sumMinedByHour: (period: Period) =>
    db.rows(
      `SELECT chain, mined_at_ms / 3600000 AS hour, avg(CAST(gas_price_wei AS REAL)) / 1e9 AS gas_price_gwei,
         ${whole("revenue_usd18")} - ${whole("cost_usd18")} AS profit_usd
       FROM spending WHERE ${isMined} GROUP BY chain, hour`,
      period,
    ).map(
      reads({
        chain: column.stateMachine,
        hour: column.number,
        profitUsd: column.real,
        gasPriceGwei: column.real,
      }),
    ),
  /** Transactions mined within the period, with the times of their lives. */
  listMinedTransactions: (period: Period) =>
    db.rows(
      `SELECT chain, created_at_ms AS signed_at_ms, mined_at_ms AS mined_at_ms,
         (SELECT count(*) FROM submission_item i WHERE i.submission_id = spending.id) AS messages
       FROM spending WHERE ${isMined}`,
      period,
    ).map(
      reads({
        chain: column.stateMachine,
        messages: column.number,
        signedAtMs: column.number,
        minedAtMs: column.number,
      }),
    ),
  /** From the first sight of each message to the transaction with it, of transactions signed within the period. */
  listWaitsForSending: (period: Period) =>
    db.rows(
      `SELECT p.chain AS target, p.created_at_ms - m.created_at_ms AS took_ms FROM spending p
         JOIN submission_item i ON i.submission_id = p.id
         JOIN message m ON m.commitment = i.commitment AND m.target = i.target
       WHERE p.created_at_ms > :afterMs AND p.created_at_ms <= :untilMs`,
      period,
    ).map(reads(stage)),
  /** From block to finality, of transactions that became final within the period. */
  listWaitsForFinality: (period: Period) =>
    db.rows(
      `SELECT s.chain AS target, s.updated_at_ms - p.mined_at_ms AS took_ms FROM submission s
         JOIN spending p ON p.id = s.id
       WHERE s.state IN ('final', 'failed', 'replaced', 'dropped') AND s.state = 'final'
         AND s.updated_at_ms > :afterMs AND s.updated_at_ms <= :untilMs AND p.mined_at_ms IS NOT NULL`,
      period,
    ).map(reads(stage)),
  /** Costs of transactions mined at or after `sinceMs`, by id, above `afterId`; in dollars at the price of that time. */
  listMinedCosts: (query: { readonly sinceMs: number; readonly afterId: number; readonly limit: number }) =>
    db.rows(
      // The first of them is found by time: what was sent long before is not read.
      `SELECT * FROM spending WHERE id > :afterId AND mined_at_ms >= :sinceMs AND id >= (
         SELECT coalesce(min(id), 0) FROM spending WHERE mined_at_ms IS NOT NULL AND mined_at_ms >= :sinceMs)
       ORDER BY id LIMIT :limit + 0`,
      query,
    ).map(reads({
      id: column.number,
      chain: column.stateMachine,
      legSource: column.optional(column.stateMachine),
      purpose: column.oneOf(spendingPurposes),
      result: column.oneOf(spendingResults),
      costWei: column.decimal,
      costUsd18: column.optional(column.decimal),
      revenueUsd18: column.optional(column.decimal),
      minedAtMs: column.number,
    })),
  /** Messages of a transaction, as far as they are still known: they are removed a month after they ended. */
  listCarried: (id: number) =>
    db.rows(
      `SELECT m.module, m.offered_usd18, coalesce(i.outcome = 'handled', 0) AS is_handled FROM submission_item i
         JOIN message m ON m.commitment = i.commitment AND m.target = i.target WHERE i.submission_id = :id`,
      { id },
    ).map(reads({
      module: column.bytes,
      isHandled: column.flag,
      offeredUsd18: column.optional(column.decimal),
    })),
  /** Transactions that are in no block, by chain. */
  sumInFlight: () => sumInFlight(db),
  /** Cost of the transactions of a chain mined within the period, wei, and when the first was; `undefined`: none was. */
  sumSpent: (chain: StateMachine, period: Period) =>
    db.rows(
      `SELECT sum(CAST(cost_wei AS REAL)) AS cost_wei, min(mined_at_ms) AS since_ms FROM spending
       WHERE chain = :chain AND ${isMined} GROUP BY chain`,
      { chain, ...period },
    ).map(reads({ costWei: column.real, sinceMs: column.number }))[0],
});

const sumFees = (db: Database) => ({
  /** Deliveries whose fees are still to be claimed, or cannot be; fees in units of the source's fee token. */
  sumUnclaimed: () =>
    db.rows(
      `SELECT source, claim_state AS state, count(*) AS count, ${units("fee")} AS fee_units
       FROM delivery INDEXED BY delivery_open_claim
       WHERE claim_state IN ('unclaimed', 'claiming', 'lost', 'unclaimable') GROUP BY source, claim_state`,
    ).map(reads(claims)),
  /** Deliveries that were claimed within the period. */
  sumClaimed: (period: Period) =>
    db.rows(
      `SELECT source, claim_state AS state, count(*) AS count, ${units("fee")} AS fee_units FROM delivery
       WHERE claim_state = 'claimed' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs
       GROUP BY source, claim_state`,
      period,
    ).map(reads(claims)),
  /** Withdrawals that were received within the period, in units of the chain's fee token. */
  sumWithdrawn: (period: Period) =>
    db.rows(
      `SELECT chain, ${units("amount")} AS units FROM withdrawal
       WHERE state = 'done' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs GROUP BY chain`,
      period,
    ).map(reads({ chain: column.stateMachine, units: column.real })),
});

/** Unresolved transactions are few: they are summed here, where a nonce is a number. */
const sumInFlight = (db: Database) => {
  const rows = db.rows(
    `SELECT s.chain, s.account, s.nonce, s.created_at_ms AS at_ms, s.state FROM submission s
     WHERE ${isUnresolvedSql} ORDER BY s.chain, s.id`,
  ).map(
    reads({
      chain: column.stateMachine,
      account: column.optional(column.text),
      nonce: column.optional(column.decimal),
      atMs: column.number,
      state: column.text,
    }),
  );
  return [...Map.groupBy(rows, ({ chain }) => chain)].flatMap(([chain, all]) => {
    const waiting = all.filter(({ state }) => state !== "included");
    if (waiting.length === 0) return [];
    const nonces = Map.groupBy(
      waiting.filter(({ nonce }) => nonce !== undefined),
      ({ account, nonce }) => `${account} ${nonce}`,
    );
    return [{
      chain,
      count: waiting.length,
      oldestMs: Math.min(...waiting.map(({ atMs }) => atMs)),
      replacements: Math.max(0, ...[...nonces.values()].map((same) => same.length - 1)),
      nonceGap: countGaps(all.flatMap(({ nonce }) => nonce ?? [])),
    }];
  });
};

function countGaps(nonces: readonly bigint[]): number {
  const held = [...new Set(nonces)].sort((a, b) => a < b ? -1 : 1);
  const [first] = held;
  const last = held.at(-1);
  return first === undefined || last === undefined ? 0 : Number(last - first) + 1 - held.length;
}
