/**
 * The ledger with very many rows: how long it takes to open, and how long each query takes that workers, the status
 * server or an operator's commands ask. Start reading at {@link measureLedger}.
 */
import { type Hash256, toHash256 } from "../../src/core/encoding/bytes.ts";
import { parseStateMachine, type StateMachine } from "../../src/core/ismp/state_machine.ts";
import { type Ledger, openMessageStates } from "../../src/messaging/ledger/ledger.ts";
import { openDatabase, openLedger } from "../../src/messaging/ledger/open.ts";
import { percentile } from "./report.ts";

/** What a ledger takes. */
export interface LedgerCost {
  readonly bytes: number;
  readonly openMs: number;
  /** Slowest first. */
  readonly queries: readonly QueryCost[];
}

/** A query, asked many times about one leg after the other. */
export interface QueryCost {
  readonly name: string;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

/** What {@link fillLedger} writes. */
export interface LedgerFill {
  /** Messages. */
  readonly rows: number;
  /** EVM chains beside the hub. */
  readonly chains: readonly StateMachine[];
  readonly hub: StateMachine;
  readonly nowMs: number;
  /** True: all messages do not pay and are held for an hour. Default: as {@link fillLedger} says. */
  readonly areHeld?: boolean;
}

const DAY_MS = 86_400_000;
/** As long as ended messages are kept: the rows are spread over it. */
const SPAN_MS = 30 * DAY_MS;
/** Messages of one transaction. */
const PER_TRANSACTION = 50;
/** Senders that the messages are from. */
const SENDERS = 200;
/** Times that each query is asked. */
const ASKED = 60;
/** Rows that a worker asks for at once. */
const PAGE = 100;
/** Distance of the first bytes of two commitments: in the order of time they would flatter every index. */
const SPREAD = 2_654_435_761;
const SPREAD_OVER = 4_294_967_296;

/** Fills a new file, opens it and asks it. */
export function measureLedger(path: string, fill: LedgerFill): LedgerCost {
  fillLedger(path, fill);
  const startMs = performance.now();
  const ledger = openLedger(path, { clock: { now: () => fill.nowMs } });
  const openMs = performance.now() - startMs;
  try {
    const queries = Object.entries(ledgerQueries(ledger, fill)).map(([name, ask]) => timeQuery(name, ask));
    return {
      bytes: Deno.statSync(path).size,
      openMs,
      queries: queries.sort((a, b) => b.p95Ms - a.p95Ms),
    };
  } finally {
    ledger.close();
  }
}

function timeQuery(name: string, ask: (turn: number) => unknown): QueryCost {
  ask(0);
  const times = Array.from({ length: ASKED }, (_, turn) => {
    const startMs = performance.now();
    ask(turn);
    return performance.now() - startMs;
  });
  return { name, p50Ms: percentile(times, 0.5), p95Ms: percentile(times, 0.95) };
}

/**
 * Writes what a relayer knows after a month. Of each leg's messages every tenth is pending: one in four of these is due,
 * one in four without bandwidth, the others do not pay. The rest has ended.
 */
export function fillLedger(path: string, fill: LedgerFill): void {
  const db = openDatabase(path, { clock: { now: () => fill.nowMs } });
  try {
    db.transaction(() => {
      for (const statement of statementsOf(fill)) db.execute(statement);
    });
  } finally {
    db.close();
  }
}

/** Statements of SQLite alone: a million rows take half a minute by them, and an hour one by one. */
function statementsOf({ rows, chains, hub, nowMs, areHeld = false }: LedgerFill): readonly string[] {
  const legs = 2 * chains.length;
  const chainAt = (number: string): string =>
    `(SELECT value FROM json_each('${JSON.stringify(chains)}') WHERE key = (${number}) % ${chains.length})`;
  const [chain, peer] = [chainAt("n / 2"), chainAt("n / 2 + 1")];
  const isPending = areHeld ? "1" : `n / ${legs} % 10 = 0`;
  const quarter = areHeld ? "2" : `n / ${legs} / 10 % 4`;
  const createdMs = `${nowMs - SPAN_MS} + n * ${Math.floor(SPAN_MS / rows)}`;
  const transaction = `(n / ${legs} / ${PER_TRANSACTION} * ${legs} + n % ${legs} + 1)`;
  const delivered = `(SELECT *, rowid - 1 AS n FROM message WHERE state = 'delivered')`;
  return [
    `WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows - 1})
     INSERT INTO message (rowid, commitment, target, source, kind, request_commitment, request_source, request_dest,
       module, nonce, timeout_sec, seen_at_height, encoded, state, reason, required_usd18, offered_usd18, attempts,
       next_attempt_at_ms, created_at_ms, updated_at_ms)
     SELECT n + 1, ${commitmentSql}, iif(n % 2 = 0, '${hub}', ${chain}), iif(n % 2 = 0, ${chain}, '${hub}'), 'post',
       ${commitmentSql}, iif(n % 2 = 0, ${chain}, ${peer}), iif(n % 2 = 0, ${peer}, ${chain}),
       CAST(printf('sender-%013d', n % ${SENDERS}) AS BLOB), printf('%020d', n), printf('%020d', 0), n / 20,
       zeroblob(180),
       CASE WHEN NOT ${isPending} THEN iif(n % 50 = 1, 'delivered_by_other', 'delivered')
         ELSE iif(${quarter} = 0, 'seen', 'held') END,
       CASE WHEN ${isPending} AND ${quarter} > 0 THEN iif(${quarter} = 1, 'no_bandwidth', 'unprofitable') END,
       '1000000000000000000', '900000000000000000', 1,
       iif(${quarter} = 0, ${nowMs}, ${nowMs + 3_600_000} + n), ${createdMs}, ${createdMs} + 20000
     FROM numbers`,
    `INSERT INTO submission (id, chain, kind, account, nonce, hash, raw, gas_price_wei, gas_limit, made_at_height,
       leg_source, state, block_height, block_hash, created_at_ms, updated_at_ms)
     SELECT ${transaction}, target, 'delivery', '0xabc', printf('%020d', ${transaction}), min(commitment),
       zeroblob(2000), '1000000000', '5000000', 1, source, 'final', 1, min(commitment),
       max(created_at_ms) + 5000, max(created_at_ms) + 15000
     FROM ${delivered} GROUP BY ${transaction}`,
    `INSERT INTO submission_item (submission_id, position, commitment, request_commitment, target, outcome)
     SELECT ${transaction}, n, commitment, commitment, target, 'handled' FROM ${delivered}`,
    `INSERT INTO spending (id, chain, hash, leg_source, purpose, rule, max_cost_wei, offered_usd18, result, gas_used,
       gas_price_wei, data_cost_wei, cost_wei, price27, cost_usd18, revenue_usd18, loss_micro_usd, mined_at_ms,
       created_at_ms)
     SELECT id, chain, hash, leg_source, 'delivery', 'profit', '1', '1', 'delivered', '1', '1', '0', '1', '1', '1', '1',
       0, updated_at_ms - 5000, created_at_ms FROM submission`,
    `INSERT INTO delivery (commitment, dest, source, relayer, tx_hash, block_height, block_hash, is_final, fee,
       claim_state, claim_hub_block, created_at_ms, updated_at_ms)
     SELECT commitment, target, request_source, x'09', commitment, seen_at_height, commitment, 1, '1000',
       iif(n / ${legs} % 20 = 1, 'unclaimed', 'claimed'), 1, created_at_ms, updated_at_ms
     FROM ${delivered} WHERE target <> '${hub}'`,
  ];
}

const commitmentSql = `printf('0x%08x%056x', (n + 1) * ${SPREAD} % ${SPREAD_OVER}, n)`;

function commitmentOf(n: number): Hash256 {
  const spread = BigInt(n + 1) * BigInt(SPREAD) % BigInt(SPREAD_OVER);
  return toHash256(`${spread.toString(16).padStart(8, "0")}${n.toString(16).padStart(56, "0")}`);
}

/** Every query of the relayer on tables that grow with its work. */
export function ledgerQueries(
  ledger: Ledger,
  fill: LedgerFill,
): Readonly<Record<string, (turn: number) => unknown>> {
  const { messages, submissions, deliveries, foreignReceipts, spending, statistics } = ledger;
  const { rows, nowMs } = fill;
  const legOf = (turn: number): { readonly source: StateMachine; readonly target: StateMachine } => {
    const chain = chainOf(fill, Math.floor(turn / 2));
    return turn % 2 === 0 ? { source: chain, target: fill.hub } : { source: fill.hub, target: chain };
  };
  const minute = { afterMs: nowMs - 60_000, untilMs: nowMs };
  const day = { afterMs: nowMs - DAY_MS, untilMs: nowMs };
  const numbers = (turn: number): readonly number[] =>
    Array.from({ length: PAGE }, (_, at) => (turn * 7_919 + at * 104_729) % rows);
  const commitments = (turn: number): readonly Hash256[] => numbers(turn).map(commitmentOf);
  const due = (turn: number): Parameters<typeof messages.listDue>[0] => ({
    ...legOf(turn),
    nowMs,
    limit: PAGE,
    targetNowSec: BigInt(Math.floor(nowMs / 1000)),
  });
  const held = (turn: number): Parameters<typeof messages.listHeldSenders>[0] => ({
    ...legOf(turn),
    reason: "no_bandwidth",
    nowMs,
    limit: PAGE,
  });
  return {
    "messages due": (turn) => messages.listDue(due(turn)),
    "messages due, none refused": (turn) => messages.listDue({ ...due(turn), refused: "without" }),
    "messages due, refused only": (turn) => messages.listDue({ ...due(turn), refused: "only" }),
    "open messages": (turn) => messages.hasOpen(legOf(turn).source, legOf(turn).target),
    "next due time": (turn) => messages.nextDueAt(legOf(turn).source, legOf(turn).target),
    "messages timed out": (turn) =>
      messages.listExpired({ ...legOf(turn), nowSec: BigInt(Math.floor(nowMs / 1000)), limit: PAGE }),
    "messages submitted": (turn) => messages.listSubmitted({ ...legOf(turn), limit: PAGE }),
    "messages by commitment": (turn) => messages.findAll(commitments(turn), fill.hub),
    "response to a GET request": (turn) =>
      messages.findResponse(commitmentOf(turn), legOf(turn).source, legOf(turn).target),
    "message of a delivery": (turn) => messages.findDelivered(commitmentOf(turn), fill.hub),
    "senders held": (turn) => messages.listHeldSenders(held(turn)),
    "messages held of a sender": (turn) => messages.listHeldOf(new Uint8Array(20), held(turn)),
    "senders refused": (turn) => messages.listRefusedSenders(legOf(turn).source, legOf(turn).target),
    "wake for a reason": (turn) =>
      messages.wake(legOf(turn).source, legOf(turn).target, "consensus_proofs_unprofitable"),
    "wake all for a reason": (turn) =>
      messages.wakeMatching({ target: legOf(turn).target, reasons: ["loss_limit"] }),
    "lift batch limits": (turn) =>
      messages.liftBatchLimits(legOf(turn).source, legOf(turn).target, "unprofitable"),
    "receipts of others": (turn) => foreignReceipts.list(legOf(turn).target, PAGE),
    "submissions unresolved": (turn) => submissions.listUnresolved(legOf(turn).target),
    "submissions in flight": (turn) => submissions.listInFlight(legOf(turn).target),
    "highest nonce": (turn) => submissions.findHighestNonce(legOf(turn).target, "0xabc"),
    "submissions of a message": (turn) => submissions.listByItem(commitmentOf(turn), fill.hub),
    "deliveries not final": (turn) => deliveries.listNotFinal(chainOf(fill, turn)),
    "receipts found, not final": (turn) => deliveries.listFoundNotFinal(chainOf(fill, turn)),
    "claims that can be made": () => deliveries.listClaimPairs(),
    "deliveries of a claim": (turn) =>
      deliveries.listUnclaimed({
        source: chainOf(fill, turn),
        dest: chainOf(fill, turn + 1),
        relayer: Uint8Array.of(9),
        maxBlock: 10n ** 9n,
        limit: PAGE,
      }),
    "deliveries lost": () => deliveries.listByClaimState("lost", { limit: PAGE }),
    "relayer addresses": (turn) => deliveries.listRelayers(chainOf(fill, turn)),
    "loss of a day": (turn) => spending.sumLoss(chainOf(fill, turn), day.afterMs),
    "spending of a day": (turn) => spending.listMined(chainOf(fill, turn), day.afterMs),
    "status: open messages": () => statistics.countOpen(),
    "status: ended within a day": () => statistics.countEnded(day),
    "status: last delivered": () => statistics.listLastDelivered(PAGE),
    "status: mined within a minute": () => statistics.sumMined(minute),
    "status: waits within a minute": () => statistics.listWaitsForSending(minute),
    "status: finality within a minute": () => statistics.listWaitsForFinality(minute),
    "status: in flight": () => statistics.sumInFlight(),
    "status: spent within a day": (turn) => statistics.sumSpent(chainOf(fill, turn), day),
    "status: fees unclaimed": () => statistics.sumUnclaimed(),
    "status: fees claimed within a minute": () => statistics.sumClaimed(minute),
    "summary: messages by state": () => messages.countByState(),
    "command: newest messages": () => messages.search({}, PAGE),
    "command: open messages of a leg": (turn) =>
      messages.search({ ...legOf(turn), states: openMessageStates }, PAGE),
    "command: a message's legs": (turn) => messages.listLegs(commitmentOf(turn)),
    "command: costs since a day": () =>
      statistics.listMinedCosts({ sinceMs: day.afterMs, afterId: 0, limit: PAGE }),
  };
}

function chainOf({ chains }: LedgerFill, turn: number): StateMachine {
  const chain = chains[turn % chains.length];
  if (chain === undefined) throw new RangeError("A ledger is filled for some chains");
  return chain;
}

/** State machines of as many chains as nothing else uses. */
export function spareChains(count: number): readonly StateMachine[] {
  return Array.from({ length: count }, (_, at) => parseStateMachine(`EVM-${FIRST_SPARE_ID + at}`));
}

const FIRST_SPARE_ID = 900_001;
