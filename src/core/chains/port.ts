/**
 * The one interface through which both programs see a chain. Adapters (`evm/`, `substrate/`) implement it and
 * decide nothing; the decisions are in the programs. Start reading here.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Message } from "../ismp/message.ts";
import type { StateMachine, StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";
import type { EventCode } from "../telemetry/events.ts";

/** Limits of one chain that shape queries and deliveries. */
export interface ChainLimits {
  /** Maximum of messages in one delivery step: 100 for EVM chains, 200 for others. */
  readonly maxMessagesPerStep: number;
  /** Maximum of bytes of one transaction's call data. */
  readonly maxCallBytes: number;
  /** Maximum of blocks for one {@link Chain.fetchEvents} call; `undefined` means no bound. */
  readonly blocksPerEventQuery: bigint | undefined;
}

/** Where on its chain an event happened. */
export interface EventPosition {
  readonly height: bigint;
  /** Hash of the transaction or extrinsic, where the chain tells. */
  readonly transaction: Hash256 | undefined;
}

/** What a chain reports of its ISMP host, in the order in which it happened. */
export type ChainEvent =
  | { readonly kind: "message"; readonly message: Message; readonly at: EventPosition }
  | {
    /** A message was delivered here by `relayer`. `commitment` is that of the request. */
    readonly kind: "handled";
    readonly of: "post" | "get";
    readonly commitment: Hash256;
    readonly relayer: Uint8Array;
    readonly at: EventPosition;
  }
  | {
    readonly kind: "timeoutHandled";
    readonly of: "post" | "get";
    readonly commitment: Hash256;
    /** Chain of the request, where the chain tells: Substrate chains do. */
    readonly source?: StateMachine;
    readonly at: EventPosition;
  }
  | {
    /** The fee of a request was raised to `fee` units of the fee token. */
    readonly kind: "funded";
    readonly commitment: Hash256;
    readonly fee: bigint;
    readonly at: EventPosition;
  }
  | {
    /** The chain accepted a newer height of `stateMachine`; the id is known on Substrate chains only. */
    readonly kind: "updated";
    readonly stateMachine: StateMachine;
    readonly id: StateMachineId | undefined;
    readonly height: bigint;
    readonly at: EventPosition;
  }
  | {
    readonly kind: "vetoed";
    readonly stateMachine: StateMachine;
    readonly height: bigint;
    readonly at: EventPosition;
  }
  | {
    readonly kind: "newEpoch";
    readonly setId: bigint;
    readonly relayer: Uint8Array;
    readonly at: EventPosition;
  };

/** What a chain knows of a counterparty at this moment, read at one block. */
export interface CounterpartyView {
  /** Newest height of the counterparty whose commitment is stored here; 0: none. May go down after a veto. */
  readonly height: bigint;
  /** The chain's own clock, Unix seconds. */
  readonly nowSec: bigint;
  /** Age a commitment must reach before proofs against it are taken, seconds; 0: none. */
  readonly challengePeriodSec: bigint;
  /** True while the host refuses incoming messages. */
  readonly isFrozen: boolean;
}

/** A proof that the source chain holds the commitments of some messages. */
export type MessageProof =
  | {
    /** State proof bytes, opaque to everybody but the receiving host's verifier. */
    readonly kind: "state";
    readonly height: StateMachineHeight;
    readonly proof: Uint8Array;
  }
  | {
    /** Merkle mountain range proof of the hub for an EVM host. */
    readonly kind: "mmr";
    readonly height: StateMachineHeight;
    readonly leafCount: bigint;
    readonly items: readonly Hash256[];
    /** Leaf index of each message, in the order of the messages asked for. */
    readonly leafIndices: readonly bigint[];
  };

/** One part of a delivery; the parts of a delivery succeed or fail together. */
export type DeliveryStep =
  | { readonly kind: "consensus"; readonly proof: Uint8Array }
  | {
    readonly kind: "messages";
    /** All of one kind: posts, or get responses. */
    readonly messages: readonly Message[];
    readonly proof: MessageProof;
  };

/** How far a node must be for its word to end a message: it knows this height, and its clock this time. */
export interface ReadSince {
  readonly height?: bigint | undefined;
  /** Unix seconds. */
  readonly timeSec?: bigint | undefined;
}

/** A value that may end a message; `unsure` where endpoints disagree, or none that is far enough answered. */
export type Certain<T> = { readonly kind: "certain"; readonly value: T } | { readonly kind: "unsure" };

/** Stands for every value that is not certain. */
export const UNSURE = { kind: "unsure" } as const;

/** What one transaction or extrinsic shall carry. */
export interface Delivery {
  readonly steps: readonly DeliveryStep[];
}

