/** An EVM chain in memory whose fees and receipts are given by hand, for tests of claims, withdrawals and rewards. */
import type { PaidFees } from "../../src/core/chains/fees.ts";
import type { Certain, ReadSince } from "../../src/core/chains/reads.ts";
import type { FeeProof, ProvenBlock, ReceiptProof } from "../../src/core/chains/proofs.ts";
import type { Hash256 } from "../../src/core/encoding/bytes.ts";
import type { Signature } from "../../src/core/ismp/fees.ts";
import type { Message } from "../../src/core/ismp/message.ts";
import { type SignedMessage, toEvmAddress } from "../../src/core/ismp/signed_messages.ts";
import type { Clock } from "../../src/core/runtime/clock.ts";
import { toReceiptKey } from "../../src/messaging/relay/decisions/route.ts";
import { evmSignature } from "../../devnet/hub/signatures.ts";
import { MemoryChain } from "./memory_chain.ts";
import type { MemoryNode } from "./memory_node.ts";

/** A receipt that holds from one block on, and until a reorganisation takes it (exclusive). */
export interface MemoryReceipt {
  readonly relayer: Uint8Array;
  readonly from: bigint;
  readonly until?: bigint;
}

/** What a proof of these chains says: which commitments, where, at which height. */
interface ProofText {
  readonly of: "fees" | "receipts" | "state";
  readonly chain: string;
  readonly height: string;
}

function proofBytes(proof: ProofText): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(proof));
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
  readonly #decimals: number;

  constructor(node: MemoryNode, clock: Clock, { key, decimals = 18 }: MemoryFeeOptions) {
    super(node, clock, { relayer: toEvmAddress(key) });
    this.#key = key;
    this.#decimals = decimals;
  }

  override fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<PaidFees> {
    return this.call("fetchFees", signal, () => ({
      units: commitments.map((each) => this.staleFees.get(each) ?? this.paidFees.get(each)),
      decimals: this.#decimals,
    }));
  }

  override fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    const { height, state } = this.node.head;
    const receipts = messages.map((message) =>
      this.receiptAt(message.commitment, height) ?? state.receipts.get(toReceiptKey(message))
    );
    return this.call("fetchCertainReceipts", signal, () => this.confirmed(since, receipts));
  }

  override fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    return this.call(
      "fetchCertainFees",
      signal,
      () => this.confirmed(since, commitments.map((each) => this.paidFees.get(each))),
    );
  }

  override fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return this.call("fetchFeeTokenDecimals", signal, () => this.#decimals);
  }

  override proveFees(
    commitments: readonly Hash256[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<FeeProof> {
    return this.call("proveFees", signal, () => {
      if (commitments.length === 0) throw new Error("Nothing to prove");
      return {
        proof: proofBytes({ of: "fees", chain: this.id.stateMachine, height: height.toString() }),
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
      proof: proofBytes({ of: "receipts", chain: this.id.stateMachine, height: height.toString() }),
      relayers: commitments.map((each) => this.receiptAt(each, height)),
    }));
  }

  override proveState(
    _keys: readonly Uint8Array[],
    { height }: ProvenBlock,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    return this.call(
      "proveState",
      signal,
      () => proofBytes({ of: "state", chain: this.id.stateMachine, height: height.toString() }),
    );
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
