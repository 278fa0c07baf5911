/**
 * Hub as the programs see it: a chain that also knows the other chains, and keeps accounts for relayers. Source of the
 * rules: docs/protocol/messaging.md sections 7.2, 12, 14, 16 and 17.
 */
import type { Hash256 } from "../encoding/bytes.ts";
import type {
  OutboundConsensusDeliveryClaim,
  OutboundRequestDeliveryClaim,
  WithdrawalInputData,
  WithdrawalProof,
} from "../ismp/fees.ts";
import type { GetRequestsWithProof } from "../ismp/ismp_message.ts";
import type { StateMachine, StateMachineId } from "../ismp/state_machine.ts";
import type { CheckRow } from "../checks/check_row.ts";
import type { Chain } from "./port.ts";
import type { Refusal, SignedSubmission } from "./submission.ts";

/** Part of a chain's configuration that the hub can confirm. */
export interface Counterparty {
  readonly id: StateMachineId;
  /** 20-byte address of the host contract; absent for Substrate chains. */
  readonly ismpHost?: Uint8Array;
}

/** What the hub stores of the other chains. */
export interface Counterparties {
  /**
   * Compares a chain's configuration with the hub's storage: consensus state id and host contract. Proofs are
   * verified against the hub's storage, so a difference is fatal.
   */
  checkCounterparty(entry: Counterparty, signal: AbortSignal): Promise<readonly CheckRow[]>;
  /**
   * Reason why the hub accepts no messages of that chain, whatever heights of it are known: some light clients accept
   * proofs only of chains that governance has listed. Completes "the hub ..."; `undefined`: it accepts them. Two
   * round trips.
   */
  findUnlisted(of: StateMachineId, signal: AbortSignal): Promise<string | undefined>;
}

/** Unsigned call of the hub that relayers make besides delivering messages. */
export type RelayerHubCall =
  | { readonly kind: "accumulate"; readonly proof: WithdrawalProof }
  | { readonly kind: "withdraw"; readonly data: WithdrawalInputData }
  | { readonly kind: "answerGets"; readonly answer: GetRequestsWithProof }
  | { readonly kind: "claimRotation"; readonly claim: OutboundConsensusDeliveryClaim }
  | { readonly kind: "claimRequest"; readonly claim: OutboundRequestDeliveryClaim };

/** Claim status of a delivered request on the hub. */
export type ClaimStatus = "unclaimed" | "claimed" | "unknown";

/** Refusal of a call by the hub: the name of its error if the runtime reports one, e.g. `MissingCommitments`. */
export interface HubCallRefusal extends Refusal {
  /** `Pallet.Error` where known. */
  readonly error: string | undefined;
}

/** A BEEFY proof that the hub accepted. */
export interface AcceptedProof {
  /** Proven hub height. */
  readonly height: bigint;
  /** Next authority set of a rotation; `undefined` for messaging proofs. */
  readonly newSetId: bigint | undefined;
}

/** Accepted proofs that the hub still keeps, as listed at its newest final block. */
export interface AcceptedProofIndex {
  /** Next authority set to proven hub height; ascending by set, at most 512. */
  readonly rotations: ReadonlyMap<bigint, bigint>;
  /** Proven hub heights except those of rotations, ascending, at most 512. */
  readonly messaging: readonly bigint[];
}

/** Limit of the hub for one sender of a chain. */
export type SenderLimit =
  /** No limit: the hub does not meter, or not this sender. */
  | { readonly kind: "free" }
  /** Requests of that many bytes in total, by the chain's own encoding. */
  | { readonly kind: "metered"; readonly remainingBytes: bigint }
  /** No POST request. */
  | { readonly kind: "blocked" };

/** Reads of what the hub would accept from senders, so that nothing is proved for nothing. */
export interface SenderLimits {
  /** Limits per sender (`from` of its requests) on `source`; one round trip. */
  fetchSenderLimits(
    source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]>;
}

/** Accounts of relayers: credited fees, claims and nonces. */
export interface RelayerAccounts {
  /** Claim status per request commitment, at the newest final block: it ends fees. Two round trips. */
  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]>;
  /** Fees credited to `address` for requests paid on `chain`, in units of that chain's fee token. */
  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint>;
  /** Minimum withdrawal, in units of that chain's fee token. */
  fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint>;
  /** Nonce for the next signature of `address` for `chain`. */
  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint>;
}

/** Rewards that the hub pays for deliveries. */
export interface HubRewards {
  /** Reward per rotation delivered to `chain`, and whether it was claimed for set `setId`, in a final block. */
  fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }>;
  /** Modules of the hub whose requests are rewarded, lower-case hex, with the reward. */
  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>>;
  /** True when the reward of the delivered hub request was claimed in a block that is final. */
  fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean>;
}

/** Calls that relayers make besides delivering messages. */
export interface RelayerHubCalls {
  /** Dry run of a call; `undefined`: it would be accepted. */
  dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined>;
  /** Creates the extrinsic; nothing is sent. Pass it to `broadcast` after journalling. */
  prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission>;
}

/** Consensus proofs of the hub that the hub itself accepted. */
export interface AcceptedProofs {
  /** Bytes of an accepted proof for `handleConsensus`; `undefined`: this node does not have them. */
  fetchProofBytes(proof: AcceptedProof, signal: AbortSignal): Promise<Uint8Array | undefined>;
  /** Proofs that the hub lists at its newest final block. Two round trips at most; needs no unsafe method. */
  fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex>;
}

/** The hub. */
export interface HubChain extends Chain {
  readonly counterparties: Counterparties;
  readonly senderLimits: SenderLimits;
  readonly accounts: RelayerAccounts;
  readonly rewards: HubRewards;
  readonly hubCalls: RelayerHubCalls;
  readonly acceptedProofs: AcceptedProofs;
}
