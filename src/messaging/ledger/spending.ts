/**
 * Table `spending`: what every transaction was allowed to cost, what it did cost, and what it earned. A row is written
 * with the journal's entry, before anything is sent, and completed when the transaction is in a block.
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

/** What a transaction or extrinsic is for. */
export type SpendingPurpose = typeof spendingPurposes[number];

/** Every {@link SpendingRule}. */
export const spendingRules = ["profit", "no_minimum", "always", "consensus_proofs", "nonce", "free"] as const;

/**
 * The rule that allows a transaction. `profit`: the fees of its messages cover it. `no_minimum`: the operator wants
 * everything delivered. `always`: with it goes a message that is delivered whatever it pays. `consensus_proofs`: the
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
 * What came of it. `delivered`: at least one message, for us. `advanced`: consensus proofs alone that the host learned
 * from; `already_known`: proofs that it had by then. `lost_race`: others delivered first. `not_executed`: mined, but
 * the receiving modules failed. `cancelled`: a nonce was used up. `done`: a call that is free.
 */
export type SpendingResult = typeof spendingResults[number];

/** Why a transaction may be sent; written with its journal entry. */
export interface Allowance {
  readonly rule: SpendingRule;
  /** Fees of its messages as the rule counted them, dollars x 10^18; `undefined`: they were not read. */
  readonly offeredUsd18?: bigint | undefined;
}

/** Outcome of a transaction in a block. */
export interface Spent {
  readonly result: SpendingResult;
  readonly gas: SpentGas;
  /** Dollars per native token x 10^27; `undefined`: unknown. */
  readonly price27: bigint | undefined;
  /** What it earned, dollars x 10^18; `undefined`: not known yet. */
  readonly revenueUsd18: bigint | undefined;
}

/** A row. What is in no block has no result, costs nothing and earned nothing. */
export interface SpendingRow extends Allowance {
  /** Id of the submission, which may be gone by now. */
  readonly id: number;
  readonly chain: StateMachine;
  readonly hash: Hash256;
  readonly purpose: SpendingPurpose;
  /** Gas limit times price, wei: what was signed for. Fees for data on another chain come on top. */
  readonly maxCostWei: bigint;
  readonly result: SpendingResult | undefined;
  readonly gasUsed: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly dataCostWei: bigint | undefined;
  /** All of it, wei. */
  readonly costWei: bigint | undefined;
  readonly price27: bigint | undefined;
  /** At the price of that time, dollars x 10^18. */
  readonly costUsd18: bigint | undefined;
  readonly revenueUsd18: bigint | undefined;
  /** Cost beyond that, millionths of a dollar, rounded up; `undefined`: the price is not known. */
  readonly lossMicroUsd: bigint | undefined;
  /** When it was seen in a block, Unix milliseconds. */
  readonly minedAtMs: number | undefined;
}

/** Loss of one chain since some time. */
export interface LossSum {
  /** Cost beyond what was earned, millionths of a dollar. Gains elsewhere do not make up for it. */
  readonly lossMicroUsd: bigint;
  /** Transactions that cost something, of which it is not known how many dollars. */
  readonly unpriced: number;
}

/** The ledger of spending. Every method may throw a `LedgerFault`. */
export interface Spending {
  find(id: number): SpendingRow | undefined;
  /** Records what a transaction in a block cost and earned. @throws {Error} a defect: no such row. */
  note(id: number, spent: Spent): void;
  /** Completes rows of a chain that were written while no price was known. */
  price(chain: StateMachine, price27: bigint): void;
  /**
   * A fee of a delivery was recorded: its transaction earned at least the sum of the fees known by now.
   * @param toUsd18 dollars x 10^18 of a fee on its source; `undefined`: nobody knows
   */
  learnRevenue(
    chain: StateMachine,
    hash: Hash256,
    toUsd18: (source: StateMachine, fee: bigint) => bigint | undefined,
  ): void;
  /** Rows that came into a block after `sinceMs`, oldest first. */
  listMined(chain: StateMachine, sinceMs: number): SpendingRow[];
  /** Chains with such rows. */
  listChains(sinceMs: number): StateMachine[];
  sumLoss(chain: StateMachine, sinceMs: number): LossSum;
}
