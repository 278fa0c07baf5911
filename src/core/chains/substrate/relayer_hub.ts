/** Hub: a Substrate chain that also knows the other chains, and keeps accounts for relayers. */
import type { Hash256 } from "../../encoding/bytes.ts";
import type { StateMachine, StateMachineId } from "../../ismp/state_machine.ts";
import type { CheckFinding, SignedSubmission, SubmissionOutcome } from "../port.ts";
import type { FeeChain } from "../fees.ts";
import type { Counterparty } from "../hub.ts";
import type {
  AcceptedProof,
  AcceptedProofIndex,
  ClaimStatus,
  HubCallRefusal,
  ProofLister,
  RelayerHub,
  RelayerHubCall,
  SenderLimit,
} from "../hub_accounts.ts";
import { AcceptedProofs, fetchAcceptedIndex, fetchProofBytes, fetchRotations } from "./accepted_proofs.ts";
import { checkCounterparty, findUnlisted } from "./counterparty_check.ts";
import { dryRunHubCall, prepareHubCall } from "./hub_calls.ts";
import type { SubstrateNode } from "./node.ts";
import type { Outcomes } from "./outcomes.ts";
import {
  fetchClaimStatus,
  fetchFeeBalance,
  fetchIsRequestClaimed,
  fetchMinimumWithdrawal,
  fetchRelayerNonce,
  fetchRewardedModules,
  fetchRotationReward,
} from "./relayer_accounts.ts";
import { fetchSenderLimits } from "./sender_limits.ts";
import {
  createChainContext,
  SubstrateChain,
  type SubstrateChainContext,
  type SubstrateChainDeps,
  type SubstrateNodeOptions,
} from "./substrate_chain.ts";

/**
 * Decimals of fees that the hub itself charges: polytope-labs/hyperbridge: tesseract/messaging/substrate, default.
 */
const HUB_FEE_TOKEN_DECIMALS = 6;

/** Creates the hub; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createHubChain(
  deps: SubstrateChainDeps,
  options: SubstrateNodeOptions,
): RelayerHub & ProofLister & FeeChain {
  return new Hub(createChainContext(deps, options, true), options);
}

class Hub extends SubstrateChain implements RelayerHub, ProofLister {
  readonly #node: SubstrateNode;
  readonly #outcomes: Outcomes;
  readonly #acceptedProofs: AcceptedProofs;

  constructor(parts: SubstrateChainContext, options: SubstrateNodeOptions) {
    super(parts, { ...options, feeTokenDecimals: HUB_FEE_TOKEN_DECIMALS });
    this.#node = parts.node;
    this.#outcomes = parts.outcomes;
    this.#acceptedProofs = new AcceptedProofs(parts.node);
  }

  checkCounterparty(entry: Counterparty, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkCounterparty(this.#node, entry, signal);
  }

  findUnlisted(of: StateMachineId, signal: AbortSignal): Promise<string | undefined> {
    return findUnlisted(this.#node, of, signal);
  }

  fetchClaimStatus(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly ClaimStatus[]> {
    return fetchClaimStatus(this.#node, commitments, signal);
  }

  fetchFeeBalance(chain: StateMachine, address: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return fetchFeeBalance(this.#node, chain, address, signal);
  }

  fetchMinimumWithdrawal(chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return fetchMinimumWithdrawal(this.#node, chain, signal);
  }

  fetchRelayerNonce(address: Uint8Array, chain: StateMachine, signal: AbortSignal): Promise<bigint> {
    return fetchRelayerNonce(this.#node, address, chain, signal);
  }

  fetchRotationReward(
    chain: StateMachine,
    setId: bigint,
    signal: AbortSignal,
  ): Promise<{ readonly amount: bigint; readonly isClaimed: boolean }> {
    return fetchRotationReward(this.#node, chain, setId, signal);
  }

  fetchRewardedModules(signal: AbortSignal): Promise<ReadonlyMap<string, bigint>> {
    return fetchRewardedModules(this.#node, signal);
  }

  fetchSenderLimits(
    source: StateMachine,
    senders: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<readonly SenderLimit[]> {
    return fetchSenderLimits(this.#node, source, senders, signal);
  }

  fetchIsRequestClaimed(commitment: Hash256, signal: AbortSignal): Promise<boolean> {
    return fetchIsRequestClaimed(this.#node, commitment, signal);
  }

  dryRunCall(call: RelayerHubCall, signal: AbortSignal): Promise<HubCallRefusal | undefined> {
    return dryRunHubCall(this.#node, call, this.limits, signal);
  }

  prepareCall(call: RelayerHubCall, signal: AbortSignal): Promise<SignedSubmission> {
    return prepareHubCall(this.#node, call, this.limits, signal);
  }

  fetchCallOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return this.#outcomes.fetchLasting(submission, signal);
  }

  fetchAcceptedProofs(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly AcceptedProof[]> {
    return this.#acceptedProofs.fetch(from, to, signal);
  }

  fetchProofBytes(
    proof: Pick<AcceptedProof, "height" | "newSetId">,
    signal: AbortSignal,
  ): Promise<Uint8Array | undefined> {
    return fetchProofBytes(this.#node, proof, signal);
  }

  fetchAcceptedIndex(signal: AbortSignal): Promise<AcceptedProofIndex> {
    return fetchAcceptedIndex(this.#node, signal);
  }

  fetchRotations(signal: AbortSignal): Promise<ReadonlyMap<bigint, bigint>> {
    return fetchRotations(this.#node, signal);
  }
}
