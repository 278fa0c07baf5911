/**
 * Table `spending`: maximum cost, actual cost and revenue of every transaction. A row is written with the journal
 * entry, before anything is sent, and completed when the transaction is mined.
 */
import type { SignedSubmission, SpentGas } from "../../core/chains/submission.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";
import { column, RowFormat, type RowOf } from "./columns.ts";
import { Table } from "./database.ts";

/** Every {@link SpendingPurpose}. */
export const spendingPurposes = [
  "delivery",
  "payment_delivery",
  "consensus_proofs",
  "cancellation",
  "claim",
  "withdrawal",
  "reward_claim",
] as const;

/** Purpose of a transaction or extrinsic. */
export type SpendingPurpose = typeof spendingPurposes[number];

/**
 * Rules that allow a transaction. `profit`: the fees of its messages cover it. `no_minimum`: the operator wants everything
 * delivered. `always`: it carries a message that is delivered regardless of revenue. `consensus_proofs`: the host lacks
 * them. `nonce`: it frees a nonce that others wait for. `free`: unsigned, it costs nothing. `operator`: the operator asked
 * for it, whatever it costs.
 */
const spendingRules = [
  "profit",
  "no_minimum",
  "always",
  "consensus_proofs",
  "nonce",
  "free",
  "operator",
] as const;

/** A rule that allows a transaction. */
export type SpendingRule = typeof spendingRules[number];

/** Every {@link SpendingResult}. */
export const spendingResults = [
  "delivered",
  "advanced",
  "already_known",
  "lost_race",
  "reverted",
  "not_executed",
  "cancelled",
  "done",
] as const;

/**
 * Result of a transaction. `delivered`: at least one message, for us. `advanced`: consensus proofs alone that advanced
 * the host's client; `already_known`: proofs that it already had. `lost_race`: competitors delivered first.
 * `not_executed`: mined, but the receiving modules failed. `cancelled`: a nonce was used up. `done`: a call that is
 * free.
 */
export type SpendingResult = typeof spendingResults[number];

/** Results that earned nothing. */
export const wastedResults: ReadonlySet<string> = new Set<SpendingResult>([
  "already_known",
  "lost_race",
  "reverted",
  "not_executed",
  "cancelled",
]);

/** Result of a mined transaction. */
export interface Spent {
  readonly result: SpendingResult;
  readonly gas: SpentGas;
  /** Dollars per native token x 10^27; `undefined`: unknown. */
  readonly price27: bigint | undefined;
  /** Revenue, dollars x 10^18; `undefined`: not known yet. */
  readonly revenueUsd18: bigint | undefined;
}

/** A price of 1 x 10^27 makes 1 wei 10^-18 dollars, which is 1 in dollars x 10^18. */
const PRICE_UNIT = 10n ** 27n;

/** A millionth of a dollar in dollars x 10^18. */
const MICRO = 10n ** 12n;

// Must be written as in the index, or SQLite does not use it.
const isMined = "mined_at_ms IS NOT NULL";

const format = new RowFormat({
  /** Id of the submission, which may have been pruned. */
  id: column.number,
  chain: column.stateMachine,
  hash: column.hash,
  /** Source of the leg, for deliveries. */
  legSource: column.optional(column.stateMachine),
  purpose: column.oneOf(spendingPurposes),
  rule: column.oneOf(spendingRules),
  /** Gas limit times price, and what else it may cost, wei. */
  maxCostWei: column.decimal,
  /** Fees of its messages as the rule counted them, dollars x 10^18; `undefined`: they were not read. */
  offeredUsd18: column.optional(column.decimal),
  result: column.optional(column.oneOf(spendingResults)),
  gasUsed: column.optional(column.decimal),
  gasPriceWei: column.optional(column.decimal),
  dataCostWei: column.optional(column.decimal),
  /** Total cost, wei. */
  costWei: column.optional(column.decimal),
  price27: column.optional(column.decimal),
  /** At the price of that time, dollars x 10^18. */
  costUsd18: column.optional(column.decimal),
  revenueUsd18: column.optional(column.decimal),
  /** Cost minus revenue, millionths of a dollar, rounded up; `undefined`: the price is not known. */
  lossMicroUsd: column.optional(column.integer),
  /** Time when it was seen in a block, Unix milliseconds. */
  minedAtMs: column.optional(column.number),
});

/** Spending row. A transaction that is not mined has no result, cost or revenue. */
export type SpendingRow = RowOf<typeof format>;

/** Permission to send a transaction; written with its journal entry. */
export type Allowance = Pick<SpendingRow, "rule"> & Partial<Pick<SpendingRow, "offeredUsd18">>;

const feeFormat = new RowFormat({ source: column.stateMachine, fee: column.decimal });

const lossFormat = new RowFormat({
  /** Cost minus revenue of loss-making transactions, millionths of a dollar. Profits of others do not offset it. */
  lossMicroUsd: column.integer,
  /** Number of transactions whose cost in dollars is unknown. */
  unpriced: column.number,
});

/** Losses on one chain since some time. */
export type LossSum = RowOf<typeof lossFormat>;

/** A new submission as spending records it. */
export interface NewAllowance {
  /** Of the submission. */
  readonly id: number;
  readonly submission: SignedSubmission;
  readonly legSource: StateMachine | undefined;
  readonly purpose: SpendingPurpose;
  readonly allowance: Allowance;
}

/** Spending records. Every method may throw a `LedgerFault`. */
export class Spending extends Table {
  find(id: number): SpendingRow | undefined {
    return this.db.find("spending", { id }, format.read);
  }

