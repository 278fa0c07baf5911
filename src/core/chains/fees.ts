/**
 * Chain interface of the fee code, in addition to `port.ts`: fees on the source, costs on the destination, proofs for
 * claims, and signatures of our key. Source of the rules: docs/protocol/messaging.md sections 9, 14 and 16.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Signature } from "../ismp/fees.ts";
import type { Chain } from "./port.ts";

/** Reason why a chain can never prove the value of a key. */
export type UnprovableKeyCode =
  /** The chain's keys have a different length. */
  | "unsupported_key_length"
  /** The key names an account that did not exist at that height; the hub accepts no proof of absence for accounts. */
  | "account_not_present";

/** A GET request reads a key whose value cannot be proven in a form that the hub accepts: retrying does not help. */
export class UnprovableKeyError extends Error {
  override readonly name = "UnprovableKeyError";
  constructor(
    readonly code: UnprovableKeyCode,
    /** The key; `undefined` if it is unknown which of several it is. */
    readonly key: Uint8Array | undefined,
    options?: ErrorOptions,
  ) {
    super(`Key cannot be proven: ${code}`, options);
  }
}

/** Current price of transactions on a chain, besides their gas. */
export interface GasQuote {
  /** Expected gas price, without the operator's buffer; 0 on chains without gas. */
  readonly gasPriceWei: bigint;
}

/** Proven fees. */
export interface FeeProof {
  /** Bytes for `source_proof` of a claim. */
  readonly proof: Uint8Array;
  /** Fee per commitment as the hub will read it, in units of the chain's fee token; 0 if there is none. */
  readonly fees: readonly bigint[];
}

/** Proven receipts. */
export interface ReceiptProof {
  /** Bytes for `dest_proof` of a claim. */
  readonly proof: Uint8Array;
  /** Relayer per commitment as proven; `undefined`: proven absent. */
  readonly relayers: readonly (Uint8Array | undefined)[];
}

/** Chain whose requests pay fees, and on which we earn them. */
export interface FeeChain extends Chain {
  /**
   * Fee per commitment paid on this chain, in units of its fee token; `undefined`: unknown request (any more). One
   * round trip.
   */
  fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly (bigint | undefined)[]>;
  /** Decimals of this chain's fee token, 0 to 18; cached by the adapter. */
  fetchFeeTokenDecimals(signal: AbortSignal): Promise<number>;
  /**
   * Dollars per native token, 27 decimals, as reported by the host's router; `undefined`: not available. Called only
   * where {@link hasGas}.
   */
  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined>;
  /** False for chains where deliveries are free (Substrate). */
  readonly hasGas: boolean;
  fetchGasQuote(signal: AbortSignal): Promise<GasQuote>;
  /** Cost of a signed transaction besides gas (data and operator fee of the OP stack), wei. */
  fetchDataCost(raw: Uint8Array, signal: AbortSignal): Promise<bigint>;

  /**
   * Source side of a claim: proves the fees of requests sent from this chain, at block `height`.
   * @param stateRoot root of that block as the hub stores it; without one the endpoint's own header is trusted
   */
  proveFees(
    commitments: readonly Hash256[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<FeeProof>;
  /** Destination side of a claim: proves receipts on this chain, at block `height`. As {@link proveFees}. */
  proveReceipts(
    commitments: readonly Hash256[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<ReceiptProof>;
  /**
   * Proves state values at exactly block `height`, for answers to GET requests. As {@link proveFees}.
   * @throws {UnprovableKeyError}
   */
  proveState(
    keys: readonly Uint8Array[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<Uint8Array>;
  /** Signs a 32-byte digest with our key of this chain, in the form that the hub verifies. @throws without a key */
  signDigest(digest: Uint8Array): Promise<Signature>;
  /** Native balance of our account, wei; `undefined` if transactions are free. */
  fetchBalance(signal: AbortSignal): Promise<bigint | undefined>;
}
