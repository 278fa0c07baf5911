/**
 * Cost of a delivery and value of a fee, in exact integers, and the maximum price per unit of gas: when a batch is
 * signed, and when its transaction is replaced. Pure. Rules: docs/protocol/messaging.md sections 9.1 to 9.3 and 10.3
 * (replacements as long as the delivery is still profitable), docs/protocol/evm-host.md section 10;
 * polytope-labs/hyperbridge: tesseract/messaging/{messaging,evm}. One unit of a fee token's whole is one dollar.
 */
import { lowest, TRANSFER_GAS } from "../../../core/chains/evm/gas.ts";
import { MAX_TIMES_MARKET } from "../../../core/chains/replacement.ts";
import { unitPrice27 } from "../../../core/evm/native_price.ts";
import { rescale } from "../../../core/encoding/bytes.ts";

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
  const { gas, offered18, price27, profitPercent } = facts;
  const data18 = costUsd18({ ...facts, gas: 0n }, { gasPriceWei: 0n, price27 });
  if (data18 === undefined) return 0n;
  // The highest cost of which `requiredUsd18` is offered, without that of the data.
  const most18 = (100n * (offered18 + 1n) - 1n) / (100n + BigInt(profitPercent)) - data18;
  if (most18 < 0n) return 0n;
  if (gas === 0n) return undefined;
  // Without a price per wei no gas price would ever be too high.
  const unit27 = unitPrice27(price27 ?? 0n);
  return unit27 === 0n ? 0n : ((most18 / gas + 1n) * 10n ** 9n - 1n) / unit27;
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
  const { gasLimit, dataCostWei, marketWei } = facts;
  const balanceWei = facts.balanceWei > dataCostWei ? facts.balanceWei - dataCostWei : 0n;
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

/**
 * Converts a fee in units of a token with the given decimals to dollars x 10^18. Up to 18 decimals it is exact; tokens
 * with more round down.
 * @throws {RangeError} for decimals that no token can have (a `uint8`).
 */
export function toFee18(feeUnits: bigint, decimals: number): bigint {
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > 255) {
    throw new RangeError(`Expected decimals from 0 to 255, found ${decimals}`);
  }
  return rescale(feeUnits, decimals, 18);
}

/** Decimals of the hub's own token (docs/protocol/hub.md section 10.4). */
const HUB_TOKEN_DECIMALS = 12n;

/**
 * Converts a reward of the hub in units of its own token to dollars x 10^18. Rounds down.
 * @param tokenPrice27 dollars per whole token x 10^27; `undefined`: unknown, then the reward counts for nothing
 */
export function toReward18(rewardUnits: bigint, tokenPrice27: bigint | undefined): bigint {
  return rewardUnits * (tokenPrice27 ?? 0n) / 10n ** (HUB_TOKEN_DECIMALS + 9n);
}

/** Minimum ratio of our payment's amount to the cost of its delivery. */
const MIN_PAYMENT_TO_COST = 10n;

/** Computes the maximum cost of delivering our own payment: less than a tenth of it, dollars x 10^18. */
export function paymentBudget18(amount18: bigint): bigint {
  return amount18 === 0n ? 0n : (amount18 - 1n) / MIN_PAYMENT_TO_COST;
}

/** Resources that a delivery uses on its chain. */
export interface Usage {
  readonly gas: bigint;
  /** Charge of an OP-stack chain for data on layer 1, wei; 0 elsewhere. */
  readonly dataCostWei: bigint;
}

/** Prices on the chain. */
export interface MarketPrices {
  /** Gas price of the node, without the buffer added when sending. */
  readonly gasPriceWei: bigint;
  /** Dollars per native token x 10^27; `undefined`: unknown. */
  readonly price27: bigint | undefined;
}

/**
 * Cost in dollars x 10^18: `gas * floor(unit * gasPrice / 10^9) + floor(unit * dataCost / 10^9)`. Zero wei cost
 * nothing, whatever the price; otherwise `undefined` when the price is unknown.
 */
export function costUsd18(usage: Usage, market: MarketPrices): bigint | undefined {
  if (usage.gas * market.gasPriceWei === 0n && usage.dataCostWei === 0n) return 0n;
  if (market.price27 === undefined) return undefined;
  const unit27 = unitPrice27(market.price27);
  return usage.gas * (unit27 * market.gasPriceWei / 10n ** 9n) + unit27 * usage.dataCostWei / 10n ** 9n;
}

/** Minimum fee for a cost: `cost + floor(percent * cost / 100)`, dollars x 10^18. `percent` is a whole number >= 0. */
export function requiredUsd18(cost18: bigint, profitPercent: number): bigint {
  return cost18 + BigInt(profitPercent) * cost18 / 100n;
}

/**
 * True when a raised fee is worth another simulation of an unprofitable message: it is what was required last, or a
 * quarter of that, since prices fall, and a tenth more than before. However often somebody adds a unit, that is at most
 * 16 times.
 * @param last numbers of the last decision, dollars x 10^18; `undefined`: none was made
 */
export function isRaiseWorthATry(
  fee18: bigint,
  last: { readonly requiredUsd18: bigint | undefined; readonly offeredUsd18: bigint | undefined },
): boolean {
  const { requiredUsd18: required18, offeredUsd18: offered18 = 0n } = last;
  if (required18 === undefined || fee18 >= required18) return true;
  return fee18 * 4n >= required18 && fee18 * 10n >= offered18 * 11n;
}
