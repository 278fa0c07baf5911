/**
 * EVM chain with an ISMP host, behind the interface of port.ts. Each method is in a file of its own; shared state is
 * in evm_context.ts. Start reading at {@link createEvmChain}.
 */
import { privateKeyToAccount } from "viem/accounts";
import type { EvmValues } from "../../config/chains.ts";
import { fromHex, type Hash256 } from "../../encoding/bytes.ts";
import { type Address, toAddress } from "../../evm/address.ts";
import { decodeBeefyClientState } from "../../evm/beefy_client_state.ts";
import { hostReads } from "../../evm/host_reads.ts";
import type { Signature } from "../../ismp/fees.ts";
import type { Message } from "../../ismp/message.ts";
import { evmChainId, type StateMachineHeight, type StateMachineId } from "../../ismp/state_machine.ts";
import type { Fetch } from "../../rpc/http.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import type { Randomness } from "../../runtime/randomness.ts";
import type { Log } from "../../telemetry/log.ts";
import type {
  BroadcastResult,
  Certain,
  ChainEvent,
  ChainLimits,
  CheckFinding,
  CounterpartyView,
  Delivery,
  MessageProof,
  ProofVerifier,
  ReadSince,
  SignedSubmission,
  SigningHints,
  SigningResult,
  Simulation,
  SubmissionOutcome,
} from "../port.ts";
import type { ConsensusClientKind, EvmFollower, HostConsensusView } from "../evm_follower.ts";
import {
  type FeeChain,
  type FeeProof,
  type GasQuote,
  type ReceiptProof,
  UnprovableKeyError,
} from "../fees.ts";
import type { ConsensusProofTarget } from "../hub_accounts.ts";
import type { AccountNonces, ReplaceableChain, ReplacementState } from "../replaceable.ts";
import { fetchHasBatchCall } from "./batching.ts";
import { fetchCertainFees, fetchCertainReceipts } from "./certain_reads.ts";
import { fetchClientKind, fetchConsensusView } from "./consensus_view.ts";
import { fetchDataCost, fetchGasQuote } from "./costs.ts";
import { EventReader } from "./events.ts";
import { EvmContext } from "./evm_context.ts";
import { createEvmEndpointSet } from "./evm_endpoint_set.ts";
import { fetchFees, fetchFeeTokenDecimals, fetchRouterPrice } from "./fees.ts";
import type { GasPrice } from "./gas.ts";
import { checkProofs, PROBED_SLOT } from "./proof_check.ts";
import { proveMessages } from "./proofs.ts";
import { accountBalance, blockNumber, contractRead } from "./queries.ts";
import { callOne } from "./rpc_batch.ts";
import { fetchReceipts } from "./receipts.ts";
import { cancel, fetchNonces, fetchReplacementState, resign } from "./replacement.ts";
import { signDigest } from "./signature.ts";
import { signDelivery } from "./signing.ts";
import { simulate } from "./simulation.ts";
import { checkChain } from "./start_check.ts";
import { proveFees, proveReceipts, proveState } from "./state_proofs.ts";
import { broadcast, fetchOutcome } from "./submission.ts";
import { fetchBlockTime, fetchFinalHeight, fetchStateRoot, fetchUpdateTime, fetchView } from "./views.ts";

/** EVM chain with all its interfaces. */
export interface EvmChain extends FeeChain, ConsensusProofTarget, ReplaceableChain {
  readonly family: "evm";
  readonly relayer: Uint8Array;
  /** Checks that the endpoints support what claims will need: proofs at `height`, the latest that the hub knows. */
  checkProofs(height: bigint, signal: AbortSignal): Promise<readonly CheckFinding[]>;
  /**
   * Proves the host's state at that height with any endpoint that can, and discards the proof.
   * @throws {RpcFault} when none can.
   */
  requireProofs(height: bigint, signal: AbortSignal): Promise<void>;
}

