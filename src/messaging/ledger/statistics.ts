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
             AND m.state = c.state AND m.reason IS nullif(c.reason, '') AND m.${isUnfinished}) AS oldest
         FROM message_count c WHERE count > 0 AND ${isUnfinished} ORDER BY source, target, state, c.reason`,
    ).map((row) => ({
      ...readLeg(row),
      state: readOneOf(row, "state", messageStates),
      reason: findOneOf(row, "reason", messageReasons),
      count: readNumber(row, "count"),
      oldestMs: readNumber(row, "oldest"),
    })),
  /** Messages by leg and state that ended within the period. */
  countEnded: (period: Period) =>
    db.rows(
      // One seek for each leg and state: grouping the rows of a day would sort them, and HAVING would count twice.
      `SELECT source, target, state, (SELECT count(*) FROM message m WHERE m.source = c.source
             AND m.target = c.target AND m.state = c.state AND m.${isEnded}
             AND m.updated_at_ms > :afterMs AND m.updated_at_ms <= :untilMs) AS ended
         FROM message_count c WHERE count > 0 AND ${isEnded} GROUP BY source, target, state`,
      period,
    ).map((row) => ({
      ...readLeg(row),
      state: readOneOf(row, "state", terminalMessageStates),
      count: readNumber(row, "ended"),
    })).filter(({ count }) => count > 0),
  /** Messages that we delivered within the period, by leg and hour of the clock (hours since 1970). */
  countDeliveredByHour: (period: Period) =>
    db.rows(
      `SELECT source, target, updated_at_ms / 3600000 AS hour, count(*) AS count FROM message
         WHERE ${isEnded} AND state = 'delivered' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs
         GROUP BY source, target, hour`,
      period,
    ).map((row) => ({ ...readLeg(row), hour: readNumber(row, "hour"), value: readNumber(row, "count") })),
  /** The last messages that we delivered, newest first. */
  listLastDelivered: (limit: number) =>
    db.rows(
      `SELECT source, target, commitment, created_at_ms, updated_at_ms, (SELECT tx_hash FROM delivery d
           WHERE d.commitment = m.request_commitment AND d.dest = m.target) AS hash FROM message m
         WHERE ${isEnded} AND state = 'delivered' ORDER BY updated_at_ms DESC LIMIT :limit + 0`,
      { limit },
    ).map((row) => ({
      ...readLeg(row),
      commitment: readText(row, "commitment"),
      hash: findText(row, "hash"),
      seenAtMs: readNumber(row, "created_at_ms"),
      endedAtMs: readNumber(row, "updated_at_ms"),
    })),
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
    ).map((row) => ({
      chain: readStateMachine(row, "chain"),
      purpose: readText(row, "purpose"),
      result: readText(row, "result"),
      count: readNumber(row, "count"),
      spent: readReal(row, "spent"),
      spentUsd: readReal(row, "spent_usd"),
      earnedUsd: readReal(row, "earned_usd"),
      offeredUsd: readReal(row, "offered_usd"),
    })),
  /** Profit in dollars and gas price in gwei of transactions mined within the period, by chain and hour of the clock. */
  sumMinedByHour: (period: Period) =>
    db.rows(
      `SELECT chain, mined_at_ms / 3600000 AS hour, ${whole("revenue_usd18")} - ${
        whole("cost_usd18")
      } AS profit,
         avg(CAST(gas_price_wei AS REAL)) / 1e9 AS price FROM spending WHERE ${isMined} GROUP BY chain, hour`,
      period,
    ).map((row) => ({
      chain: readStateMachine(row, "chain"),
      hour: readNumber(row, "hour"),
      profitUsd: readReal(row, "profit"),
      gasPriceGwei: readReal(row, "price"),
    })),
  /** Transactions mined within the period, with the times of their lives. */
  listMinedTransactions: (period: Period) =>
    db.rows(
      `SELECT chain, created_at_ms, mined_at_ms,
           (SELECT count(*) FROM submission_item i WHERE i.submission_id = spending.id) AS messages
         FROM spending WHERE ${isMined}`,
      period,
    ).map((row) => ({
      chain: readStateMachine(row, "chain"),
      messages: readNumber(row, "messages"),
      signedAtMs: readNumber(row, "created_at_ms"),
      minedAtMs: readNumber(row, "mined_at_ms"),
    })),
  /** From the first sight of each message to the transaction with it, of transactions signed within the period. */
  listWaitsForSending: (period: Period) =>
    db.rows(
      `SELECT p.chain AS target, p.created_at_ms - m.created_at_ms AS took FROM spending p
           JOIN submission_item i ON i.submission_id = p.id
           JOIN message m ON m.commitment = i.commitment AND m.target = i.target
         WHERE p.created_at_ms > :afterMs AND p.created_at_ms <= :untilMs`,
      period,
    ).map(readStage),
  /** From block to finality, of transactions that became final within the period. */
  listWaitsForFinality: (period: Period) =>
    db.rows(
      `SELECT s.chain AS target, s.updated_at_ms - p.mined_at_ms AS took FROM submission s
           JOIN spending p ON p.id = s.id
         WHERE s.state IN ('final', 'failed', 'replaced', 'dropped') AND s.state = 'final'
           AND s.updated_at_ms > :afterMs AND s.updated_at_ms <= :untilMs AND p.mined_at_ms IS NOT NULL`,
      period,
    ).map(readStage),
  /** Transactions that are in no block, by chain. */
  sumInFlight: () => sumInFlight(db),
  /** Cost of the transactions of a chain mined within the period, wei, and when the first was; `undefined`: none was. */
  sumSpent: (chain: StateMachine, period: Period) => {
    const [row] = db.rows(
      `SELECT sum(CAST(cost_wei AS REAL)) AS spent, min(mined_at_ms) AS first FROM spending
         WHERE chain = :chain AND ${isMined} GROUP BY chain`,
      { chain, ...period },
    );
    return row && { costWei: readReal(row, "spent"), sinceMs: readNumber(row, "first") };
  },
});

const sumFees = (db: Database) => ({
  /** Deliveries whose fees are still to be claimed, or cannot be; fees in units of the source's fee token. */
  sumUnclaimed: () =>
    db.rows(
      `SELECT source, claim_state, count(*) AS count, coalesce(sum(CAST(fee AS REAL)), 0.0) AS units
         FROM delivery INDEXED BY delivery_open_claim WHERE claim_state IN ('unclaimed', 'claiming', 'lost', 'unclaimable') GROUP BY source, claim_state`,
    ).map(readClaim),
  /** Deliveries that were claimed within the period. */
  sumClaimed: (period: Period) =>
    db.rows(
      `SELECT source, claim_state, count(*) AS count, coalesce(sum(CAST(fee AS REAL)), 0.0) AS units FROM delivery
         WHERE claim_state = 'claimed' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs
         GROUP BY source, claim_state`,
      period,
    ).map(readClaim),
  /** Withdrawals that were received within the period, in units of the chain's fee token. */
  sumWithdrawn: (period: Period) =>
    db.rows(
      `SELECT chain, coalesce(sum(CAST(amount AS REAL)), 0.0) AS units FROM withdrawal
         WHERE state = 'done' AND updated_at_ms > :afterMs AND updated_at_ms <= :untilMs GROUP BY chain`,
      period,
    ).map((row) => ({ chain: readStateMachine(row, "chain"), units: readReal(row, "units") })),
});

/** Unresolved transactions are few: they are summed here, where a nonce is a number. */
const sumInFlight = (db: Database) => {
  const rows = db.rows(
    `SELECT s.chain, s.account, s.nonce, s.created_at_ms, s.state FROM submission s WHERE ${isUnresolved} ORDER BY s.chain, s.id`,
  ).map((row) => ({
    chain: readStateMachine(row, "chain"),
    account: findText(row, "account"),
    nonce: findDecimal(row, "nonce"),
    atMs: readNumber(row, "created_at_ms"),
    isMined: readText(row, "state") === "included",
  }));
  return [...Map.groupBy(rows, ({ chain }) => chain)].flatMap(([chain, all]) => {
    const waiting = all.filter(({ isMined }) => !isMined);
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

const readLeg = (row: Row) => ({
  source: readStateMachine(row, "source"),
  target: readStateMachine(row, "target"),
});

const readStage = (row: Row) => ({
  target: readStateMachine(row, "target"),
  tookMs: readNumber(row, "took"),
});

const readClaim = (row: Row) => ({
  source: readStateMachine(row, "source"),
  state: readOneOf(row, "claim_state", claimStates),
  count: readNumber(row, "count"),
  feeUnits: readReal(row, "units"),
});

function readReal(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== "number") throw new Error(`Column ${column}: expected a number`);
  return value;
}
