/**
 * What replacing transactions that are not mined in time asks of chains with accounts and nonces. When to replace
 * and at which price is decided in `replacement_policy.ts` and `messaging/relay/decisions/nonces.ts`.
 * Source of the rules: docs/protocol/messaging.md section 10.3.
 */
import type { SignedSubmission } from "./port.ts";
import type { GasPrice } from "./evm/gas.ts";

/** Transactions of our account as a node counts them. */
export interface AccountNonces {
  /** First nonce that is not mined. */
  readonly latest: bigint;
  /** First nonce that the node's pool cannot run yet; equal to `latest` where the node has no view of its pool. */
  readonly pending: bigint;
}

/** What a decision about a waiting transaction depends on, read at one moment. */
export interface ReplacementTerms {
  /** Price that the submission offers. */
  readonly offered: GasPrice;
  /** Price that a new transaction would offer now, the operator's buffer included. */
  readonly market: GasPrice;
  readonly nonces: AccountNonces;
  readonly balanceWei: bigint;
  /** True: it calls a handler that governance has replaced, and would revert at any price. */
  readonly isHandlerReplaced: boolean;
}

/** A chain on which a transaction can take the place of another one of the same nonce. */
export interface ReplaceableChain {
  /** One round trip. */
  fetchReplacementTerms(submission: SignedSubmission, signal: AbortSignal): Promise<ReplacementTerms>;
  /** Nonces of our account. One round trip. */
  fetchNonces(signal: AbortSignal): Promise<AccountNonces>;
  /** The same call at the same nonce for another price. Nothing is asked or sent: journal it, then broadcast it. */
  resign(submission: SignedSubmission, price: GasPrice): Promise<SignedSubmission>;
  /**
   * A transfer of nothing to ourselves at the same nonce, after which the submission can never be mined. Asks how
   * much gas a transfer needs; nothing is sent.
   */
  cancel(submission: SignedSubmission, price: GasPrice, signal: AbortSignal): Promise<SignedSubmission>;
}