/** Part of a chain's configuration that the adapter needs. */
export type EvmChainOptions = Pick<
  EvmValues,
  | "stateMachine"
  | "consensusStateId"
  | "rpcUrls"
  | "ismpHost"
  | "signer"
  | "queryBatchSizeBlocks"
  | "tracingBatchSize"
  | "gasPriceBufferPercent"
  | "clientType"
>;

/** Dependencies of the adapter. */
export interface EvmChainDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
}

/**
 * Maximum number of messages in one handler call (polytope-labs/hyperbridge: tesseract/messaging/evm, chunks of 100).
 */
const MAX_MESSAGES = 100;
/** Public nodes refuse raw transactions above 128 KiB, some sequencers above 95 kB. */
const MAX_CALL_BYTES = 90_000;
/** Concurrent traces of single messages unless the configuration sets a limit. */
const TRACES_AT_ONCE = 16;

/**
 * Creates the configured chain. Nothing is requested before the first method call; the chain id of every endpoint is
 * checked along with its first request.
 */
export function createEvmChain(
  deps: EvmChainDeps,
  options: EvmChainOptions,
): EvmChain & EvmFollower {
  const id = { stateMachine: options.stateMachine, consensusStateId: options.consensusStateId };
  const number = evmChainId(options.stateMachine);
  const account = privateKeyToAccount(options.signer.reveal());
  const endpoints = createEvmEndpointSet(deps, { stateMachine: options.stateMachine, urls: options.rpcUrls });
  const context = new EvmContext({
    endpoints,
    clock: deps.clock,
    log: deps.log.with({ chain: options.stateMachine }),
    id,
    chainId: number,
    host: toAddress(options.ismpHost),
    account,
    sender: toAddress(account.address),
    clientType: options.clientType,
    gasPriceBufferPercent: options.gasPriceBufferPercent,
    blocksPerEventQuery: options.queryBatchSizeBlocks === undefined
      ? undefined
      : BigInt(options.queryBatchSizeBlocks),
  });
  return new ConnectedEvmChain(context, options.tracingBatchSize ?? TRACES_AT_ONCE);
}

class ConnectedEvmChain implements EvmChain, EvmFollower {
  readonly family = "evm";
  readonly hasGas = true;
  readonly id: StateMachineId;
  readonly limits: ChainLimits;
  readonly relayer: Uint8Array;
  readonly #context: EvmContext;
  readonly #events: EventReader;
  readonly #traces: Limit;

  constructor(context: EvmContext, tracesAtOnce: number) {
    this.#context = context;
    this.#events = new EventReader(context);
    this.#traces = new Limit(tracesAtOnce);
    this.id = context.at.id;
    this.relayer = fromHex(context.at.sender);
    this.limits = {
      maxMessagesPerStep: MAX_MESSAGES,
      maxCallBytes: MAX_CALL_BYTES,
      blocksPerEventQuery: context.at.blocksPerEventQuery,
    };
  }

  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkChain(this.#context, hub, signal);
  }

