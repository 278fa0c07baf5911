/**
 * What the fee side of the messaging relayer asks of chains, beside `chain.ts`: fees on the source, costs on the
 * destination, proofs for claims, and signatures of our key. Source of the rules: docs/protocol/messaging.md sections
 * 9, 14 and 16.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Signature } from "../ismp/fees.ts";
import type { Chain } from "./port.ts";

/** Why a chain can never prove the value of a key. */
export type UnprovableKeyCode =
  /** The chain's keys have other lengths. */
  | "unsupported_key_length"
  /** The key names an account that did not exist at that height; the hub takes no proof of absence for those. */
  | "account_not_present";

/** A GET request asks for a key whose value cannot be proven in a form that the hub takes: no retry helps. */
export class UnprovableKeyError extends Error {
  override readonly name = "UnprovableKeyError";
  constructor(
    readonly code: UnprovableKeyCode,
    /** The key; `undefined` where it is not known which one of several it is. */
    readonly key: Uint8Array | undefined,
    options?: ErrorOptions,
  ) {
    super(`Key cannot be proven: ${code}`, options);
  }
}

/** What a transaction of a chain costs now, beside its gas. */
export interface GasTerms {
  /** Expected price per gas, without the operator's buffer; 0 on chains without gas. */
  readonly gasPriceWei: bigint;
}

/** Fees as a proof shows them. */
export interface FeeProof {
  /** Bytes for `source_proof` of a claim. */
  readonly proof: Uint8Array;
  /** Per commitment the fee that the hub will find, units of the chain's fee token; 0 where there is none. */
  readonly fees: readonly bigint[];
}

/** Receipts as a proof shows them. */
export interface ReceiptProof {
  /** Bytes for `dest_proof` of a claim. */
  readonly proof: Uint8Array;
  /** Per commitment the relayer that the proof shows; `undefined`: the proof shows that there is no receipt. */
  readonly relayers: readonly (Uint8Array | undefined)[];
}

/** A chain whose requests pay fees, and on which we earn them. */
export interface FeeChain extends Chain {
  /**
   * Per commitment the fee put up on this chain, in units of its fee token; `undefined`: this chain does not know
   * the request (any more). One round trip.
   */
  fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly (bigint | undefined)[]>;
  /** Decimals of this chain's fee token, 0 to 18; cached by the adapter. */
  fetchFeeTokenDecimals(signal: AbortSignal): Promise<number>;
  /**
   * Dollars per native token, 27 decimals, as the chain itself tells (the host's router); `undefined`: it does not.
   * Asked only where {@link hasGas}.
   */
  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined>;
  /** False for chains on which deliveries cost nothing (Substrate). */
  readonly hasGas: boolean;
  fetchGasTerms(signal: AbortSignal): Promise<GasTerms>;
  /** Cost beside gas of a signed transaction (data and operator fee of the OP stack), wei. */
  fetchDataCost(raw: Uint8Array, signal: AbortSignal): Promise<bigint>;

  /**
   * Source side of a claim: proves the fees of requests sent from here, at block `height`.
   * @param stateRoot root of that block as the hub stores it; without one the endpoint's own header is believed
   */
  proveFees(
    commitments: readonly Hash256[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<FeeProof>;
  /** Destination side of a claim: proves receipts here, at block `height`. As {@link proveFees}. */
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
  /** Signs a 32-byte digest with our key of this chain, in the form in which the hub checks it. @throws without a key */
  signDigest(digest: Uint8Array): Promise<Signature>;
  /** Native balance of our account, wei; `undefined` where nothing has to be paid. */
  fetchBalance(signal: AbortSignal): Promise<bigint | undefined>;
}
