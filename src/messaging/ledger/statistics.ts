/**
 * Counts and sums over several tables, for metrics and the status. Nothing here decides anything. Sums of money are
 * approximate: they are for people and charts.
 */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import {
  findDecimal,
  findOneOf,
  findText,
  readNumber,
  readOneOf,
  readStateMachine,
  readText,
  type Row,
} from "./columns.ts";
import type { Database } from "./database.ts";
import { claimStates } from "./deliveries.ts";
import { messageReasons, messageStates, terminalMessageStates } from "./message_state.ts";
import { isUnresolved } from "./submission_items.ts";

/** A period of time, Unix milliseconds: after `afterMs`, up to and with `untilMs`. */
export type Period = { readonly afterMs: number; readonly untilMs: number };

/** Counts and sums. Every method may throw a `LedgerFault`. */
export type Statistics = ReturnType<typeof openStatistics>;

/** Messages of a leg that have not ended, in one state and for one reason. */
export type OpenCount = ReturnType<Statistics["countOpen"]>[number];

// The conditions must be written as in the indexes, or SQLite does not use them.
const isUnfinished = "state IN ('seen', 'held', 'ready', 'not_executed', 'submitted')";
const isEnded = "state IN ('delivered', 'delivered_by_other', 'timed_out', 'rejected', 'gone')";
const isMined = "mined_at_ms IS NOT NULL AND mined_at_ms > :afterMs AND mined_at_ms <= :untilMs";

/** Sums dollars x 10^18 or wei in whole units. */
const whole = (column: string): string => `coalesce(sum(CAST(${column} AS REAL)) / 1e18, 0.0)`;

/** Sums amounts in the smallest units of a token. */
const units = (column: string): string => `coalesce(sum(CAST(${column} AS REAL)), 0.0)`;

/** Readers of columns by their names, which are those of the members. */
type Readers = Readonly<Record<string, (row: Row, column: string) => unknown>>;

/** A row as its readers read it. */
type Read<R extends Readers> = { readonly [Name in keyof R]: ReturnType<R[Name]> };

const reads = <const R extends Readers>(readers: R) => (row: Row): Read<R> =>
  Object.fromEntries(Object.entries(readers).map(([name, read]) => [name, read(row, name)])) as Read<R>;