  checkProofs(height: bigint, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkProofs(this.#context, height, signal);
  }

  async requireProofs(height: bigint, signal: AbortSignal): Promise<void> {
    try {
      await proveState(this.#context, [fromHex(PROBED_SLOT)], height, signal);
    } catch (error) {
      // The host is younger than that height: the proof shows it, and there is nothing to claim yet.
      if (!(error instanceof UnprovableKeyError)) throw error;
    }
  }

  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return callOne(this.#context.at.endpoints, blockNumber, { signal });
  }

  fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    return fetchFinalHeight(this.#context, signal);
  }

  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint> {
    return fetchBlockTime(this.#context, height, signal);
  }

  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    return fetchView(this.#context, counterparty, signal);
  }

  fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return fetchUpdateTime(this.#context, height, signal);
  }

  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    return this.#events.fetch(from, to, signal);
  }

  fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined> {
    return fetchStateRoot(this.#context, of, signal);
  }

  proveMessages(
    messages: readonly Message[],
    height: bigint,
    target: ProofVerifier,
    signal: AbortSignal,
  ): Promise<MessageProof> {
    return proveMessages(this.#context, messages, height, target, signal);
  }

  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return fetchReceipts(this.#context, messages, signal);
  }

  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    return fetchCertainReceipts(this.#context, messages, since, signal);
  }

  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    return fetchCertainFees(this.#context, commitments, since, signal);
  }

  /** Simulates again if governance has replaced the handler since the host's parameters were read. */
  simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const once = (): Promise<Simulation> =>
      this.#traces.run(() => simulate(this.#context, delivery, signal), signal);
    return this.#context.hostParams.simulate(once, signal);
  }

  sign(
    delivery: Delivery,
    simulation: Extract<Simulation, { kind: "accepted" }>,
    hints: SigningHints,
    signal: AbortSignal,
  ): Promise<SigningResult> {
    return signDelivery(this.#context, { delivery, simulation, hints }, signal);
  }

  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    return broadcast(this.#context, submission, signal);
  }

  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return fetchOutcome(this.#context, submission, signal);
  }

  fetchFees(
    commitments: readonly Hash256[],
    signal: AbortSignal,
  ): Promise<readonly (bigint | undefined)[]> {
    return fetchFees(this.#context, commitments, signal);
  }

  fetchFeeTokenDecimals(signal: AbortSignal): Promise<number> {
    return fetchFeeTokenDecimals(this.#context, signal);
  }

  fetchRouterPrice(signal: AbortSignal): Promise<bigint | undefined> {
    return fetchRouterPrice(this.#context, signal);
  }

  fetchGasQuote(signal: AbortSignal): Promise<GasQuote> {
    return fetchGasQuote(this.#context, signal);
  }

  fetchDataCost(raw: Uint8Array, signal: AbortSignal): Promise<bigint> {
    return fetchDataCost(this.#context, raw, signal);
  }

  fetchBalance(signal: AbortSignal): Promise<bigint> {
    return callOne(this.#context.at.endpoints, accountBalance(this.#context.at.sender), { signal });
  }

  proveFees(
    commitments: readonly Hash256[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<FeeProof> {
    return proveFees(this.#context, commitments, height, signal, stateRoot);
  }

  proveReceipts(
    commitments: readonly Hash256[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<ReceiptProof> {
    return proveReceipts(this.#context, commitments, height, signal, stateRoot);
  }

  proveState(
    keys: readonly Uint8Array[],
    height: bigint,
    signal: AbortSignal,
    stateRoot?: Hash256,
  ): Promise<Uint8Array> {
    return proveState(this.#context, keys, height, signal, stateRoot);
  }

  signDigest(digest: Uint8Array): Promise<Signature> {
    return signDigest(this.#context, digest);
  }

  async fetchAuthoritySetId(signal: AbortSignal): Promise<bigint | undefined> {
    const { endpoints, host } = this.#context.at;
    const state = await callOne(endpoints, contractRead(host, hostReads.consensusState), { signal });
    return decodeBeefyClientState(state)?.current.id;
  }

  fetchHasBatchCall(signal: AbortSignal): Promise<boolean> {
    return fetchHasBatchCall(this.#context, signal);
  }

  fetchConsensusView(hub: StateMachineId, signal: AbortSignal): Promise<HostConsensusView> {
    return fetchConsensusView(this.#context, hub, signal);
  }

  fetchClientKind(client: Address, signal: AbortSignal): Promise<ConsensusClientKind> {
    return fetchClientKind(this.#context, client, signal);
  }

  fetchReplacementState(submission: SignedSubmission, signal: AbortSignal): Promise<ReplacementState> {
    return fetchReplacementState(this.#context, submission, signal);
  }

  fetchNonces(signal: AbortSignal): Promise<AccountNonces> {
    return fetchNonces(this.#context, signal);
  }

  resign(submission: SignedSubmission, price: GasPrice): Promise<SignedSubmission> {
    return resign(this.#context, submission, price);
  }

  cancel(submission: SignedSubmission, price: GasPrice, signal: AbortSignal): Promise<SignedSubmission> {
    return cancel(this.#context, submission, price, signal);
  }

  /** Nothing to close: HTTP connections belong to the runtime. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
