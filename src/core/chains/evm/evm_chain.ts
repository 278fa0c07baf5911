/**
 * An EVM chain with an ISMP host behind the interface of chain.ts. Each method is in a file of its own; what they
 * share is in evm_context.ts. Start reading at {@link createEvmChain}.
 */
import { privateKeyToAccount } from "viem/accounts";
import type { EvmValues } from "../../config/messaging_config.ts";
import { fromHex } from "../../protocol/bytes.ts";
import { toAddress } from "../../protocol/evm/address.ts";
import type { Message } from "../../protocol/ismp/message.ts";
import {
  evmChainId,
  type StateMachineHeight,
  type StateMachineId,
} from "../../protocol/ismp/state_machine.ts";
import { translateEvmError } from "../../rpc/evm_errors.ts";
import { createHttpEndpoint, type Fetch } from "../../rpc/http.ts";
import type { Json } from "../../rpc/json.ts";
import { RpcPool } from "../../rpc/pool.ts";
import type { Clock } from "../../runtime/clock.ts";
import { Limit } from "../../runtime/limit.ts";
import type { Randomness } from "../../runtime/randomness.ts";
import type { Log } from "../../telemetry/log.ts";
import type {
  BroadcastResult,
  Chain,
  ChainEvent,
  ChainLimits,
  CheckFinding,
  CounterpartyView,
  Delivery,
  MessageProof,
  SignedSubmission,
  SigningHints,
  SigningResult,
  Simulation,
  SubmissionOutcome,
} from "../chain.ts";
import { EventReader } from "./events.ts";
import { EvmContext } from "./evm_context.ts";
import { proveMessages } from "./proofs.ts";
import { blockNumber, chainId } from "./queries.ts";
import { askOne } from "./question.ts";
import { fetchReceipts } from "./receipts.ts";
import { signDelivery } from "./signing.ts";
import { simulate } from "./simulation.ts";
import { checkChain } from "./start_check.ts";
import { broadcast, fetchOutcome } from "./submission.ts";
import { fetchBlockTime, fetchFinalHeight, fetchUpdateTime, fetchView } from "./views.ts";

/** The part of a chain's configuration that the adapter needs. */
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

/** What the adapter needs of its surroundings. */
export interface EvmChainDeps {
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
}

/** Messages of one handler call (polytope-labs/hyperbridge: tesseract/messaging/evm, chunks of 100). */
const MAX_MESSAGES = 100;
/** Public nodes refuse raw transactions above 128 KiB, some sequencers above 95 kB. */
const MAX_CALL_BYTES = 90_000;
/** Traces of single messages at a time where the configuration sets no bound. */
const TRACES_AT_ONCE = 16;

/**
 * The chain that the configuration describes. Nothing is asked before the first method is called; every endpoint
 * is asked for its chain id along with its first request.
 */
export function createEvmChain(deps: EvmChainDeps, options: EvmChainOptions): Chain {
  const id = { stateMachine: options.stateMachine, consensusStateId: options.consensusStateId };
  const number = evmChainId(options.stateMachine);
  const account = privateKeyToAccount(options.signer.reveal());
  const endpoints = options.rpcUrls.map((url) =>
    createHttpEndpoint(deps, { url: url.reveal(), chain: options.stateMachine, translate: translateEvmError })
  );
  const isExpected = (result: Json): boolean =>
    typeof result === "string" && /^0x[0-9a-f]+$/i.test(result) && BigInt(result) === BigInt(number);
  const pool = new RpcPool(deps, {
    chain: options.stateMachine,
    endpoints,
    identity: { call: chainId.call, isExpected },
  });
  const context = new EvmContext({
    pool,
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
  return new EvmChain(context, options.tracingBatchSize ?? TRACES_AT_ONCE);
}

class EvmChain implements Chain {
  readonly family = "evm";
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

  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return askOne(this.#context.at.pool, blockNumber, { signal });
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

  proveMessages(
    messages: readonly Message[],
    height: bigint,
    _sink: Pick<Chain, "id" | "family">,
    signal: AbortSignal,
  ): Promise<MessageProof> {
    return proveMessages(this.#context, messages, height, signal);
  }

  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return fetchReceipts(this.#context, messages, signal);
  }

  simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    return this.#traces.run(() => simulate(this.#context, delivery, signal), signal);
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

  /** Nothing is held open: HTTP connections belong to the runtime. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
