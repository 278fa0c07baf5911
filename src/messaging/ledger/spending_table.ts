/** Queries of table `spending`; their semantics are documented in `spending.ts`. */
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import type { Clock } from "../../core/runtime/clock.ts";
import {
  findDecimal,
  findInteger,
  findNumber,
  findOneOf,
  readDecimal,
  readHash,
  readInteger,
  readNumber,
  readOneOf,
  readStateMachine,
  type Row,
  toDecimal,
} from "./columns.ts";
import type { Database } from "./database.ts";
import {
  type Allowance,
  type LossSum,
  type Spending,
  type SpendingPurpose,
  spendingPurposes,
  type SpendingResult,
  spendingResults,
  type SpendingRow,
  type SpendingRule,
  spendingRules,
  type Spent,
} from "./spending.ts";
import type { NewSubmission, SubmissionKind } from "./submissions.ts";

/** A price of 1 x 10^27 makes 1 wei 10^-18 dollars, which is 1 in dollars x 10^18. */
const PRICE_UNIT = 10n ** 27n;

/** A millionth of a dollar in dollars x 10^18. */
const MICRO = 10n ** 12n;

// Must be written as in the index, or SQLite does not use it.
const isMined = "mined_at_ms IS NOT NULL";

/** Opens the spending records in a database. */
export function openSpending(db: Database, clock: Pick<Clock, "now">): Spending {
  return {
    find: (id) => find(db, id),
    note: (id, spent) => note(db, id, spent, clock.now()),
    price: (chain, price27) => {
      const rows = db.rows(
        `SELECT * FROM spending WHERE chain = :chain AND ${isMined} AND loss_micro_usd IS NULL`,
        { chain },
      ).map(toSpending);
      for (const row of rows) write(db, { ...row, price27 });
    },
    learnRevenue: (chain, hash, toUsd18) => {
      const row = db.row(`SELECT * FROM spending WHERE chain = :chain AND hash = :hash AND ${isMined}`, {
        chain,
        hash,
      });
      if (row === undefined) return;
      const known = toSpending(row);
      const sum = sumFees(db, known.id, toUsd18);
      if (sum === undefined || (known.revenueUsd18 !== undefined && sum <= known.revenueUsd18)) return;
      write(db, { ...known, revenueUsd18: sum });
    },
    listMined: (chain, sinceMs) =>
      db.rows(
        `SELECT * FROM spending WHERE chain = :chain AND ${isMined} AND mined_at_ms > :since ORDER BY mined_at_ms, id`,
        { chain, since: sinceMs },
      ).map(toSpending),
    listChains: (sinceMs) =>
      db.rows(
        `SELECT DISTINCT chain FROM spending WHERE ${isMined} AND mined_at_ms > :since ORDER BY chain`,
        { since: sinceMs },
      ).map((row) => readStateMachine(row, "chain")),
    sumLoss: (chain, sinceMs) => sumLoss(db, chain, sinceMs),
  };
}

/** Records the maximum cost of a submission. Part of recording it. */
export function openAllowance(db: Database, id: number, entry: NewSubmission, nowMs: number): void {
  const { submission, kind } = entry;
  const replaced = entry.replaces === undefined || kind === "cancel" ? undefined : find(db, entry.replaces);
  const allowance: Allowance = entry.allowance ?? replaced ?? { rule: usualRule(entry) };
  const price = submission.gasPriceWei ?? 0n;
  db.run(
    `INSERT INTO spending (id, chain, hash, purpose, rule, max_cost_wei, offered_usd18, created_at_ms)
     VALUES (:id, :chain, :hash, :purpose, :rule, :maxCostWei, :offeredUsd18, :now)`,
    {
      id,
      chain: submission.chain,
      hash: submission.hash,
      purpose: purposeOf(db, entry),
      rule: allowance.rule,
      maxCostWei: toDecimal((submission.gasLimit ?? 0n) * price),
      offeredUsd18: toDecimal(allowance.offeredUsd18),
      now: nowMs,
    },
  );
}

/** Reverts the spending of a submission whose block was reorganised. */
export function takeBackSpent(db: Database, id: number): void {
  db.run(
    `UPDATE spending SET result = NULL, gas_used = NULL, gas_price_wei = NULL, data_cost_wei = NULL, cost_wei = NULL,
       price27 = NULL, cost_usd18 = NULL, revenue_usd18 = NULL, loss_micro_usd = NULL, mined_at_ms = NULL
     WHERE id = :id`,
    { id },
  );
}

/** Records that an unsigned extrinsic is in a final block. */
export function noteFree(
  db: Database,
  id: number,
  result: Extract<SpendingResult, "done" | "reverted">,
  nowMs: number,
): void {
  const gas = { gasUsed: 0n, gasPriceWei: 0n, dataCostWei: 0n };
  note(db, id, { result, gas, price27: undefined, revenueUsd18: 0n }, nowMs);
}

function note(db: Database, id: number, spent: Spent, nowMs: number): void {
  const old = find(db, id);
  if (old === undefined) throw new Error(`No allowance of submission ${id}`);
  const { result, price27, revenueUsd18, gas } = spent;
  const costWei = gas.gasUsed * gas.gasPriceWei + gas.dataCostWei;
  write(db, { ...old, ...gas, result, costWei, price27, revenueUsd18, minedAtMs: old.minedAtMs ?? nowMs });
}

