/**
 * Decides the maximum price per unit of gas of a replacement transaction. Pure.
 * Rules: docs/protocol/messaging.md section 10.3: replacements as long as the delivery is still profitable.
 */
import { breakEvenGasPriceWei, coveringPriceWei } from "./batch_profit.ts";
import type { Usage } from "./money.ts";

/**
 * Limit as a multiple of the market price when no fee sets one. Three increases by a quarter double a price, so this
 * only applies when the market has fallen, or when increases do not help for another reason.
 */
export const MAX_TIMES_MARKET = 4n;

/** Gas of a plain transfer, which is what a cancelling transaction is. */
const TRANSFER_GAS = 21_000n;

/** Revenue of a transaction. */
export type TransactionRevenue =
  /** Sent regardless of revenue: no minimum profit, an always-delivered class, proofs ahead of messages. */
  | { readonly kind: "any" }
  /** The hub's reward, which must cover the cost regardless of the profit required of messages. */
  | { readonly kind: "reward"; readonly offered18: bigint; readonly price27: bigint | undefined }
  /** Obsolete, since others delivered its messages or they have timed out. */
  | { readonly kind: "none" }
  | {
    readonly kind: "fees";
    /** Sum of the fees, dollars x 10^18. */
    readonly offered18: bigint;
    /** Dollars per native token x 10^27; `undefined`: unknown. */
    readonly price27: bigint | undefined;
    readonly profitPercent: number;
  };

/** Input of the price caps. */
export interface PriceCapInput extends Usage {
  readonly income: TransactionRevenue;
  readonly gasLimit: bigint;
  /** Current maximum market price per unit of gas, wei. */
  readonly marketWei: bigint;
  readonly balanceWei: bigint;
}

/** Maximum prices per unit of gas, wei. */
export interface PriceCaps {
  readonly capWei: bigint;
  readonly cancelCapWei: bigint;
}

/**
 * Computes the price caps of a further delivery at the nonce and of its cancelling transfer; neither exceeds the
 * balance.
 */
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
 * Computes the shortfall for a transaction with the same gas limit at a price, wei; 0: none. Reported while waiting for
 * funds.
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