  /** Records the maximum cost of a submission. Part of recording it. */
  open({ id, submission, legSource, purpose, allowance: { rule, offeredUsd18 } }: NewAllowance): void {
    const { chain, hash, gasLimit = 0n, gasPriceWei = 0n, dataCostWei = 0n } = submission;
    const maxCostWei = gasLimit * gasPriceWei + dataCostWei;
    const row = format.write({ id, chain, hash, legSource, purpose, rule, maxCostWei, offeredUsd18 });
    this.db.insert("spending", { ...row, created_at_ms: this.db.now() });
  }

  /** Records the cost and revenue of a mined transaction. @throws {Error} a defect: no such row. */
  note(id: number, { gas, ...spent }: Spent): void {
    const old = this.find(id);
    if (old === undefined) throw new Error(`No allowance of submission ${id}`);
    const costWei = gas.gasUsed * gas.gasPriceWei + gas.dataCostWei;
    this.#write({ ...old, ...gas, ...spent, costWei, minedAtMs: old.minedAtMs ?? this.db.now() });
  }

  /** Records that an unsigned extrinsic is in a final block. */
  noteFree(id: number, result: Extract<SpendingResult, "done" | "reverted">): void {
    const gas = { gasUsed: 0n, gasPriceWei: 0n, dataCostWei: 0n };
    this.note(id, { result, gas, price27: undefined, revenueUsd18: 0n });
  }

  /** Reverts the spending of a submission whose block was reorganised. */
  takeBack(id: number): void {
    this.db.run(
      `UPDATE spending SET result = NULL, gas_used = NULL, gas_price_wei = NULL, data_cost_wei = NULL, cost_wei = NULL,
         price27 = NULL, cost_usd18 = NULL, revenue_usd18 = NULL, loss_micro_usd = NULL, mined_at_ms = NULL
       WHERE id = :id`,
      { id },
    );
  }

  /** Completes rows of a chain that were recorded without a price. */
  price(chain: StateMachine, price27: bigint): void {
    const rows = this.db.rows(
      `SELECT * FROM spending WHERE chain = :chain AND ${isMined} AND loss_micro_usd IS NULL`,
      { chain },
    ).map(format.read);
    for (const row of rows) this.#write({ ...row, price27 });
  }

  /**
   * Updates the revenue after fees of deliveries were proved: their transaction earned at least the sum of those that we
   * claim.
   * @param toUsd18 dollars x 10^18 of a fee on its source; `undefined`: unknown
   */
  learnRevenue(
    chain: StateMachine,
    hash: Hash256,
    toUsd18: (source: StateMachine, fee: bigint) => bigint | undefined,
  ): void {
    const row = this.db.row(`SELECT * FROM spending WHERE chain = :chain AND hash = :hash AND ${isMined}`, {
      chain,
      hash,
    });
    if (row === undefined) return;
    const known = format.read(row);
    const fees = this.#listFees(known.id).flatMap(({ source, fee }) => toUsd18(source, fee) ?? []);
    const revenueUsd18 = fees.reduce((sum, fee) => sum + fee, 0n);
    const isNews = known.revenueUsd18 === undefined ? fees.length > 0 : revenueUsd18 > known.revenueUsd18;
    if (isNews) this.#write({ ...known, revenueUsd18 });
  }

  /** Fees of the deliveries of a transaction that we claim, as proved. */
  #listFees(id: number): readonly { readonly source: StateMachine; readonly fee: bigint }[] {
    return this.db.rows(
      `SELECT d.source, d.fee FROM submission_item i
         JOIN spending p ON p.id = i.submission_id
         JOIN delivery d ON d.commitment = i.request_commitment AND d.dest = i.target AND d.tx_hash = p.hash
       WHERE i.submission_id = :id AND d.fee IS NOT NULL
         AND (d.claim_state = 'claiming' OR d.claim_hub_block IS NOT NULL)`,
      { id },
    ).map(feeFormat.read);
  }

  /** Rows mined after `sinceMs`, oldest first. */
  listMined(chain: StateMachine, sinceMs: number): SpendingRow[] {
    return this.db.rows(
      `SELECT * FROM spending WHERE chain = :chain AND ${isMined} AND mined_at_ms > :since ORDER BY mined_at_ms, id`,
      { chain, since: sinceMs },
    ).map(format.read);
  }

  /** Losses of a chain since a time. */
  sumLoss(chain: StateMachine, sinceMs: number): LossSum {
    const row = this.db.row(
      `SELECT coalesce(sum(loss_micro_usd), 0) AS loss_micro_usd, coalesce(sum(loss_micro_usd IS NULL), 0) AS unpriced
       FROM spending WHERE chain = :chain AND ${isMined} AND mined_at_ms > :since`,
      { chain, since: sinceMs },
    );
    return lossFormat.read(row ?? {});
  }

  #write(row: SpendingRow): void {
    const { id, purpose, costWei, price27, revenueUsd18 } = row;
    if (costWei === undefined) throw new Error(`Submission ${id} is in no block`);
    const costUsd18 = costWei === 0n
      ? 0n
      : price27 === undefined
      ? undefined
      : costWei * price27 / PRICE_UNIT;
    const lossMicroUsd = costUsd18 === undefined ? undefined : lossOf(purpose, costUsd18, revenueUsd18 ?? 0n);
    this.db.set("spending", { id }, format.write({ ...row, costUsd18, lossMicroUsd }));
  }
}

/**
 * Computes a loss, rounded up so that many small ones count. Delivering our own payment has a cost, but is not a loss.
 */
function lossOf(purpose: SpendingPurpose, costUsd18: bigint, revenueUsd18: bigint): bigint {
  if (purpose === "payment_delivery" || revenueUsd18 >= costUsd18) return 0n;
  return (costUsd18 - revenueUsd18 + MICRO - 1n) / MICRO;
}
