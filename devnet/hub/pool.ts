/**
 * The transaction pool of the simulated node: tags, priorities, bans. It is never full.
 * Source: paritytech/polkadot-sdk: substrate/client/transaction-pool/src/graph/{validated_pool,ready,rotator}.rs.
 */
import { type Hash256, toHex } from "../../src/core/encoding/bytes.ts";
import { ScaleError } from "../../src/core/encoding/scale.ts";
import type { BuiltBlock, HubBlockchain, PendingExtrinsic } from "./blocks.ts";
import {
  invalidTransactionTexts,
  type RejectionListener,
  type SimulatedRuntime,
  ValidityError,
  type ValidTransaction,
} from "./runtime.ts";
import { RpcError } from "./rpc/json_rpc.ts";

/** What can be chosen about the pool. */
export interface PoolOptions {
  /** How long an extrinsic that was invalid or included is refused (error 1012), milliseconds. */
  readonly banMs: number;
}

/** Half an hour, as on a node without special flags. */
export const defaultPoolOptions: PoolOptions = { banMs: 30 * 60 * 1000 };

interface PoolEntry extends PendingExtrinsic {
  readonly valid: ValidTransaction;
  readonly tags: readonly string[];
  /** Last block for which the check holds. */
  readonly validUntil: bigint;
  /** Order of arrival. */
  readonly arrival: number;
}

/** The pool. */
export class TransactionPool {
  readonly #entries = new Map<Hash256, PoolEntry>();
  readonly #byTag = new Map<string, Hash256>();
  readonly #bannedUntilMs = new Map<Hash256, number>();
  #arrivals = 0;

  constructor(
    readonly parts: {
      readonly runtime: SimulatedRuntime;
      readonly chain: HubBlockchain;
      readonly options: PoolOptions;
      readonly now: () => number;
      readonly onRejection: RejectionListener;
    },
  ) {}

  /** Bytes of all waiting extrinsics, in order of arrival. */
  pending(): Uint8Array[] {
    return [...this.#entries.values()].map((entry) => entry.bytes);
  }

  /** Waiting extrinsics in the order in which a block takes them. */
  ready(): PendingExtrinsic[] {
    return [...this.#entries.values()].sort((a, b) => {
      if (a.valid.priority !== b.valid.priority) return a.valid.priority > b.valid.priority ? -1 : 1;
      if (a.validUntil !== b.validUntil) return a.validUntil < b.validUntil ? -1 : 1;
      return a.arrival - b.arrival;
    });
  }

  /**
   * Takes an extrinsic in.
   * @throws {RpcError} 1002, 1010, 1011, 1012, 1013, 1014 with the texts of a node.
   */
  submit(bytes: Uint8Array): Hash256 {
    const hash = this.parts.runtime.extrinsicHash(bytes);
    this.#refuseKnown(hash);
    const valid = this.#validate(bytes, hash);
    const tags = valid.provides.map(toHex);
    const replaced = this.#replacedBy(tags, valid.priority);
    const height = BigInt(this.parts.chain.best.header.number);
    const entry = {
      hash,
      bytes,
      valid,
      tags,
      validUntil: height + valid.longevity,
      arrival: this.#arrivals++,
    };
    for (const old of replaced) this.#remove(old);
    this.#entries.set(hash, entry);
    for (const tag of tags) this.#byTag.set(tag, hash);
    return hash;
  }

  /** A block was imported: what is in it leaves the pool, what became invalid or too old goes. */
  onBlock({ block, included, invalid }: BuiltBlock): void {
    for (const { candidate } of included) {
      this.#drop(candidate.hash);
    }
    for (const { hash } of invalid) this.#drop(hash);
    for (const entry of [...this.#entries.values()]) {
      if (BigInt(block.header.number) > entry.validUntil || !this.#isStillValid(entry)) {
        this.#drop(entry.hash);
      }
    }
    this.#forgetOldBans();
  }

  #refuseKnown(hash: Hash256): void {
    if ((this.#bannedUntilMs.get(hash) ?? 0) > this.parts.now()) {
      throw new RpcError(1012, "Transaction is temporarily banned");
    }
    if (this.#entries.has(hash)) throw new RpcError(1013, "Transaction Already Imported", hash);
  }

  #validate(bytes: Uint8Array, hash: Hash256): ValidTransaction {
    const { runtime, chain } = this.parts;
    try {
      return runtime.validate(chain.bestState, bytes);
    } catch (error) {
      if (error instanceof ScaleError) {
        throw new RpcError(
          1002,
          "Verification Error: Runtime error: Execution failed: Execution aborted due to trap",
          'RuntimeApi("Execution failed: Execution aborted due to trap")',
        );
      }
      if (!(error instanceof ValidityError)) throw error;
      this.parts.onRejection({ stage: "pool", extrinsic: bytes, error });
      if (error.code === "NoUnsignedValidator") {
        throw new RpcError(1011, "Unknown Transaction Validity", "NoUnsignedValidator");
      }
      this.#ban(hash);
      throw new RpcError(1010, "Invalid Transaction", invalidTransactionTexts[error.code]);
    }
  }

  /** Entries that give way to a newcomer with these tags. @throws {RpcError} 1014. */
  #replacedBy(tags: readonly string[], priority: bigint): Set<Hash256> {
    const hashes = new Set(tags.flatMap((tag) => this.#byTag.get(tag) ?? []));
    let old = 0n;
    for (const hash of hashes) old += this.#entries.get(hash)?.valid.priority ?? 0n;
    if (hashes.size > 0 && priority <= old) {
      throw new RpcError(
        1014,
        `Priority is too low: (${old} vs ${priority})`,
        "The transaction has too low priority to replace another transaction already in the pool.",
      );
    }
    return hashes;
  }

  #isStillValid(entry: PoolEntry): boolean {
    try {
      this.parts.runtime.validate(this.parts.chain.bestState, entry.bytes);
      return true;
    } catch (error) {
      if (!(error instanceof ValidityError)) throw error;
      this.parts.onRejection({ stage: "pool", extrinsic: entry.bytes, error });
      return false;
    }
  }

  #drop(hash: Hash256): void {
    this.#ban(hash);
    this.#remove(hash);
  }

  #remove(hash: Hash256): void {
    const entry = this.#entries.get(hash);
    this.#entries.delete(hash);
    for (const tag of entry?.tags ?? []) if (this.#byTag.get(tag) === hash) this.#byTag.delete(tag);
  }

  #ban(hash: Hash256): void {
    if (this.parts.options.banMs > 0) {
      this.#bannedUntilMs.set(hash, this.parts.now() + this.parts.options.banMs);
    }
  }

  #forgetOldBans(): void {
    const now = this.parts.now();
    for (const [hash, untilMs] of this.#bannedUntilMs) if (untilMs <= now) this.#bannedUntilMs.delete(hash);
  }
}
