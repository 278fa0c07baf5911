/**
 * Cost of a delivery and value of a fee, in exact integers. Pure.
 * Rules: docs/protocol/messaging.md sections 9.1 to 9.3 and docs/protocol/evm-host.md section 10;
 * polytope-labs/hyperbridge: tesseract/messaging/{messaging,evm}. One unit of a fee token's whole is one dollar.
 */
import { formatDecimal, rescale } from "../../../core/encoding/bytes.ts";
import { unitPrice27 } from "../../../core/evm/native_price.ts";

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

/** Dollars x 10^18 per unit of gas. Rounds down. */
export function gasCostUsd18(price27: bigint, gasPriceWei: bigint): bigint {
  return unitPrice27(price27) * gasPriceWei / 10n ** 9n;
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
  const data = unitPrice27(market.price27) * usage.dataCostWei / 10n ** 9n;
  return usage.gas * gasCostUsd18(market.price27, market.gasPriceWei) + data;
}

/** Minimum fee for a cost: `cost + floor(percent * cost / 100)`, dollars x 10^18. `percent` is a whole number >= 0. */
export function requiredUsd18(cost18: bigint, profitPercent: number): bigint {
  return cost18 + BigInt(profitPercent) * cost18 / 100n;
}

/** Formats units of a token in whole units, for people; exact. */
export function formatTokenUnits(units: bigint, decimals: number): string {
  return formatDecimal(units, decimals);
}
