/**
 * What the hub keeps for relayers, beside `hub.ts`: claims, balances, withdrawals, rewards, answers to GET requests
 * and accepted consensus proofs. Source of the rules: docs/protocol/messaging.md sections 7.2, 12, 14, 16 and 17.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type {
  OutboundConsensusDeliveryClaim,
  OutboundRequestDeliveryClaim,
  WithdrawalInputData,
  WithdrawalProof,
} from "../ismp/fees.ts";
import type { GetRequestsWithProof } from "../ismp/ismp_message.ts";
import type { StateMachine } from "../ismp/state_machine.ts";
import type { Refusal, SignedSubmission, SubmissionOutcome } from "./port.ts";
import type { HubChain } from "./hub.ts";

/** An unsigned call of the hub that relayers make beside delivering messages. */
export type HubCall =
  | { readonly kind: "accumulate"; readonly proof: WithdrawalProof }
  | { readonly kind: "withdraw"; readonly data: WithdrawalInputData }
  | { readonly kind: "answerGets"; readonly answer: GetRequestsWithProof }
  | { readonly kind: "claimRotation"; readonly claim: OutboundConsensusDeliveryClaim }
  | { readonly kind: "claimRequest"; readonly claim: OutboundRequestDeliveryClaim };

/** What the hub knows of a delivered request. */
export type ClaimStatus = "unclaimed" | "claimed" | "unknown";

/** Why the hub refuses a call: the name of its error where the runtime tells, e.g. `MissingCommitments`. */
export interface HubCallRefusal extends Refusal {
  /** `Pallet.Error` where known. */
  readonly error: string | undefined;
}

/** A BEEFY proof that the hub accepted. */
export interface AcceptedProof {
  /** Hub height that it proves; lower than the block of the event. */
  readonly height: bigint;
  /** Authority set that it hands over to; `undefined` for messaging proofs. */
  readonly newSetId: bigint | undefined;
  /** Block of the event. */
  readonly atBlock: bigint;
}

/** Accepted proofs that the hub still keeps, as its newest final block lists them. */
export interface AcceptedProofIndex {
  /** Set handed over to, to the proven height of the hub; ascending by set, at most 512. */
  readonly rotations: ReadonlyMap<bigint, bigint>;
  /** Proven heights of the hub without those of rotations, ascending, at most 512. */
  readonly messaging: readonly bigint[];
}

/** What the hub takes from one sender of a chain. */
export type SenderLimit =
  /** Anything: the hub meters nothing, or not this sender. */
  | { readonly kind: "free" }
  /** Requests of that many bytes together, as the chain's own encoding counts them. */
  | { readonly kind: "metered"; readonly remainingBytes: bigint }
  /** No POST request. */
  | { readonly kind: "blocked" };

/** A hub that says what it would take, so that nothing is proved in vain. */
export interface SenderLimits {
  /** Per sender (`from` of its requests) on `source`; one round trip. */
  fetchSenderLimits(
    source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]>;
}

/** A hub whose accepted proofs can be listed. */
export interface ProofLister {
  /** Two round trips; needs no unsafe method. */
  fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex>;
}

/** The hub with its relayer accounts. */
export interface RelayerHub extends HubChain, SenderLimits {
  /** Per request commitment whether its fee was accumulated already. One round trip. */
  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]>;
  /** Fees credited to `address` for requests paid on `chain`, in units of that chain's fee token. */
  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint>;
  /** Smallest balance that the hub pays out, in units of that chain's fee token. */
  fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint>;
  /** Nonce that the next signature of `address` for `chain` must carry. */
  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint>;
  /** Pays out: reward per rotation delivered to `chain`, and whether set `setId` was claimed. */
  fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }>;
  /** Modules of the hub whose requests are rewarded, lower-case hex, with the reward. */
  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>>;
  /** True when the reward of the delivered hub request was claimed. */
  fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean>;

  /** What the runtime says to a call now; `undefined`: it would take it. */
  dryRunCall(call: HubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined>;
  /** Makes the extrinsic; nothing is sent. Hand it to `broadcast` after journalling. */
  prepareCall(call: HubCall, signal: AbortSignal): Promise<SignedSubmission>;
  /** As `fetchOutcome`, for submissions made by {@link prepareCall}; a failed dispatch names its error. */
  fetchCallOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome>;

  /** Proofs accepted in blocks `from` to `to`, ascending by height; rotations and messaging proofs. */
  fetchAcceptedProofs(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly AcceptedProof[]>;
  /** Bytes of an accepted proof for `handleConsensus`; `undefined`: this node does not have them. */
  fetchProofBytes(
    proof: Pick<AcceptedProof, "height" | "newSetId">,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined>;
  /** Rotations that the hub still keeps: set id to proven height, ascending. */
  fetchRotations(signal: AbortSignal): Promise<ReadonlyMap<bigint, bigint>>;
}

/** A receiver of hub consensus proofs (an EVM host with the BEEFY client). */
export interface ProofReceiver {
  /** Id of the current authority set of the host's client; `undefined` when the host has another client. */
  fetchAuthoritySetId(signal: AbortSignal): Promise<bigint | undefined>;
  /** True when the handler has `batchCall`. */
  fetchHasBatchCall(signal: AbortSignal): Promise<boolean>;
}
