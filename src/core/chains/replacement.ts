/**
 * Chain interface for replacing transactions that are not mined in time, for chains with accounts and nonces. When to
 * replace and at which price is decided in {@link decideReplacement}. Source
 * of the rules: docs/protocol/messaging.md section 10.3.
 */
import { type GasPrice, highest, highestPriceWei } from "./evm/gas.ts";
import type { SignedSubmission } from "./submission.ts";

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
  /** The most that the submission costs besides gas (data and operator fee of the OP stack), wei. */
  readonly dataCostWei: bigint;
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

/** Maximum number of replacements of a delivery before it is cancelled. */
export const MAX_REPLACEMENTS = 3;

/** Preferred price bump, thousandths. */
const WANTED_BUMP_PERMILLE = 250n;

/** Minimum price bump that nodes require, thousandths: 10 % in go-ethereum, 12.5 % in nodes with a stricter rule. */
const NODE_BUMP_PERMILLE = 125n;

/**
 * Maximum price as a multiple of the market's where no fee sets one: three rises by a quarter double a price, and where
 * more does not help, the price is not the reason (a chain that halts for hours would otherwise be offered everything).
 */
export const MAX_TIMES_MARKET = 4n;

/** Age at which a transaction counts as stuck, ms: ten blocks of the slowest EVM chain. */
export const STUCK_AFTER_MS = 120_000;

/**
 * Next price of a replacement, or `undefined` when the cap allows none that the node would accept. Both fees of an
 * EIP-1559 transaction rise by the node's minimum and by at least 1 wei; a quarter more or the market price, if that
 * is higher, within the cap. The transaction type stays the same.
 * @param limits.capWei maximum per gas (`maxFee` or `gasPrice`); `undefined`: no cap
 */
export function bumpPrice(
  old: GasPrice,
  market: GasPrice,
  limits: { readonly capWei: bigint | undefined },
): GasPrice | undefined {
  const raised = raise(highestPriceWei(old), highestPriceWei(market), limits.capWei);
  if (raised === undefined) return undefined;
  if (old.type === "legacy") return { type: "legacy", gasPriceWei: raised };
  const marketTipWei = market.type === "eip1559" ? market.maxPriorityFeeWei : 0n;
  const tip = raise(old.maxPriorityFeeWei, marketTipWei, raised);
  return tip === undefined ? undefined : { type: "eip1559", maxFeeWei: raised, maxPriorityFeeWei: tip };
}

function raise(oldWei: bigint, marketWei: bigint, capWei: bigint | undefined): bigint | undefined {
  const minWei = bumped(oldWei, NODE_BUMP_PERMILLE);
  const quarterWei = bumped(oldWei, WANTED_BUMP_PERMILLE);
  const wantedWei = highest(minWei, quarterWei, marketWei);
  if (capWei === undefined || wantedWei <= capWei) return wantedWei;
  return capWei >= minWei ? capWei : undefined;
}

/** Bumps a price, rounded up and by at least 1 wei: nodes require strictly more. */
function bumped(wei: bigint, permille: bigint): bigint {
  return highest(wei + 1n, (wei * (1000n + permille) + 999n) / 1000n);
}

/** Pending transaction and its predecessors at the same nonce. */
export interface ReplacementInput {
  readonly nonce: bigint;
  /** Price of the newest transaction at the nonce. */
  readonly price: GasPrice;
  /** True: the newest one is the cancelling transfer. */
  readonly isCancel: boolean;
  /** True: it calls a handler that governance has replaced, and would revert at any price. */
  readonly isHandlerReplaced?: boolean | undefined;
  /** Number of replacement deliveries at this nonce. */
  readonly replacements: number;
  /** Time at which the newest one was broadcast, Unix ms. */
  readonly sentAtMs: number;
  readonly nowMs: number;
  /** Nonce of the account at the newest block (`eth_getTransactionCount`, `latest`). */
  readonly latestNonce: bigint;
  readonly market: GasPrice;
  /**
   * Maximum gas price for a delivery: the lower of the operator's limit and of `highestPayingPriceWei`; `undefined`:
   * none.
   */
  readonly capWei: bigint | undefined;
  /** Maximum gas price for the cancelling transfer; `undefined`: none. An open nonce blocks the account. */
  readonly cancelCapWei?: bigint | undefined;
}

/** Decision about a pending transaction. */
export type ReplacementDecision =
  | { readonly kind: "wait"; readonly untilMs: number }
  /** The nonce is used: check the outcome of every hash at it, it may be any of them. */
  | { readonly kind: "look_up" }
  /** `number` counts replacements from 1. */
  | { readonly kind: "replace"; readonly price: GasPrice; readonly number: number }
  | {
    readonly kind: "cancel";
    readonly price: GasPrice;
    readonly why: "tried_often" | "not_worth_more" | "handler_replaced" | "cancel_stuck";
  }
  /** Even a cancelling transfer may not cost that much now: broadcast the newest bytes again and wait. */
  | { readonly kind: "rebroadcast" };

/** Decides about the newest transaction of a nonce. */
export function decideReplacement(facts: ReplacementInput): ReplacementDecision {
  if (facts.latestNonce > facts.nonce) return { kind: "look_up" };
  const untilMs = facts.sentAtMs + STUCK_AFTER_MS;
  if (facts.nowMs < untilMs) return { kind: "wait", untilMs };
  if (!facts.isCancel && facts.isHandlerReplaced !== true && facts.replacements < MAX_REPLACEMENTS) {
    const price = bumpPrice(facts.price, facts.market, { capWei: facts.capWei });
    if (price !== undefined) return { kind: "replace", price, number: facts.replacements + 1 };
  }
  const price = bumpPrice(facts.price, facts.market, { capWei: facts.cancelCapWei });
  if (price === undefined) return { kind: "rebroadcast" };
  if (facts.isCancel) return { kind: "cancel", price, why: "cancel_stuck" };
  if (facts.isHandlerReplaced === true) return { kind: "cancel", price, why: "handler_replaced" };
  const why = facts.replacements < MAX_REPLACEMENTS ? "not_worth_more" : "tried_often";
  return { kind: "cancel", price, why };
}
