/**
 * Decides the most that a transaction in the place of another one may offer per gas. Pure.
 * Rules: docs/protocol/messaging.md section 10.3: replacements as long as the delivery still pays.
 */
import { breakEvenGasPriceWei, coveringPriceWei } from "./batch_profit.ts";
import type { Usage } from "./money.ts";

/**
 * Where no fee sets a bound: so many times the market's price. Three rises by a quarter double a price, so this
 * binds only when the market has fallen, or when rises do not help and the reason is another one.
 */
export const MAX_TIMES_MARKET = 4n;

/** Gas of a plain transfer, which is what a cancelling transaction is. */
const TRANSFER_GAS = 21_000n;

/** What a transaction's messages bring in. */
export type TransactionRevenue =
  /** Somebody wants it whatever it pays: no minimum profit, an always-delivered class, proofs ahead of messages. */
  | { readonly kind: "any" }
  /** The hub's reward, which must cover the cost whatever the operator wants of messages. */
  | { readonly kind: "reward"; readonly offered18: bigint; readonly price27: bigint | undefined }
  /** Nothing of it is wanted any more, since others delivered it or it has timed out. */
  | { readonly kind: "none" }
  | {
    readonly kind: "fees";
    /** Sum of the fees, dollars x 10^18. */
    readonly offered18: bigint;
    /** Dollars per native token x 10^27; `undefined`: unknown. */
    readonly price27: bigint | undefined;
    readonly profitPercent: number;
  };

/** What the bounds depend on. */
export interface PriceCapInput extends Usage {
  readonly income: TransactionRevenue;
  readonly gasLimit: bigint;
  /** Highest price per gas of the market now, wei. */
  readonly marketWei: bigint;
  readonly balanceWei: bigint;
}

/** Bounds per gas, wei. */
export interface PriceCaps {
  readonly capWei: bigint;
  readonly cancelCapWei: bigint;
}

/** The bounds of a further delivery at the nonce and of its cancelling transfer; neither exceeds the balance. */
export function priceCaps(facts: PriceCapInput): PriceCaps {
  const { gasLimit, balanceWei, marketWei } = facts;
  const multiple = marketWei * MAX_TIMES_MARKET;
  const wanted = wantedCap(facts, multiple);
  return {
    capWei: min(wanted, gasLimit === 0n ? wanted : balanceWei / gasLimit),
    cancelCapWei: min(multiple, balanceWei / TRANSFER_GAS),
  };
}

function wantedCap(facts: PriceCapInput, multiple: bigint): bigint {
  const { income, gas, dataCostWei } = facts;
  switch (income.kind) {
    case "any":
      return multiple;
    case "none":
      return 0n;
    case "reward": {
      const { offered18, price27 } = income;
      return coveringPriceWei({ gas, dataCostWei, offered18, price27 }) ?? multiple;
    }
    case "fees": {
      const { offered18, price27, profitPercent } = income;
      return breakEvenGasPriceWei({ gas, dataCostWei, offered18, price27, profitPercent }) ?? multiple;
    }
  }
}

/**
 * What is missing for a transaction of the same gas limit at a price, wei; 0: nothing. The wait for funds is told
 * with it.
 */
export function shortfallWei(
  facts: Pick<PriceCapInput, "gasLimit" | "balanceWei">,
  pricePerGasWei: bigint,
): bigint {
  const needed = facts.gasLimit * pricePerGasWei;
  return needed > facts.balanceWei ? needed - facts.balanceWei : 0n;
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
