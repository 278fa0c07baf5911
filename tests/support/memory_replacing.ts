/** Transactions in the place of others on a chain in memory, as the EVM adapter makes them. */
import type { AccountNonces, Replacement, ReplacementState } from "../../src/core/chains/replacement.ts";
import type { SignedSubmission } from "../../src/core/chains/submission.ts";
import { type GasPrice, highestPriceWei } from "../../src/core/chains/evm/gas.ts";
import { type Hash256, keccak256, toHash256 } from "../../src/core/encoding/bytes.ts";
import type { MemoryChain } from "./memory_chain.ts";
import type { MemoryTransaction } from "./memory_block.ts";
import type { MemoryNode } from "./memory_node.ts";

/** Gas of a plain transfer. */
const TRANSFER_GAS = 21_000n;

/** Replaces transactions of the account of `chain`; faults are planned there. */
export class MemoryReplacing implements Replacement {
  /** What the account has; accounts in {@link MemoryNode.unfunded} have nothing. */
  balanceWei = 10n ** 24n;
  /** What sending bytes costs beside gas. */
  dataCostWei = 0n;
  /** `maximum_gas_price`. */
  maximumWei: bigint | undefined;
  readonly #node: MemoryNode;
  readonly #chain: MemoryChain;

  constructor(node: MemoryNode, chain: MemoryChain) {
    this.#node = node;
    this.#chain = chain;
  }

  fetchReplacementState({ hash }: SignedSubmission, signal: AbortSignal): Promise<ReplacementState> {
    return this.#chain.call("fetchReplacementState", signal, () => ({
      offered: { type: "legacy", gasPriceWei: this.#node.transactionOf(hash).priceWei },
      market: { type: "legacy", gasPriceWei: this.#node.priceWei },
      nonces: this.#nonces(),
      balanceWei: this.#node.unfunded.has(this.#account()) ? 0n : this.balanceWei,
      dataCostWei: this.dataCostWei,
      maximumWei: this.maximumWei,
      isHandlerReplaced: this.#isOutdated(hash),
    }));
  }

  fetchNonces(signal: AbortSignal): Promise<AccountNonces> {
    return this.#chain.call("fetchNonces", signal, () => this.#nonces());
  }

  resign(submission: SignedSubmission, price: GasPrice): Promise<SignedSubmission> {
    const { delivery, handler } = this.#node.transactionOf(submission.hash);
    const { gasLimit } = submission;
    return Promise.resolve(this.#sign(submission, price, { steps: delivery.steps, handler, gasLimit }));
  }

  cancel(submission: SignedSubmission, price: GasPrice, signal: AbortSignal): Promise<SignedSubmission> {
    const transfer = { steps: [], handler: undefined, gasLimit: TRANSFER_GAS };
    return this.#chain.call("cancel", signal, () => this.#sign(submission, price, transfer));
  }

  #sign(
    old: SignedSubmission,
    price: GasPrice,
    { steps, handler, gasLimit }: Pick<MemoryTransaction, "handler"> & {
      readonly steps: MemoryTransaction["delivery"]["steps"];
      readonly gasLimit: bigint | undefined;
    },
  ): SignedSubmission {
    const { account, nonce, chain, madeAtHeight } = old;
    const priceWei = highestPriceWei(price);
    const what = steps.length === 0 ? "nothing" : old.hash;
    const raw = new TextEncoder().encode([chain, account, nonce, priceWei, what].join());
    const hash = toHash256(keccak256(raw));
    this.#node.register({
      hash,
      delivery: { steps },
      relayer: this.#chain.relayer,
      account,
      nonce,
      priceWei,
      handler,
    });
    return { hash, chain, raw, account, nonce, gasPriceWei: priceWei, gasLimit, madeAtHeight };
  }

  #isOutdated(hash: Hash256): boolean {
    const { handler } = this.#node.transactionOf(hash);
    return handler !== undefined && handler !== this.#node.head.state.handler;
  }

  #account(): string {
    const { account } = this.#chain;
    if (account === undefined) throw new Error("A chain without accounts");
    return account;
  }

  #nonces(): AccountNonces {
    const account = this.#account();
    return { latest: this.#node.nonceOf(account), pending: this.#node.pendingNonceOf(account) };
  }
}
