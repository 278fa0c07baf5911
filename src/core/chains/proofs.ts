/**
 * Proofs about a chain: of messages, fees, receipts and state values. Source of the rules:
 * docs/protocol/messaging.md sections 7, 12 and 14.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type { Message } from "../ismp/message.ts";
import type { StateMachineHeight, StateMachineId } from "../ismp/state_machine.ts";
import type { ChainCapabilities } from "./capabilities.ts";
import type { ChainReads } from "./reads.ts";

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

/** Reason why a chain can never prove the value of a key. */
export type UnprovableKeyCode =
  /** The chain's keys have a different length. */
  | "unsupported_key_length"
  /**
   * The key names an account that did not exist at that height; the hub accepts no proof of absence for accounts. On
   * Substrate chains with EVM contracts also: the account is no contract, or stores nothing.
   */
  | "account_not_present";

/** A GET request reads a key whose value cannot be proven in a form that the hub accepts: retrying does not help. */
export class UnprovableKeyError extends Error {
  override readonly name = "UnprovableKeyError";
  constructor(
    readonly code: UnprovableKeyCode,
    /** The key; `undefined` if it is unknown which of several it is. */
    readonly key: Uint8Array | undefined,
    options?: ErrorOptions,
  ) {
    super(`Key cannot be proven: ${code}`, options);
  }
}

/** Proven fees. */
export interface FeeProof {
  /** Bytes for `source_proof` of a claim. */
  readonly proof: Uint8Array;
  /** Fee per commitment as the hub will read it, in units of the chain's fee token; 0 if there is none. */
  readonly fees: readonly bigint[];
}

/** Proven receipts. */
export interface ReceiptProof {
  /** Bytes for `dest_proof` of a claim. */
  readonly proof: Uint8Array;
  /** Relayer per commitment as proven; `undefined`: proven absent. */
  readonly relayers: readonly (Uint8Array | undefined)[];
}

/** Target of a proof: the state root that it stores of the chain is the one that the proof must lead to. */
export interface ProofVerifier {
  readonly id: StateMachineId;
  readonly capabilities: Pick<ChainCapabilities, "hubProofs">;
  readonly reads: Pick<ChainReads, "fetchStateRoot">;
}

/** Block whose state is proved. */
export interface ProvenBlock {
  readonly height: bigint;
  /** Root of that block as the hub stores it; without one the endpoint's own header is trusted. */
  readonly stateRoot?: Hash256 | undefined;
}

/** Proofs of the chain's state. */
export interface ChainProofs {
  /** Proves that this chain contained the messages' commitments at block `height`, in the form `target` expects. */
  proveMessages(
    messages: readonly Message[],
    at: { readonly height: bigint; readonly target: ProofVerifier },
    signal: AbortSignal,
  ): Promise<MessageProof>;
  /** Source side of a claim: proves the fees of requests sent from this chain. */
  proveFees(commitments: readonly Hash256[], at: ProvenBlock, signal: AbortSignal): Promise<FeeProof>;
  /** Destination side of a claim: proves receipts on this chain. */
  proveReceipts(commitments: readonly Hash256[], at: ProvenBlock, signal: AbortSignal): Promise<ReceiptProof>;
  /** Proves state values at exactly that block, for answers to GET requests. @throws {UnprovableKeyError} */
  proveState(keys: readonly Uint8Array[], at: ProvenBlock, signal: AbortSignal): Promise<Uint8Array>;
}

/** Checks whether the chain's endpoints can prove old state, which many nodes cannot. */
export interface ProofChecks {
  /**
   * Proves the host's state at that height with any endpoint that can, and discards the proof.
   * @throws {RpcFault} when none can.
   */
  requireProofs(height: bigint, signal: AbortSignal): Promise<void>;
}