/** Why a chain refuses a delivery. */
export type RefusalCode =
  /** A message of the delivery has a receipt already. */
  | "duplicate"
  | "timed_out"
  /** The proof does not verify. */
  | "bad_proof"
  /** No commitment at the proof height, or its challenge period is not over. */
  | "not_ready"
  | "host_frozen"
  /** The host takes deliveries from another handler: governance replaced it. */
  | "handler_replaced"
  | "client_expired"
  /** `dest` is another chain, or the receiving module's name is malformed. */
  | "bad_destination"
  /** The receiving module failed. */
  | "module_failed"
  /** The hub meters what a sender sends, and this one has too little left. */
  | "no_bandwidth"
  /** The hub takes nothing from this sender. */
  | "blocked_sender"
  /** A response or timeout whose request the chain does not know. */
  | "unknown_message"
  /** A consensus proof signed by an authority set the client does not know yet. */
  | "unknown_authority_set"
  | "insufficient_funds"
  /** One transaction of the chain cannot carry it (gas or bytes). */
  | "too_large"
  /** Gas costs more now than the caller allows. */
  | "too_expensive"
  /** No endpoint shows what it would do (too large a trace, too slow, refused), though they show other calls. */
  | "untraceable"
  /** The chain does not say which rule failed (the pool's `BadProof` stands for any). */
  | "unspecified";

/** A chain's refusal, in its own words where it has some. */
export interface Refusal {
  readonly code: RefusalCode;
  /** Name of the error or text of the node; no secrets. */
  readonly detail: string;
  /** Index of the step that failed, where known. */
  readonly step?: number;
  /** Indexes of the messages it is about, over all steps in order; absent: it is about all, or not known. */
  readonly messages?: readonly number[];
}

/** What a chain says would happen if the delivery were sent now. */
export type Simulation =
  | {
    readonly kind: "accepted";
    /** Per message, over all steps in order: would the host record it as handled? */
    readonly handled: readonly boolean[];
    /** Gas the transaction uses; 0 where gas does not exist. */
    readonly gasUsed: bigint;
    /** Gas limit that a transaction with this content needs, margins included. */
    readonly gasLimit: bigint;
    /**
     * Gas that each message adds, over all steps in order: what the host spends on it and an equal share of the rest.
     * Together at most `gasUsed`; what is left is the consensus proofs (consensus steps). Zeros where gas does not exist.
     */
    readonly messageGas: readonly bigint[];
    /** Price per gas now, without the operator's buffer; 0 where gas does not exist. */
    readonly gasPriceWei: bigint;
    /** Cost of the transaction beside gas (data and operator fee of the OP stack), wei. */
    readonly dataCostWei: bigint;
  }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** A transaction or extrinsic that is ready to be sent. */
export interface SignedSubmission {
  /** Hash by which the chain will know it. */
  readonly hash: Hash256;
  readonly chain: StateMachine;
  readonly raw: Uint8Array;
  /** Sending account as text; `undefined` for unsigned extrinsics. */
  readonly account: string | undefined;
  readonly nonce: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly gasLimit: bigint | undefined;
  /** Block height of the chain when it was made: inclusion is looked for from here on. */
  readonly madeAtHeight: bigint;
}

/** Facts that only the caller knows when a submission is signed. */
export interface SigningHints {
  /** Lowest nonce not taken by a submission in the journal, for accounts with nonces. */
  readonly nonceAtLeast: bigint | undefined;
  /**
   * Most that one gas may cost, wei: what the messages pay for. Above it nothing is signed, and never is more offered.
   * Absent: no bound.
   */
  readonly maxGasPriceWei?: bigint | undefined;
}

/** Result of signing: either ready, or overtaken by somebody else's delivery. */
export type SigningResult =
  | { readonly kind: "signed"; readonly submission: SignedSubmission }
  | {
    /** Receipts appeared since the simulation: per message, the relayer that delivered it. */
    readonly kind: "overtaken";
    readonly receipts: readonly (Uint8Array | undefined)[];
  }
  | {
    /**
     * The chain knows by now what the consensus proofs of the delivery would bring, or will once its mempool is mined:
     * they would be paid for in vain.
     */
    readonly kind: "proofs_known";
    readonly from: "blocks" | "mempool";
  }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** What the chain said when the bytes were handed over. */
