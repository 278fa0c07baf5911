/**
 * Fees that the requests of a chain pay, and what its transactions cost. Source of the rules:
 * docs/protocol/messaging.md sections 9, 14 and 16.
 */
import type { Hash256 } from "../encoding/bytes.ts";

/** Fees of requests. */
export interface ChainFees {
  /**
   * Fee per commitment paid on this chain, in units of its fee token; `undefined`: unknown request (any more). One
   * round trip.
   */
  fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly (bigint | undefined)[]>;
  /** Decimals of this chain's fee token, 0 to 18; cached by the adapter. */
  fetchFeeTokenDecimals(signal: AbortSignal): Promise<number>;
}

/** Current price of transactions on a chain, besides their gas. */
export interface GasQuote {
  /** Expected gas price, without the operator's buffer. */
  readonly gasPriceWei: bigint;
}

/** What transactions cost on a chain with gas, and what there is to pay for them. */
export interface ChainGas {
  /** Dollars per native token, 27 decimals, as reported by the host's router; `undefined`: not available. */
  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined>;
  fetchGasQuote(signal: AbortSignal): Promise<GasQuote>;
  /** Native balance of our account, wei. */
  fetchBalance(signal: AbortSignal): Promise<bigint>;
}
