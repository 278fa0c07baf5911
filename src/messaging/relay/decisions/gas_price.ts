/**
 * Decides the maximum price per unit of gas: when a batch is signed, and when its transaction is replaced. Pure.
 * Rules: docs/protocol/messaging.md section 10.3: replacements as long as the delivery is still profitable.
 */
import { lowest, TRANSFER_GAS } from "../../../core/chains/evm/gas.ts";
import { MAX_TIMES_MARKET } from "../../../core/chains/replacement.ts";
import { unitPrice27 } from "../../../core/evm/native_price.ts";
import { costUsd18, requiredUsd18, type Usage } from "./money.ts";

/** Input for the maximum price of a transaction. */
export interface PriceBoundInput extends Usage {
  /** Sum over the paying messages, dollars x 10^18. */
  readonly offered18: bigint;
  readonly price27: bigint | undefined;
  readonly profitPercent: number;
}

/**
 * Computes the maximum gas price at which fees still pay for a transaction: the limit of its replacements. `undefined`:
 * no limit, since no profit is required; 0: nothing may be spent, since the price is unknown or the fees are too low.
 */
export function breakEvenGasPriceWei(facts: PriceBoundInput): bigint | undefined {
  return facts.profitPercent === 0 ? undefined : highestPayingPriceWei(facts);
}

/**
 * Computes the maximum gas price at which a batch just found profitable may be signed: there the fees just cover the
 * cost. The required profit is the margin for price changes meanwhile. `undefined`: no limit.
 */
export function signingBoundWei(facts: PriceBoundInput): bigint | undefined {
  return facts.profitPercent === 0 ? undefined : coveringPriceWei(facts);
}

/**
 * Computes the maximum gas price at which the offered revenue covers the cost; 0: none, or the price of the token is
 * unknown.
 */
export function coveringPriceWei(facts: Omit<PriceBoundInput, "profitPercent">): bigint | undefined {
  return highestPayingPriceWei({ ...facts, profitPercent: 0 });
}

function highestPayingPriceWei(facts: PriceBoundInput): bigint | undefined {
  const pays = (gasPriceWei: bigint): boolean => {
    const cost18 = costUsd18(facts, { gasPriceWei, price27: facts.price27 });
    return cost18 !== undefined && requiredUsd18(cost18, facts.profitPercent) <= facts.offered18;
  };
  if (facts.gas === 0n) return pays(0n) ? undefined : 0n;
  // Without a price per wei no gas price would ever be too high.
  if (facts.price27 === undefined || unitPrice27(facts.price27) === 0n || !pays(1n)) return 0n;
  let paid = 1n;
  while (pays(paid * 2n)) paid *= 2n;
  let unpaid = paid * 2n;
  while (unpaid - paid > 1n) {
    const middle = (paid + unpaid) / 2n;
    if (pays(middle)) paid = middle;
    else unpaid = middle;
  }
  return paid;
}

/** Limits that no fees can raise, wei per gas; absent: none. */
export interface PriceLimits {
  /** `maximum_gas_price`. */
  readonly maximumWei?: bigint | undefined;
  /** What is left of `maximum_daily_loss` for the transaction. */
  readonly lossBoundWei?: bigint | undefined;
  /** And for its cancelling transfer. */
  readonly cancelLossBoundWei?: bigint | undefined;
}

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
  readonly revenue: TransactionRevenue;
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
 * balance or a limit.
 */
export function priceCaps(facts: PriceCapInput, limits: PriceLimits = {}): PriceCaps {
  const { gasLimit, balanceWei, marketWei } = facts;
  const { maximumWei, lossBoundWei, cancelLossBoundWei } = limits;
  const multiple = marketWei * MAX_TIMES_MARKET;
  const affordable = gasLimit === 0n ? undefined : balanceWei / gasLimit;
  return {
    capWei: lowest(wantedCap(facts, multiple), affordable, maximumWei, lossBoundWei),
    cancelCapWei: lowest(multiple, balanceWei / TRANSFER_GAS, maximumWei, cancelLossBoundWei),
  };
}

function wantedCap(facts: PriceCapInput, multiple: bigint): bigint {
  const { revenue, gas, dataCostWei } = facts;
  switch (revenue.kind) {
    case "any":
      return multiple;
    case "none":
      return 0n;
    case "reward": {
      const { offered18, price27 } = revenue;
      return coveringPriceWei({ gas, dataCostWei, offered18, price27 }) ?? multiple;
    }
    case "fees": {
      const { offered18, price27, profitPercent } = revenue;
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
