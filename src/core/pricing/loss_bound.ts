/** What a daily limit of losses leaves for a transaction. Pure. */
import { unitPrice27 } from "../evm/native_price.ts";

/** Period of a daily limit, ms: a rolling day. */
export const DAY_MS = 86_400_000;

/** Transaction that is about to be signed. */
export interface PlannedCost {
  readonly gasLimit: bigint;
  /** The most that it costs besides gas, wei. */
  readonly dataCostWei: bigint;
  /** Of the transaction that it replaces: only one of them can be mined. */
  readonly nonce?: bigint | undefined;
}

/** What a loss limit has to cover before a transaction is signed. */
export interface LossBoundInput extends Omit<PlannedCost, "nonce"> {
  readonly limitMicroUsd: bigint;
  /** Losses of the last day. */
  readonly lossMicroUsd: bigint;
  /** Maximum cost of the transactions under way, wei. */
  readonly pendingWei: bigint;
  /** Dollars per native token x 10^27. */
  readonly price27: bigint;
}

/**
 * Maximum gas price of a transaction whose whole cost has to fit into what is left of a loss limit, wei: it may be
 * reverted, and so may be every one under way. 0: nothing is left.
 */
export function lossBoundWei(facts: LossBoundInput): bigint {
  const { limitMicroUsd, lossMicroUsd, pendingWei, dataCostWei, price27, gasLimit } = facts;
  const unit27 = unitPrice27(price27);
  if (unit27 === 0n || limitMicroUsd <= lossMicroUsd) return 0n;
  const leftWei = (limitMicroUsd - lossMicroUsd) * 10n ** 21n / unit27 - pendingWei - dataCostWei;
  return leftWei <= 0n ? 0n : leftWei / (gasLimit === 0n ? 1n : gasLimit);
}
