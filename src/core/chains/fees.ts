/**
 * Fees that the requests of a chain pay, and what its transactions cost. Source of the rules:
 * docs/protocol/messaging.md sections 9, 14 and 16.
 */
import type { Hash256 } from "../encoding/bytes.ts";

/** Fees as they are paid on a chain, read at one block. */
export interface PaidFees {
  /** Per commitment in units of the fee token; `undefined`: unknown request (any more). */
  readonly units: readonly (bigint | undefined)[];
  /** Of the fee token, 0 to 18. */
  readonly decimals: number;
}

/** Fees of requests. */
export interface ChainFees {
  /** Fees of requests on this chain, of none for the decimals alone. One round trip to each endpoint that is asked. */
  fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<PaidFees>;
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
