/**
 * Interface through which both programs see a chain. Adapters (`evm/`, `substrate/`) implement it and decide nothing;
 * decisions are made in the programs. Start reading here.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Message } from "../ismp/message.ts";
import type { StateMachine, StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";
import type { EventCode } from "../telemetry/events.ts";

/** Limits of one chain that shape queries and deliveries. */
export interface ChainLimits {
  /** Maximum number of messages in one delivery step: 100 for EVM chains, 200 for others. */
  readonly maxMessagesPerStep: number;
  /** Maximum size of one transaction's call data, bytes. */
  readonly maxCallBytes: number;
  /** Maximum number of blocks for one {@link Chain.fetchEvents} call; `undefined`: no limit. */
  readonly blocksPerEventQuery: bigint | undefined;
}

/** Position of an event on its chain. */
export interface EventPosition {
  readonly height: bigint;
  /** Hash of the transaction or extrinsic, if the chain reports it. */
  readonly transaction: Hash256 | undefined;
}

/** Event of a chain's ISMP host, in the order of occurrence. */
export type ChainEvent =
  | { readonly kind: "message"; readonly message: Message; readonly at: EventPosition }
  | {
    /** `relayer` delivered a message to this chain. `commitment` is that of the request. */
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
    /** Source chain of the request, if reported: Substrate chains do. */
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

/** Chain's view of a counterparty, read at one block. */
export interface CounterpartyView {
  /** Latest height of the counterparty whose commitment is stored here; 0: none. May decrease after a veto. */
  readonly height: bigint;
  /** Clock of the chain, Unix seconds. */
  readonly nowSec: bigint;
  /** Minimum age of a commitment before proofs against it are accepted, seconds; 0: none. */
  readonly challengePeriodSec: bigint;
  /** True while the host rejects incoming messages. */
  readonly isFrozen: boolean;
}

/** Proof that the source chain contains the commitments of some messages. */
export type MessageProof =
  | {
    /** State proof bytes, opaque except to the verifier of the target host. */
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
    /** Leaf index of each message, in the order of the requested messages. */
    readonly leafIndices: readonly bigint[];
  };

/** Part of a delivery; all parts of a delivery succeed or fail together. */
export type DeliveryStep =
  | { readonly kind: "consensus"; readonly proof: Uint8Array }
  | {
    readonly kind: "messages";
    /** All of one kind: posts, or get responses. */
    readonly messages: readonly Message[];
    readonly proof: MessageProof;
  };

/**
 * Minimum progress of a node whose answer may settle a message: it knows this height, and its clock has reached this
 * time.
 */
export interface ReadSince {
  readonly height?: bigint | undefined;
  /** Unix seconds. */
  readonly timeSec?: bigint | undefined;
}

/** Value that may settle a message; `unsure` if endpoints disagree, or none that is far enough answered. */
export type Certain<T> = { readonly kind: "certain"; readonly value: T } | { readonly kind: "unsure" };

/** Result for every value that is not certain. */
export const UNSURE = { kind: "unsure" } as const;

/** Content of one transaction or extrinsic. */
export interface Delivery {
  readonly steps: readonly DeliveryStep[];
}

/** Reason why a chain refuses a delivery. */
export type RefusalCode =
  /** A message of the delivery already has a receipt. */
  | "duplicate"
  | "timed_out"
  /** The proof does not verify. */
  | "bad_proof"
  /** No commitment at the proof height, or its challenge period is not over. */
  | "not_ready"
  | "host_frozen"
  /** The host accepts deliveries from another handler: governance replaced it. */
  | "handler_replaced"
  | "client_expired"
  /** `dest` is another chain, or the receiving module's name is malformed. */
  | "bad_destination"
  /** The receiving module failed. */
  | "module_failed"
  /** The hub meters senders, and this one has too little bandwidth left. */
  | "no_bandwidth"
  /** The hub blocks this sender. */
  | "blocked_sender"
  /** A response or timeout for a request that the chain does not know. */
  | "unknown_message"
  /** A consensus proof signed by an authority set that the client does not know yet. */
  | "unknown_authority_set"
  | "insufficient_funds"
  /** One transaction of the chain is too small for it (gas or bytes). */
  | "too_large"
  /** The gas price exceeds the caller's limit. */
  | "too_expensive"
  /** No endpoint can simulate it (trace too large, too slow, refused), though they simulate other calls. */
  | "untraceable"
  /** The chain does not report which rule failed (the transaction pool's `BadProof` stands for any). */
  | "unspecified";

/** Refusal of a delivery, with the chain's own error if there is one. */
export interface Refusal {
  readonly code: RefusalCode;
  /** Name of the error or text of the node; no secrets. */
  readonly detail: string;
  /** Index of the step that failed, where known. */
  readonly step?: number;
  /** Indexes of the affected messages, over all steps in order; absent: all, or unknown. */
  readonly messages?: readonly number[];
}

/** Result of simulating a delivery at the current state. */
export type Simulation =
  | {
    readonly kind: "accepted";
    /** Per message, over all steps in order: whether the host would record it as handled. */
    readonly handled: readonly boolean[];
    /** Gas used by the transaction; 0 on chains without gas. */
    readonly gasUsed: bigint;
    /** Gas limit that a transaction with this content needs, margins included. */
    readonly gasLimit: bigint;
    /**
     * Gas that each message adds, over all steps in order: its own dispatch and an equal share of the rest. Together
     * at most `gasUsed`; the remainder belongs to the consensus proofs (consensus steps). Zeros on chains without
     * gas.
     */
    readonly messageGas: readonly bigint[];
    /** Current gas price, without the operator's buffer; 0 on chains without gas. */
    readonly gasPriceWei: bigint;
    /** Cost of the transaction besides gas (data and operator fee of the OP stack), wei. */
    readonly dataCostWei: bigint;
  }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Transaction or extrinsic that is ready to be sent. */
export interface SignedSubmission {
  /** Hash of the transaction on the chain. */
  readonly hash: Hash256;
  readonly chain: StateMachine;
  readonly raw: Uint8Array;
  /** Sender account as text; `undefined` for unsigned extrinsics. */
  readonly account: string | undefined;
  readonly nonce: bigint | undefined;
  readonly gasPriceWei: bigint | undefined;
  readonly gasLimit: bigint | undefined;
  /** Block height of the chain when it was created: the search for its inclusion starts here. */
  readonly madeAtHeight: bigint;
}

/** Data for signing that only the caller knows. */
export interface SigningHints {
  /** Lowest nonce not used by a submission in the journal, for accounts with nonces. */
  readonly nonceAtLeast: bigint | undefined;
  /**
   * Maximum gas price, wei: what the fees of the messages pay for. Nothing is signed above it, and no higher price is
   * ever offered. Absent: no limit.
   */
  readonly maxGasPriceWei?: bigint | undefined;
}

/** Result of signing: ready, or overtaken by another relayer's delivery. */
export type SigningResult =
  | { readonly kind: "signed"; readonly submission: SignedSubmission }
  | {
    /** Receipts appeared since the simulation: per message, the relayer that delivered it. */
    readonly kind: "overtaken";
    readonly receipts: readonly (Uint8Array | undefined)[];
  }
  | {
    /**
     * The chain already has the state that the consensus proofs of the delivery would add, or will once its mempool
     * is mined: their gas would be wasted.
     */
    readonly kind: "proofs_known";
    readonly from: "blocks" | "mempool";
  }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Answer of the chain to a broadcast. */
export type BroadcastResult =
  | { readonly kind: "sent" }
  /** The same bytes, or an equal batch of another relayer, are already in the mempool. */
  | { readonly kind: "alreadyKnown" }
  | { readonly kind: "nonceUsed" }
  | { readonly kind: "underpriced" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Block reference that makes a reorganisation detectable. */
export interface BlockRef {
  readonly height: bigint;
  readonly hash: Hash256;
}

/** Cost of a mined transaction according to its receipt. */
export interface SpentGas {
  readonly gasUsed: bigint;
  /** Effective gas price, wei. */
  readonly gasPriceWei: bigint;
  /** Cost besides gas for data on another chain (OP stack), wei; 0 elsewhere. */
  readonly dataCostWei: bigint;
}

/** Outcome of a submission. */
export type SubmissionOutcome =
  /** In the mempool, or not old enough to be given up. */
  | { readonly kind: "pending" }
  /** Neither in a block nor in the mempool. */
  | { readonly kind: "unknown" }
  /** Its nonce was used by another transaction. */
  | { readonly kind: "replaced" }
  | {
    readonly kind: "included";
    readonly block: BlockRef;
    readonly isFinal: boolean;
    /** False: reverted, or the extrinsic failed. */
    readonly succeeded: boolean;
    /** Requests that the host recorded as handled, with the recorded relayer. */
    readonly handled: readonly { readonly commitment: Hash256; readonly relayer: Uint8Array }[];
    /**
     * For a transaction with consensus proofs of the hub: whether they advanced the host's client by a height or a
     * set of authorities. False: another relayer's proofs were first, and the gas was wasted. Absent: there were no
     * proofs, or it cannot be determined.
     */
    readonly advancedClient?: boolean | undefined;
    /** Absent if transactions are free. */
    readonly spent?: SpentGas | undefined;
    readonly refusal: Refusal | undefined;
  };

/** Finding of a start-up check. `fatal` stops the program, `warning` needs attention, `note` may be intended. */
export interface CheckFinding extends FindingText {
  readonly severity: "fatal" | "warning" | "note";
}

/** Event and text of a finding. */
export interface FindingText {
  /** Code of its log line. */
  readonly event: EventCode;
  /** The problem, the chain and endpoint host, and what to do. */
  readonly text: string;
}

/** Target of a proof: the state root that it stores of the chain is the one that the proof must lead to. */
export type ProofVerifier = Pick<Chain, "id" | "family" | "fetchStateRoot">;

/**
 * Chain with an ISMP host. Every method may throw an `RpcFault`; all waits end when `signal` is aborted. Expected
 * outcomes are values.
 */
export interface Chain {
  /**
   * State machine of the chain, and the consensus state id under which the hub stores it (for the hub: under which
   * others do).
   */
  readonly id: StateMachineId;
  readonly family: "evm" | "substrate";
  readonly limits: ChainLimits;
  /** Our relayer address in receipts of this chain; `undefined` without a signer. */
  readonly relayer: Uint8Array | undefined;

  /** Compares the endpoint(s) with the configuration; called once before anything else. */
  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /** Newest block (best, not final). */
  fetchHeight(signal: AbortSignal): Promise<bigint>;
  /** Newest block that a reorganisation cannot remove. */
  fetchFinalHeight(signal: AbortSignal): Promise<bigint>;
  /** Unix seconds of the block at `height`; used to limit how far back to catch up after a long outage. */
  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint>;
  /** Chain's view of `counterparty`; one round trip. */
  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView>;
  /** Time at which the commitment of that height was stored, Unix seconds; `undefined`: none stored (any more). */
  fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined>;
  /**
   * Events of blocks `from` to `to`, both inclusive, in order. Complete or a fault: an endpoint that has not reached
   * `to` yet is `lagging`. Splits ranges that are too wide for the endpoint.
   */
  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]>;
  /**
   * State root of a counterparty's block as stored here; `undefined`: none (any more). If there is one, proofs of
   * that chain must lead to it, whatever its endpoints report.
   */
  fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined>;
  /** Proves that this chain contained the messages' commitments at block `height`, in the form `target` expects. */
  proveMessages(
    messages: readonly Message[],
    height: bigint,
    target: ProofVerifier,
    signal: AbortSignal,
  ): Promise<MessageProof>;
  /** Per message the relayer that delivered it here, `undefined` if undelivered; one round trip. */
  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]>;
  /**
   * As {@link fetchReceipts}, but reliable enough to settle a message: read at one block that is far enough, and at a
   * second endpoint, if there is one. A few round trips.
   */
  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]>;
  /**
   * Fees of requests of this chain, units of its fee token; `undefined`: unknown request (any more). As reliable as
   * {@link fetchCertainReceipts}.
   */
  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]>;
  /** Simulates the delivery at the current state. */
  simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation>;
  /** Reads receipts, nonce and prices in one request and signs; nothing is sent. */
  sign(
    delivery: Delivery,
    simulation: Extract<Simulation, { kind: "accepted" }>,
    hints: SigningHints,
    signal: AbortSignal,
  ): Promise<SigningResult>;
  /** Broadcasts the bytes. Call only after the submission is in the journal. */
  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult>;
  /** Outcome of a submission, including those of an earlier run of the program. */
  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome>;
  /** Closes connections. The chain must not be used afterwards. */
  close(): Promise<void>;
}
