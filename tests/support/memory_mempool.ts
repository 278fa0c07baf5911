/** Transactions of a chain in memory that wait for a block. */
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import { type MemoryTransaction, messagesOf } from "./memory_block.ts";

interface Waiting {
  readonly transaction: MemoryTransaction;
  readonly sinceHeight: bigint;
}

/** Next nonce of an account. */
type NonceOf = (account: string | undefined) => bigint;

/** Blocks after which an extrinsic leaves the pool. Source: polytope-labs/hyperbridge: pallet-ismp (longevity). */
const LONGEVITY = 25n;

/** Rise in percent that a transaction needs to replace another one of the same nonce. */
const BUMP_PERCENT = 10n;

/** The pool. */
export class MemoryMempool {
  #waiting: Waiting[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  /** Everything that waits, in order. */
  get transactions(): readonly MemoryTransaction[] {
    return this.#waiting.map(({ transaction }) => transaction);
  }

  has(hash: Hash256): boolean {
    return this.transactions.some((transaction) => transaction.hash === hash);
  }

  /** True when an equal extrinsic waits, of whomever. */
  hasEqual(extrinsic: MemoryTransaction): boolean {
    const tag = tagOf(extrinsic);
    return this.transactions.some((transaction) => tagOf(transaction) === tag);
  }

  add(transaction: MemoryTransaction, sinceHeight: bigint): void {
    this.#waiting.push({ transaction, sinceHeight });
  }

  /** Takes transactions back that stood in blocks, before the others. */
  putBack(transactions: readonly MemoryTransaction[], sinceHeight: bigint): void {
    this.#waiting.unshift(...transactions.map((transaction) => ({ transaction, sinceHeight })));
  }

  /** The same pool, to be emptied. */
  copy(): MemoryMempool {
    const copy = new MemoryMempool();
    copy.#waiting = [...this.#waiting];
    return copy;
  }

  clear(): void {
    this.#waiting = [];
  }

  /** Drops what is too old at a height, or whose nonce was used. */
  prune(height: bigint, nonceOf: NonceOf): void {
    this.#waiting = this.#waiting.filter(({ transaction, sinceHeight }) =>
      transaction.nonce === undefined
        ? height < sinceHeight + LONGEVITY
        : transaction.nonce >= nonceOf(transaction.account)
    );
  }

  /** Takes the first transaction out whose turn it is and that offers enough. */
  takeNext(
    nonceOf: NonceOf,
    isPaying: (transaction: MemoryTransaction) => boolean,
  ): MemoryTransaction | undefined {
    const index = this.#waiting.findIndex(({ transaction }) =>
      transaction.nonce === undefined ||
      (transaction.nonce === nonceOf(transaction.account) && isPaying(transaction))
    );
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0]?.transaction;
  }

  /** First nonce of an account from `nonce` on that nothing here uses. */
  firstFreeNonce(account: string, nonce: bigint): bigint {
    const held = new Set(
      this.transactions.filter((transaction) => transaction.account === account).map((each) => each.nonce),
    );
    let free = nonce;
    while (held.has(free)) free++;
    return free;
  }

  /** Makes room for a transaction with a nonce that waits already; false: it offers too little for that. */
  makeRoom({ account, nonce, priceWei, evm }: MemoryTransaction): boolean {
    const index = this.#waiting.findIndex(({ transaction }) =>
      transaction.account === account && transaction.nonce === nonce
    );
    const old = this.#waiting[index]?.transaction;
    if (old === undefined) return true;
    const isMore = (now: bigint, before: bigint): boolean => now * 100n >= before * (100n + BUMP_PERCENT);
    if (!isMore(priceWei, old.priceWei) || !isMore(evm?.tipWei ?? 1n, old.evm?.tipWei ?? 0n)) return false;
    this.#waiting.splice(index, 1);
    return true;
  }
}

/** What two equal batches of different relayers have in common. */
function tagOf(transaction: MemoryTransaction): string {
  return transaction.call?.tag ?? messagesOf(transaction).map(({ commitment }) => commitment).sort().join();
}