function write(db: Database, row: SpendingRow): void {
  const { costWei, price27, revenueUsd18 } = row;
  if (costWei === undefined) throw new Error(`Submission ${row.id} is in no block`);
  const costUsd18 = costWei === 0n ? 0n : price27 === undefined ? undefined : costWei * price27 / PRICE_UNIT;
  db.run(
    `UPDATE spending SET result = :result, gas_used = :gasUsed, gas_price_wei = :gasPriceWei,
       data_cost_wei = :dataCostWei, cost_wei = :costWei, price27 = :price27, cost_usd18 = :costUsd18,
       revenue_usd18 = :revenueUsd18, loss_micro_usd = :lossMicroUsd, mined_at_ms = :minedAtMs WHERE id = :id`,
    {
      id: row.id,
      result: row.result,
      gasUsed: toDecimal(row.gasUsed),
      gasPriceWei: toDecimal(row.gasPriceWei),
      dataCostWei: toDecimal(row.dataCostWei),
      costWei: toDecimal(costWei),
      price27: toDecimal(price27),
      costUsd18: toDecimal(costUsd18),
      revenueUsd18: toDecimal(revenueUsd18),
      lossMicroUsd: costUsd18 === undefined ? undefined : lossOf(row.purpose, costUsd18, revenueUsd18 ?? 0n),
      minedAtMs: row.minedAtMs,
    },
  );
}

/**
 * Computes a loss, rounded up so that many small ones count. Delivering our own payment has a cost, but is not a loss.
 */
function lossOf(purpose: SpendingPurpose, costUsd18: bigint, revenueUsd18: bigint): bigint {
  if (purpose === "payment_delivery" || revenueUsd18 >= costUsd18) return 0n;
  return (costUsd18 - revenueUsd18 + MICRO - 1n) / MICRO;
}

function sumLoss(db: Database, chain: StateMachine, sinceMs: number): LossSum {
  const row = db.row(
    `SELECT coalesce(sum(loss_micro_usd), 0) AS loss, coalesce(sum(loss_micro_usd IS NULL), 0) AS unpriced
     FROM spending WHERE chain = :chain AND ${isMined} AND mined_at_ms > :since`,
    { chain, since: sinceMs },
  );
  if (row === undefined) throw new Error("A sum has a row");
  return { lossMicroUsd: readInteger(row, "loss"), unpriced: readNumber(row, "unpriced") };
}

/** Sums the known fees of the deliveries of a transaction; `undefined`: none is known. */
function sumFees(
  db: Database,
  id: number,
  toUsd18: (source: StateMachine, fee: bigint) => bigint | undefined,
): bigint | undefined {
  return db.rows(
    `SELECT d.source, d.fee FROM submission_item i
       JOIN spending p ON p.id = i.submission_id
       JOIN delivery d ON d.commitment = i.request_commitment AND d.dest = i.target AND d.tx_hash = p.hash
     WHERE i.submission_id = :id AND d.fee IS NOT NULL`,
    { id },
  ).map((row) => toUsd18(readStateMachine(row, "source"), readDecimal(row, "fee")))
    .reduce((sum, fee) => fee === undefined ? sum : (sum ?? 0n) + fee, undefined);
}

function usualRule({ kind, submission, items }: NewSubmission): SpendingRule {
  if (submission.gasLimit === undefined) return "free";
  if (kind === "cancel") return "nonce";
  return items.length === 0 ? "consensus_proofs" : "no_minimum";
}

const purposes: Readonly<Record<Exclude<SubmissionKind, "delivery">, SpendingPurpose>> = {
  cancel: "cancellation",
  accumulate: "claim",
  withdraw: "withdrawal",
  claim: "reward_claim",
};

function purposeOf(db: Database, { kind, items }: NewSubmission): SpendingPurpose {
  if (kind !== "delivery") return purposes[kind];
  const [first] = items;
  if (first === undefined) return "consensus_proofs";
  const isPayment = items.length === 1 &&
    db.row("SELECT id FROM withdrawal WHERE commitment = :commitment", { commitment: first.commitment }) !==
      undefined;
  return isPayment ? "payment_delivery" : "delivery";
}

function find(db: Database, id: number): SpendingRow | undefined {
  const row = db.row("SELECT * FROM spending WHERE id = :id", { id });
  return row && toSpending(row);
}

function toSpending(row: Row): SpendingRow {
  return {
    id: readNumber(row, "id"),
    chain: readStateMachine(row, "chain"),
    hash: readHash(row, "hash"),
    purpose: readOneOf(row, "purpose", spendingPurposes),
    rule: readOneOf(row, "rule", spendingRules),
    maxCostWei: readDecimal(row, "max_cost_wei"),
    offeredUsd18: findDecimal(row, "offered_usd18"),
    result: findOneOf(row, "result", spendingResults),
    gasUsed: findDecimal(row, "gas_used"),
    gasPriceWei: findDecimal(row, "gas_price_wei"),
    dataCostWei: findDecimal(row, "data_cost_wei"),
    costWei: findDecimal(row, "cost_wei"),
    price27: findDecimal(row, "price27"),
    costUsd18: findDecimal(row, "cost_usd18"),
    revenueUsd18: findDecimal(row, "revenue_usd18"),
    lossMicroUsd: findInteger(row, "loss_micro_usd"),
    minedAtMs: findNumber(row, "mined_at_ms"),
  };
}