const leg = { source: readStateMachine, target: readStateMachine };
const stage = { target: readStateMachine, tookMs: readNumber };
const claims = {
  source: readStateMachine,
  state: (row: Row, name: string) => readOneOf(row, name, claimStates),
  count: readNumber,
  feeUnits: readReal,
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
           AND m.state = c.state AND m.reason IS nullif(c.reason, '') AND m.${isUnfinished}) AS oldestMs
       FROM message_count c WHERE count > 0 AND ${isUnfinished} ORDER BY source, target, state, c.reason`,
    ).map(reads({
      ...leg,
      state: (row, name) => readOneOf(row, name, messageStates),
      reason: (row, name) => findOneOf(row, name, messageReasons),
      count: readNumber,
      oldestMs: readNumber,
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
      reads({ ...leg, state: (row, name) => readOneOf(row, name, terminalMessageStates), count: readNumber }),
    )
      .filter(({ count }) => count > 0),
  /** Messages that we delivered within the period, by leg and hour of the clock (hours since 1970). */
  countDeliveredByHour: (period: Period) =>
    db.rows(
      `SELECT source, target, updated_at_ms / 3600000 AS hour, count(*) AS value FROM message
       WHERE ${isEnded} AND state = 'delivered' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs
       GROUP BY source, target, hour`,
      period,
    ).map(reads({ ...leg, hour: readNumber, value: readNumber })),
  /** The last messages that we delivered, newest first. */
  listLastDelivered: (limit: number) =>
    db.rows(
      `SELECT source, target, commitment, created_at_ms AS seenAtMs, updated_at_ms AS deliveredAtMs,
         (SELECT tx_hash FROM delivery d WHERE d.commitment = message.request_commitment AND d.dest = message.target) AS hash
       FROM message WHERE ${isEnded} AND state = 'delivered' ORDER BY updated_at_ms DESC LIMIT :limit + 0`,
      { limit },
    ).map(
      reads({
        ...leg,
        commitment: readText,
        hash: findText,
        seenAtMs: readNumber,
        deliveredAtMs: readNumber,
      }),
    ),
});

const sumTransactions = (db: Database) => ({
  /** Transactions mined within the period, by chain, purpose and result: native tokens, and dollars where known. */
  sumMined: (period: Period) =>
    db.rows(
      `SELECT chain, purpose, result, count(*) AS count, ${whole("cost_wei")} AS spent,
         ${whole("cost_usd18")} AS spentUsd, ${whole("revenue_usd18")} AS earnedUsd,
         ${whole("offered_usd18")} AS offeredUsd
       FROM spending WHERE ${isMined} GROUP BY chain, purpose, result`,
      period,
    ).map(reads({
      ...{ chain: readStateMachine, purpose: readText, result: readText, count: readNumber },
      ...{ spent: readReal, spentUsd: readReal, earnedUsd: readReal, offeredUsd: readReal },
    })),
  /** Profit in dollars and gas price in gwei of transactions mined within the period, by chain and hour of the clock. */
  sumMinedByHour: (period: Period) =>
    db.rows(
      `SELECT chain, mined_at_ms / 3600000 AS hour, avg(CAST(gas_price_wei AS REAL)) / 1e9 AS gasPriceGwei,
         ${whole("revenue_usd18")} - ${whole("cost_usd18")} AS profitUsd
       FROM spending WHERE ${isMined} GROUP BY chain, hour`,
      period,
    ).map(reads({ chain: readStateMachine, hour: readNumber, profitUsd: readReal, gasPriceGwei: readReal })),
  /** Transactions mined within the period, with the times of their lives. */
  listMinedTransactions: (period: Period) =>
    db.rows(
      `SELECT chain, created_at_ms AS signedAtMs, mined_at_ms AS minedAtMs,
         (SELECT count(*) FROM submission_item i WHERE i.submission_id = spending.id) AS messages
       FROM spending WHERE ${isMined}`,
      period,
    ).map(
      reads({ chain: readStateMachine, messages: readNumber, signedAtMs: readNumber, minedAtMs: readNumber }),
    ),
  /** From the first sight of each message to the transaction with it, of transactions signed within the period. */
  listWaitsForSending: (period: Period) =>
    db.rows(
      `SELECT p.chain AS target, p.created_at_ms - m.created_at_ms AS tookMs FROM spending p
         JOIN submission_item i ON i.submission_id = p.id
         JOIN message m ON m.commitment = i.commitment AND m.target = i.target
       WHERE p.created_at_ms > :afterMs AND p.created_at_ms <= :untilMs`,
      period,
    ).map(reads(stage)),
  /** From block to finality, of transactions that became final within the period. */
  listWaitsForFinality: (period: Period) =>
    db.rows(
      `SELECT s.chain AS target, s.updated_at_ms - p.mined_at_ms AS tookMs FROM submission s
         JOIN spending p ON p.id = s.id
       WHERE s.state IN ('final', 'failed', 'replaced', 'dropped') AND s.state = 'final'
         AND s.updated_at_ms > :afterMs AND s.updated_at_ms <= :untilMs AND p.mined_at_ms IS NOT NULL`,
      period,
    ).map(reads(stage)),
  /** Transactions that are in no block, by chain. */
  sumInFlight: () => sumInFlight(db),
  /** Cost of the transactions of a chain mined within the period, wei, and when the first was; `undefined`: none was. */
  sumSpent: (chain: StateMachine, period: Period) =>
    db.rows(
      `SELECT sum(CAST(cost_wei AS REAL)) AS costWei, min(mined_at_ms) AS sinceMs FROM spending
       WHERE chain = :chain AND ${isMined} GROUP BY chain`,
      { chain, ...period },
    ).map(reads({ costWei: readReal, sinceMs: readNumber }))[0],
});

const sumFees = (db: Database) => ({
  /** Deliveries whose fees are still to be claimed, or cannot be; fees in units of the source's fee token. */
  sumUnclaimed: () =>
    db.rows(
      `SELECT source, claim_state AS state, count(*) AS count, ${units("fee")} AS feeUnits
       FROM delivery INDEXED BY delivery_open_claim
       WHERE claim_state IN ('unclaimed', 'claiming', 'lost', 'unclaimable') GROUP BY source, claim_state`,
    ).map(reads(claims)),
  /** Deliveries that were claimed within the period. */
  sumClaimed: (period: Period) =>
    db.rows(
      `SELECT source, claim_state AS state, count(*) AS count, ${units("fee")} AS feeUnits FROM delivery
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
    ).map(reads({ chain: readStateMachine, units: readReal })),
});

/** Unresolved transactions are few: they are summed here, where a nonce is a number. */
const sumInFlight = (db: Database) => {
  const rows = db.rows(
    `SELECT s.chain, s.account, s.nonce, s.created_at_ms AS atMs, s.state FROM submission s
     WHERE ${isUnresolved} ORDER BY s.chain, s.id`,
  ).map(
    reads({
      chain: readStateMachine,
      account: findText,
      nonce: findDecimal,
      atMs: readNumber,
      state: readText,
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

function readReal(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new Error(`Column ${column}: expected a number`);
  return value;
}
