/** An EVM chain in memory whose fees and receipts are given by hand, for tests of claims, withdrawals and rewards. */
import type { FeeProof, ProvenBlock, ReceiptProof } from "../../src/core/chains/proofs.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { Signature } from "../../src/core/ismp/fees.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { type SignedMessage, toEvmAddress } from "../../src/core/ismp/signed_messages.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { evmSignature } from "../../devnet/hub/signatures.ts";
import { MemoryChain } from "./memory_chain.ts";
import type { MemoryNode } from "./memory_node.ts";

/** A receipt that holds from one block on, and until a reorganisation takes it (exclusive). */
export interface MemoryReceipt {
  readonly relayer: Uint8Array;
  readonly from: bigint;
  readonly until?: bigint;
}

/** Settings of a {@link MemoryFeeChain}. */
export interface MemoryFeeOptions {
  /** secp256k1 key of the relayer, 32 bytes. */
  readonly key: Uint8Array;
  readonly decimals?: number;
}

/** A chain with fees; receipts for claims are kept apart from those of its host. */
export class MemoryFeeChain extends MemoryChain {
  readonly paidFees = new Map<Hash256, bigint>();
  /** Fees as the endpoint tells them that is asked first: it is behind. */
  staleFees: ReadonlyMap<Hash256, bigint> = new Map();
  /** Fees before a raise, with the block of the raise. */
  readonly feesBefore = new Map<Hash256, { readonly fee: bigint; readonly until: bigint }>();
  readonly proved = new Map<Hash256, MemoryReceipt>();
  balanceWei = 10n ** 18n;
  readonly #key: Uint8Array;

  constructor(node: MemoryNode, clock: Clock, { key, decimals = 18 }: MemoryFeeOptions) {
    super(node, clock, { relayer: toEvmAddress(key) });
    this.#key = key;
    this.decimals = decimals;
  }

  protected override feeTold(commitment: Hash256): bigint | undefined {
    return this.staleFees.get(commitment) ?? this.paidFees.get(commitment);
  }

  protected override feeNow(commitment: Hash256): bigint | undefined {
    return this.paidFees.get(commitment);
  }

  protected override receiptNow(message: Message): Uint8Array | undefined {
    return this.receiptAt(message.commitment, this.node.head.height) ?? super.receiptNow(message);
  }

  /** What proves something at a height: nobody looks into it. */
  #proofAt(height: bigint): Uint8Array {
    return new TextEncoder().encode(`${this.id.stateMachine} ${height}`);
  }

  override proveFees(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<FeeProof> {
    return this.call("proveFees", signal, () => {
      if (commitments.length === 0) throw new Error("Nothing to prove");
      return {
        proof: this.#proofAt(height),
        fees: commitments.map((each) => this.feeAt(each, height)),
      };
    });
  }

  override proveReceipts(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    return this.call("proveReceipts", signal, () => ({
      proof: this.#proofAt(height),
      relayers: commitments.map((each) => this.receiptAt(each, height)),
    }));
  }

  override proveState(
    _keys: readonly Uint8Array[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    return this.call("proveState", signal, () => this.#proofAt(height));
  }

  override signMessage({ digest }: SignedMessage): Promise<Signature> {
    return Promise.resolve(evmSignature(digest, this.#key));
  }

  override fetchBalance(signal: AbortSignal): Promise<bigint> {
    return this.call("fetchBalance", signal, () => this.balanceWei);
  }

  /** The fee in the state of a block of this chain. */
  feeAt(commitment: Hash256, height: bigint): bigint {
    const before = this.feesBefore.get(commitment);
    return before !== undefined && height < before.until ? before.fee : this.paidFees.get(commitment) ?? 0n;
  }

  /** Somebody adds to a fee in the next block. */
  raise(commitment: Hash256, more: bigint): void {
    const fee = this.paidFees.get(commitment) ?? 0n;
    this.feesBefore.set(commitment, { fee, until: this.node.head.height + 1n });
    this.paidFees.set(commitment, fee + more);
  }

  /** The relayer that a block of this chain names. */
  receiptAt(commitment: Hash256, height: bigint): Uint8Array | undefined {
    const receipt = this.proved.get(commitment);
    if (receipt === undefined || receipt.from > height) return undefined;
    return receipt.until !== undefined && height >= receipt.until ? undefined : receipt.relayer;
  }
}
