/**
 * Deliveries: simulated, signed, broadcast, and found again in blocks. A delivery becomes a {@link SignedSubmission},
 * which the programs keep in their journal before it is broadcast.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Message } from "../ismp/message.ts";
import type { StateMachine } from "../ismp/state_machine.ts";
import type { MessageProof } from "./proofs.ts";

/** Part of a delivery; all parts of a delivery succeed or fail together. */
export type DeliveryStep =
  | { readonly kind: "consensus"; readonly proof: Uint8Array }
  | {
    readonly kind: "messages";
    /** All of one kind: posts, or get responses. */
    readonly messages: readonly Message[];
    readonly proof: MessageProof;
  };

/** Content of one transaction or extrinsic. */
export interface Delivery {
  readonly steps: readonly DeliveryStep[];
}

/** All messages of a delivery, over all steps in order. */
export function collectMessages({ steps }: Delivery): readonly Message[] {
  return steps.flatMap((step) => step.kind === "messages" ? step.messages : []);
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
  /** The gas price exceeds `maximum_gas_price`. */
  | "price_limit"
  /** No endpoint shows why it fails: its trace is too large, too slow or refused, or they trace nothing. */
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
     * Gas that each message adds, over all steps in order: its own dispatch and a share of the rest by its bytes. Together
     * at most `gasUsed`; the remainder belongs to the consensus proofs (consensus steps). Zeros on chains without
     * gas.
     */
    readonly messageGas: readonly bigint[];
    /** Current gas price, without the operator's buffer; 0 on chains without gas. */
    readonly gasPriceWei: bigint;
    /** Cost of the transaction besides gas (data and operator fee of the OP stack), wei. */
    readonly dataCostWei: bigint;
    /** The same if it uses its whole gas limit, as a revert may; `dataCostWei` when absent. */
    readonly maxDataCostWei?: bigint | undefined;
    /**
     * True where only a plain call could be made, which shows neither what is handled nor the gas: every message counts
     * as handled, at its share of all the gas that may be used. Nothing is held for good on it.
     */
    readonly isBlind?: boolean;
  }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Simulation of a delivery that the chain would accept. */
export type AcceptedSimulation = Extract<Simulation, { kind: "accepted" }>;

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
  /** The most that it costs besides gas, wei; absent: nothing, or it comes from the journal. */
  readonly dataCostWei?: bigint | undefined;
  /** Block height of the chain when it was created: the search for its inclusion starts here. */
  readonly madeAtHeight: bigint;
}

/** Data for signing that only the caller knows. */
export interface SigningInput {
  readonly simulation: AcceptedSimulation;
  /** First nonce above those of all submissions in the journal, for accounts with nonces. */
  readonly nonceAtLeast: bigint | undefined;
  /** Nonces of submissions that are not final; absent: all below `nonceAtLeast` are used. */
  readonly heldNonces?: readonly bigint[] | undefined;
  /**
   * Maximum gas price, wei: what the fees of the messages and the rest of a loss limit pay for. Nothing is signed above
   * it, and no higher price is ever offered. Absent: no limit.
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
  /** A pool says that its nonce is used, perhaps by these very bytes: their outcome shows it. */
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
  /** Cost besides gas (data and operator fee of the OP stack), wei; 0 elsewhere. */
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

/** Simulation of deliveries without sending anything. */
export interface Simulator {
  /** Simulates the delivery at the current state. */
  simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation>;
}

/** Signing and broadcasting. */
export interface Sender {
  /** Reads receipts, nonce and prices again in one request and signs; nothing is sent. */
  sign(delivery: Delivery, input: SigningInput, signal: AbortSignal): Promise<SigningResult>;
  /** Broadcasts the bytes. Call only after the submission is in the journal. */
  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult>;
}

/** Search for submissions. */
export interface Outcomes {
  /** Outcome of a submission, including those of an earlier run of the program. */
  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome>;
}