export type BroadcastResult =
  | { readonly kind: "sent" }
  /** The same bytes, or an equal batch of somebody else, are already in the pool. */
  | { readonly kind: "alreadyKnown" }
  | { readonly kind: "nonceUsed" }
  | { readonly kind: "underpriced" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** A block, named so that a reorganisation is noticed. */
export interface BlockRef {
  readonly height: bigint;
  readonly hash: Hash256;
}

/** What a mined transaction cost its account, as its receipt tells. */
export interface SpentGas {
  readonly gasUsed: bigint;
  /** What was paid per gas, wei. */
  readonly gasPriceWei: bigint;
  /** Paid beside gas for data on another chain (OP-stack), wei; 0 elsewhere. */
  readonly dataCostWei: bigint;
}

/** What became of a submission. */
export type SubmissionOutcome =
  /** In the pool, or not old enough to be given up. */
  | { readonly kind: "pending" }
  /** Neither in a block nor in the pool. */
  | { readonly kind: "unknown" }
  /** Its nonce was used by another transaction. */
  | { readonly kind: "replaced" }
  | {
    readonly kind: "included";
    readonly block: BlockRef;
    readonly isFinal: boolean;
    /** False: reverted, or the extrinsic failed. */
    readonly succeeded: boolean;
    /** Requests that the host recorded as handled, with the relayer it noted. */
    readonly handled: readonly { readonly commitment: Hash256; readonly relayer: Uint8Array }[];
    /**
     * Of a transaction with consensus proofs of the hub: whether the host learned something from it, a height or a set
     * of authorities. False means that somebody else's were first: they were paid for in vain. Absent: there were none,
     * or nobody can tell.
     */
    readonly advancedClient?: boolean | undefined;
    /** Absent where transactions cost nothing. */
    readonly spent?: SpentGas | undefined;
    readonly refusal: Refusal | undefined;
  };

/** Finding of a start-up check. `fatal` stops the program, `warning` asks for attention, `note` may be as it is meant. */
export interface CheckFinding extends FindingText {
  readonly severity: "fatal" | "warning" | "note";
}

/** What a start-up check found. */
export interface FindingText {
  /** Code of its log line. */
  readonly event: EventCode;
  /** What is wrong, on which chain and endpoint host, and what to do. */
  readonly text: string;
}

/** Who takes a proof: what it holds of the chain decides which root the proof must lead to. */
export type ProofTaker = Pick<Chain, "id" | "family" | "fetchStateRoot">;

/**
 * A chain with an ISMP host. Every method may throw an `RpcFault`; all waits end when `signal` is aborted.
 * Expected outcomes are values.
 */
export interface Chain {
  /** The chain, and the consensus state id under which the hub stores it (the hub: under which others do). */
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  readonly limits: ChainLimits;
  /** How receipts name us on this chain; `undefined` without a signer. */
  readonly relayer: Uint8Array | undefined;

  /** Compares the endpoint(s) with the configuration; called once before anything else. */
  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /** Newest block (best, not final). */
  fetchHeight(signal: AbortSignal): Promise<bigint>;
  /** Newest block that a reorganisation cannot remove. */
  fetchFinalHeight(signal: AbortSignal): Promise<bigint>;
  /** Unix seconds of the block at `height`; used to bound how far a long outage is caught up. */
  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint>;
  /** What this chain knows of `counterparty`; one round trip. */
  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView>;
  /** When the commitment of that height was stored, Unix seconds; `undefined`: none stored (any more). */
  fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined>;
  /**
   * Events of blocks `from` to `to`, both inclusive, in order. Complete or a fault: an endpoint that has not
   * reached `to` yet is `lagging`. Splits ranges that the endpoint finds too wide.
   */
  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]>;
  /**
   * State root of a counterparty's block as it is stored here; `undefined`: none (any more). Where there is one, proofs
   * of that chain must lead to it, whatever its endpoints say.
   */
  fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined>;
  /** Proves that this chain held the messages' commitments at block `height`, in the form `target` wants. */
  proveMessages(
    messages: readonly Message[],
    height: bigint,
    target: ProofTaker,
    signal: AbortSignal,
  ): Promise<MessageProof>;
  /** Per message the relayer that delivered it here, `undefined` if nobody did; one round trip. */
  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]>;
  /**
   * As {@link fetchReceipts}, but fit to end a message: read at one block that is far enough, and at a second
   * endpoint, where there is one. A few round trips.
   */
  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]>;
  /**
   * Fees of requests of this chain, units of its fee token; `undefined`: it does not know the request (any more).
   * As certain as {@link fetchCertainReceipts}.
   */
  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]>;
  /** What would happen if the delivery were sent now. */
  simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation>;
  /** Reads receipts, nonce and prices in one go and signs; nothing is sent. */
  sign(
    delivery: Delivery,
    simulation: Extract<Simulation, { kind: "accepted" }>,
    hints: SigningHints,
    signal: AbortSignal,
  ): Promise<SigningResult>;
  /** Hands the bytes to the chain. Call only after the submission is in the journal. */
  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult>;
  /** What became of a submission, also one of an earlier run of the program. */
  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome>;
  /** Closes connections. The chain must not be used afterwards. */
  close(): Promise<void>;
}
