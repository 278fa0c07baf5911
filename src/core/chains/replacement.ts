/**
 * Chain interface for replacing transactions that are not mined in time, for chains with accounts and nonces. When to
 * replace and at which price is decided in `replacement_policy.ts` and `messaging/relay/decisions/nonces.ts`. Source
 * of the rules: docs/protocol/messaging.md section 10.3.
 */
import type { SignedSubmission } from "./submission.ts";
import type { GasPrice } from "./evm/gas.ts";

/** Nonces of our account as a node reports them. */
export interface AccountNonces {
  /** First nonce that is not mined. */
  readonly latest: bigint;
  /**
   * First nonce that is not executable in the node's mempool; equal to `latest` if the node does not expose its
   * mempool.
   */
  readonly pending: bigint;
}

/** Input for deciding about a pending transaction, read at one moment. */
export interface ReplacementState {
  /** Price offered by the submission. */
  readonly offered: GasPrice;
  /** Price that a new transaction would offer now, the operator's buffer included. */
  readonly market: GasPrice;
  readonly nonces: AccountNonces;
  /** `maximum_gas_price`, wei; absent: none. */
  readonly maximumWei?: bigint | undefined;
  readonly balanceWei: bigint;
  /** True: it calls a handler that governance has replaced, and would revert at any price. */
  readonly isHandlerReplaced: boolean;
}

/** Replacement of transactions by others with the same nonce. */
export interface Replacement {
  /** One round trip. */
  fetchReplacementState(submission: SignedSubmission, signal: AbortSignal): Promise<ReplacementState>;
  /** Nonces of our account. One round trip. */
  fetchNonces(signal: AbortSignal): Promise<AccountNonces>;
  /** Signs the same call at the same nonce with another price: journal it, then broadcast it. */
  resign(submission: SignedSubmission, price: GasPrice, signal: AbortSignal): Promise<SignedSubmission>;
  /**
   * Signs a zero-value transfer to ourselves at the same nonce, after which the submission can never be mined.
   * Estimates the gas of a transfer; nothing is sent.
   */
  cancel(submission: SignedSubmission, price: GasPrice, signal: AbortSignal): Promise<SignedSubmission>;
}
