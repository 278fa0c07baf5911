/**
 * Table `spending`: maximum cost, actual cost and revenue of every transaction. A row is written with the journal
 * entry, before anything is sent, and completed when the transaction is mined.
 */
import type { SpentGas } from "../../core/chains/port.ts";
import type { Hash256 } from "../../core/encoding/bytes.ts";
import type { StateMachine } from "../../core/ismp/state_machine.ts";

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

/** Every {@link SpendingRule}. */
export const spendingRules = ["profit", "no_minimum", "always", "consensus_proofs", "nonce", "free"] as const;

/**
 * Rule that allows a transaction. `profit`: the fees of its messages cover it. `no_minimum`: the operator wants
 * everything delivered. `always`: it carries a message that is delivered regardless of revenue. `consensus_proofs`: the
 * host lacks them. `nonce`: it frees a nonce that others wait for. `free`: unsigned, it costs nothing.
 */
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

/** Permission to send a transaction; written with its journal entry. */
export interface Allowance {
  readonly rule: SpendingRule;
  /** Fees of its messages as the rule counted them, dollars x 10^18; `undefined`: they were not read. */
  readonly offeredUsd18?: bigint | undefined;
}

/** Result of a mined transaction. */
export interface Spent {
  readonly result: SpendingResult;
  readonly gas: SpentGas;
  /** Dollars per native token x 10^27; `undefined`: unknown. */
  readonly price27: bigint | undefined;
  /** Revenue, dollars x 10^18; `undefined`: not known yet. */
  readonly revenueUsd18: bigint | undefined;
}

/** Spending row. A transaction that is not mined has no result, cost or revenue. */
export interface SpendingRow extends Allowance {
  /** Id of the submission, which may have been pruned. */
  readonly id: number;
  readonly chain: StateMachine;
  readonly hash: Hash256;
  readonly purpose: SpendingPurpose;
  /** Gas limit times price, wei: the signed maximum. Fees for data on another chain come on top. */
  readonly maxCostWei: bigint;
  readonly result: SpendingResult | undefined;
  readonly gasUsed: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly dataCostWei: bigint | undefined;
  /** Total cost, wei. */
  readonly costWei: bigint | undefined;
  readonly price27: bigint | undefined;
  /** At the price of that time, dollars x 10^18. */
  readonly costUsd18: bigint | undefined;
  readonly revenueUsd18: bigint | undefined;
  /** Cost minus revenue, millionths of a dollar, rounded up; `undefined`: the price is not known. */
  readonly lossMicroUsd: bigint | undefined;
  /** Time when it was seen in a block, Unix milliseconds. */
  readonly minedAtMs: number | undefined;
}

/** Losses on one chain since some time. */
export interface LossSum {
  /** Cost minus revenue of loss-making transactions, millionths of a dollar. Profits of others do not offset it. */
  readonly lossMicroUsd: bigint;
  /** Number of transactions whose cost in dollars is unknown. */
  readonly unpriced: number;
}

/** Spending records. Every method may throw a `LedgerFault`. */
export interface Spending {
  find(id: number): SpendingRow | undefined;
  /** Records the cost and revenue of a mined transaction. @throws {Error} a defect: no such row. */
  note(id: number, spent: Spent): void;
  /** Completes rows of a chain that were recorded without a price. */
  price(chain: StateMachine, price27: bigint): void;
  /**
   * Updates the revenue after a fee of a delivery was recorded: its transaction earned at least the sum of the known
   * fees.
   * @param toUsd18 dollars x 10^18 of a fee on its source; `undefined`: unknown
   */
  learnRevenue(
    chain: StateMachine,
    hash: Hash256,
    toUsd18: (source: StateMachine, fee: bigint) => bigint | undefined,
  ): void;
  /** Rows mined after `sinceMs`, oldest first. */
  listMined(chain: StateMachine, sinceMs: number): SpendingRow[];
  /** Chains with such rows. */
  listChains(sinceMs: number): StateMachine[];
  sumLoss(chain: StateMachine, sinceMs: number): LossSum;
}
