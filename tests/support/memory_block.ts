/** Blocks of a chain in memory, what stands in them, and what it cost. */
import type { ChainEvent, EventPosition } from "../../src/core/chains/reads.ts";
import {
  collectMessages,
  type Delivery,
  type Refusal,
  type RefusalCode,
  type SpentGas,
} from "../../src/core/chains/submission.ts";
import type { Hash256, Hex } from "../../src/core/encoding/bytes.ts";
import type { Address } from "../../src/core/evm/address.ts";
import { getMessage, type Message } from "../../src/core/ismp/message.ts";
import type { GetRequestsWithProof } from "../../src/core/ismp/ismp_message.ts";
import type { Execution, HostState } from "./memory_host.ts";

/** A transaction (with account and nonce) or extrinsic (without). */
export interface MemoryTransaction {
  readonly hash: Hash256;
  readonly delivery: Delivery;
  readonly relayer: Uint8Array;
  readonly account: string | undefined;
  readonly nonce: bigint | undefined;
  readonly priceWei: bigint;
  /** The handler that it calls; absent where there is none, and in transfers. */
  readonly handler?: Address | undefined;
  /** Call data, gas and tip, where the transaction is one of an EVM chain's own bytes; absent: its gas is a matter of rules. */
  readonly evm?: EvmTerms | undefined;
  /** An answer to GET requests, which only the hub takes; `delivery` is empty then. */
  readonly answer?: GetRequestsWithProof | undefined;
  /** Another call that only the hub takes; `delivery` is empty then. */
  readonly call?: MemoryCall | undefined;
}

/** What the bytes of an EVM transaction say beside its call; `priceWei` is its maximum. */
export interface EvmTerms {
  readonly data: Hex;
  readonly gasLimit: bigint;
  readonly tipWei: bigint;
  readonly bytes: number;
}

/** A call of the hub beside messages. */
export interface MemoryCall {
  /** What two equal calls have in common: the pool takes one of them. */
  readonly tag: string;
  /** Why the hub would refuse it in that state. */
  readonly refusalIn: (state: HostState, nowSec: bigint) => Refusal | undefined;
  /** Writes its effect and tells its events. */
  readonly apply: (state: HostState, at: EventPosition) => readonly ChainEvent[];
}

/** A transaction in a block, and what it did. */
export interface Mined {
  readonly transaction: MemoryTransaction;
  readonly execution: Execution;
  /** Whether the client of the hub learned something. */
  readonly advancedClient: boolean;
  /** What it cost, where its bytes say what gas it has. */
  readonly spent?: SpentGas | undefined;
}

/** A transaction of an account in a block, with what it cost. */
export interface PaidTransaction extends SpentGas {
  readonly hash: Hash256;
  /** The handler that it called, where it called one. */
  readonly handler: Address | undefined;
  /** Why it reverted; `undefined`: it did not. */
  readonly refusal: RefusalCode | undefined;
}

/** Something that the test wants to happen in the next block. */
export type Action = (
  state: HostState,
  block: { readonly height: bigint; readonly nowSec: bigint },
) => readonly ChainEvent[] | void;

/** A block with the state after it. */
export interface MemoryBlock {
  readonly height: bigint;
  readonly hash: Hash256;
  readonly timeSec: bigint;
  readonly events: readonly ChainEvent[];
  readonly mined: readonly Mined[];
  readonly actions: readonly Action[];
  readonly state: HostState;
}

/** Gas of a transfer, and of a transaction that is refused. */
const TRANSFER_GAS = 21_000n;

/** What a transaction in a block cost its account; `undefined`: extrinsics are free. */
export function spentGas(
  { transaction, execution, spent }: Mined,
  price: { readonly messageGas: bigint; readonly proofGas: bigint },
): SpentGas | undefined {
  if (transaction.account === undefined) return undefined;
  if (spent !== undefined) return spent;
  const messages = BigInt(messagesOf(transaction).length);
  const proofs = BigInt(transaction.delivery.steps.filter(({ kind }) => kind === "consensus").length);
  const work = execution.kind === "refused" ? 0n : messages * price.messageGas + proofs * price.proofGas;
  return {
    gasUsed: work > TRANSFER_GAS ? work : TRANSFER_GAS,
    gasPriceWei: transaction.priceWei,
    dataCostWei: 0n,
  };
}

/** The messages that a transaction carries or answers, in order. */
export function messagesOf({ answer, delivery }: MemoryTransaction): readonly Message[] {
  if (answer !== undefined) return answer.requests.map(getMessage);
  return collectMessages(delivery);
}
