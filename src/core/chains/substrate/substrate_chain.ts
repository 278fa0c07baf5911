/**
 * Substrate chain with pallet-ismp, the hub included, behind the common chain interface. Start reading here; each
 * method is implemented in the file named after it.
 */
import type { Message } from "../../ismp/message.ts";
import type { StateMachineHeight, StateMachineId } from "../../ismp/state_machine.ts";
import { fromHex, type Hash256, toHash256 } from "../../encoding/bytes.ts";
import type { Signature } from "../../ismp/fees.ts";
import type { SubstrateValues } from "../../config/chains.ts";
import type { Fetch } from "../../rpc/http.ts";
import { createSocketEndpoint, type SocketEndpoint } from "../../rpc/socket.ts";
import type { OpenSocket } from "../../rpc/socket_link.ts";
import { calls } from "../../rpc/substrate_calls.ts";
import { SubstrateClient } from "../../rpc/substrate_client.ts";
import { translateSubstrateError } from "../../rpc/substrate_errors.ts";
import type { Clock } from "../../runtime/clock.ts";
import type { Randomness } from "../../runtime/randomness.ts";
import type { Log } from "../../telemetry/log.ts";
import type {
  BroadcastResult,
  Certain,
  Chain,
  ChainEvent,
  ChainLimits,
  CheckFinding,
  CounterpartyView,
  Delivery,
  MessageProof,
  ReadSince,
  SignedSubmission,
  SigningHints,
  SigningResult,
  Simulation,
  SubmissionOutcome,
} from "../port.ts";
import type { FeeChain, FeeProof, GasQuote, ReceiptProof } from "../fees.ts";
import { requireSize, withCurrentRuntime } from "./dry_run.ts";
import { broadcast } from "./broadcast.ts";
import { fetchCertainFees, fetchCertainReceipts } from "./certain_reads.ts";
import { fetchCommitment } from "./consensus_views.ts";
import { checkChain } from "./checks.ts";
import { BLOCKS_PER_QUERY, fetchEvents } from "./events.ts";
import {
  collectMessages,
  deliveryExtrinsic,
  keySigner,
  type MessageSigner,
  plainSigner,
  readDelivery,
  toSubmission,
} from "./extrinsics.ts";
import { fetchFees, proveFees, proveReceipts, proveState } from "./fee_proofs.ts";
import { MissingMessages } from "./missing_messages.ts";
import { ChildTrie, Runtimes, type SubstrateNode } from "./node.ts";
import { Outcomes } from "./outcomes.ts";
import { proveMessages } from "./proofs.ts";
import { fetchReceipts, readReceipts, receiptCalls } from "./receipts.ts";
import { simulate } from "./simulation.ts";
import { fetchBlockTime, fetchFinalHeight, fetchHeight, fetchUpdateTime, fetchView } from "./views.ts";

/** Dependencies of a Substrate chain. */
export interface SubstrateChainDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly openSocket: OpenSocket;
  /** For calls that do not fit a WebSocket frame. */
  readonly fetch: Fetch;
  readonly log: Log;
}

/**
 * Part of a node's configuration that the adapter needs, and what the program adds. Without a `signer`, `relayerId`
 * is our relayer address, unsigned.
 */
export interface SubstrateNodeOptions extends
  Pick<
    SubstrateValues,
    "hashing" | "rpcWs" | "maxRpcPayloadSizeBytes" | "maxConcurrentQueries" | "signer"
  > {
  readonly id: StateMachineId;
  /** Relayer address in receipts without a signer, up to 32 bytes. */
  readonly relayerId?: Uint8Array | undefined;
  /** Maximum size of an extrinsic, bytes. Default 3,500,000. */
  readonly maxCallBytes?: number | undefined;
}

/** Part of a Substrate chain's configuration that the adapter needs. */
export interface SubstrateChainOptions
  extends SubstrateNodeOptions, Pick<SubstrateValues, "feeTokenDecimals"> {}

/**
 * Maximum number of messages of one step to a chain that is not an EVM chain: upstream's
 * tesseract/messaging/messaging.
 */
const MAX_MESSAGES_PER_STEP = 200;
/** Below the 5 MiB * 75 % that normal extrinsics of a block may use together (docs/protocol/hub.md section 3.6). */
export const DEFAULT_MAX_CALL_BYTES = 3_500_000;

/** Creates a chain of `type = "substrate"`; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createSubstrateChain(deps: SubstrateChainDeps, options: SubstrateChainOptions): FeeChain {
  return new SubstrateChain(createChainContext(deps, options, false), options);
}

/** Shared parts of a chain's methods. */
export interface SubstrateChainContext {
  readonly endpoint: SocketEndpoint;
  readonly node: SubstrateNode;
  readonly signer: MessageSigner;
  readonly outcomes: Outcomes;
}

/** Creates the parts of a chain; nothing is connected yet. @throws {SignatureError} for a bad signer. */
export function createChainContext(
  deps: SubstrateChainDeps,
  options: SubstrateNodeOptions,
  isHub: boolean,
): SubstrateChainContext {
  const chain = options.id.stateMachine;
  const endpoint = createSocketEndpoint(deps, {
    url: options.rpcWs.reveal(),
    chain,
    translate: translateSubstrateError,
    maxPayloadBytes: options.maxRpcPayloadSizeBytes,
  });
  const log = deps.log.with({ chain });
  const client = new SubstrateClient(deps, endpoint, chain, {
    maxConcurrent: options.maxConcurrentQueries,
    onSetsRefused: () => log.info("storage_batches_unavailable"),
  });
  const node: SubstrateNode = {
    client,
    clock: deps.clock,
    log,
    id: options.id,
    isHub,
    hashing: options.hashing,
    runtimes: new Runtimes(client, chain),
    childTrie: new ChildTrie(client),
  };
  const signer = options.signer === undefined
    ? plainSigner(options.relayerId)
    : keySigner(fromHex(options.signer.reveal()), deps.randomness);
  return { endpoint, node, signer, outcomes: new Outcomes(node) };
}

/** Substrate chain; the hub's own methods are in `relayer_hub.ts`. */
export class SubstrateChain implements FeeChain {
  readonly family = "substrate";
  readonly hasGas = false;
  readonly id: StateMachineId;
  readonly limits: ChainLimits;
  readonly #endpoint: SocketEndpoint;
  readonly #node: SubstrateNode;
  readonly #signer: MessageSigner;
  readonly #outcomes: Outcomes;
  readonly #missing: MissingMessages;
  readonly #feeTokenDecimals: number;

  constructor(
    parts: SubstrateChainContext,
    options: Pick<SubstrateChainOptions, "maxCallBytes" | "feeTokenDecimals">,
  ) {
    this.id = parts.node.id;
    this.limits = {
      maxMessagesPerStep: MAX_MESSAGES_PER_STEP,
      maxCallBytes: options.maxCallBytes ?? DEFAULT_MAX_CALL_BYTES,
      blocksPerEventQuery: BLOCKS_PER_QUERY,
    };
    this.#endpoint = parts.endpoint;
    this.#node = parts.node;
    this.#signer = parts.signer;
    this.#outcomes = parts.outcomes;
    this.#missing = new MissingMessages(parts.node.clock);
    this.#feeTokenDecimals = options.feeTokenDecimals;
  }

  get relayer(): Uint8Array | undefined {
    return this.#signer.relayer;
  }

  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkChain(this.#node, hub, signal);
  }

  fetchHeight(signal: AbortSignal): Promise<bigint> {
    return fetchHeight(this.#node, signal);
  }

  fetchFinalHeight(signal: AbortSignal): Promise<bigint> {
    return fetchFinalHeight(this.#node, signal);
  }

  fetchBlockTime(height: bigint, signal: AbortSignal): Promise<bigint> {
    return fetchBlockTime(this.#node, height, signal);
  }

  fetchView(counterparty: StateMachineId, signal: AbortSignal): Promise<CounterpartyView> {
    return fetchView(this.#node, counterparty, signal);
  }

  fetchUpdateTime(height: StateMachineHeight, signal: AbortSignal): Promise<bigint | undefined> {
    return fetchUpdateTime(this.#node, height, signal);
  }

  fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    return fetchEvents({ node: this.#node, missing: this.#missing }, from, to, signal);
  }

  async fetchStateRoot(of: StateMachineHeight, signal: AbortSignal): Promise<Hash256 | undefined> {
    return (await fetchCommitment(this.#node, of, signal))?.stateRoot;
  }

  proveMessages(
    messages: readonly Message[],
    height: bigint,
    target: Pick<Chain, "id" | "family">,
    signal: AbortSignal,
  ): Promise<MessageProof> {
    return proveMessages(this.#node, messages, height, target, signal);
  }

  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return fetchReceipts(this.#node, messages, signal);
  }

  fetchCertainReceipts(
    messages: readonly Message[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<Uint8Array | undefined>[]> {
    return fetchCertainReceipts(this.#node, messages, since, signal);
  }

  fetchCertainFees(
    commitments: readonly Hash256[],
    since: ReadSince,
    signal: AbortSignal,
  ): Promise<readonly Certain<bigint | undefined>[]> {
    return fetchCertainFees(this.#node, commitments, since, signal);
  }

  simulate(delivery: Delivery, signal: AbortSignal): Promise<Simulation> {
    const { maxCallBytes } = this.limits;
    return simulate(this.#node, delivery, { signer: this.#signer, maxCallBytes }, signal);
  }

  /** One round trip: version, best block and receipts are read together. Unsigned extrinsics have no nonce. */
  async sign(
    delivery: Delivery,
    _simulation: Extract<Simulation, { kind: "accepted" }>,
    _hints: SigningHints,
    signal: AbortSignal,
  ): Promise<SigningResult> {
    const posts = readDelivery(delivery);
    if (posts.kind === "refused") return posts;
    const node = this.#node;
    const messages = collectMessages(delivery);
    const reads = receiptCalls(await node.childTrie.key(signal), messages);
    const { extrinsic, header, receipts } = await withCurrentRuntime(node, async (runtime) => {
      const built = deliveryExtrinsic(node, runtime, posts.steps, this.#signer);
      const [version, best, ...stored] = await node.client.callAll(
        [calls.runtimeVersion(), calls.header(), ...reads],
        signal,
      );
      return { version, extrinsic: built, header: best, receipts: readReceipts(node, messages, stored) };
    }, signal);
    if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
    if (receipts.some((receipt) => receipt !== undefined)) return { kind: "overtaken", receipts };
    requireSize(node, extrinsic, this.limits.maxCallBytes);
    return { kind: "signed", submission: toSubmission(node, extrinsic, header.height) };
  }

  broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    return broadcast(this.#node, submission, signal);
  }

  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return this.#outcomes.fetch(submission, signal);
  }

  fetchFees(commitments: readonly Hash256[], signal: AbortSignal): Promise<readonly (bigint | undefined)[]> {
    return fetchFees(this.#node, commitments, signal);
  }

  /** From the configuration: chains do not report it. */
  fetchFeeTokenDecimals(): Promise<number> {
    return Promise.resolve(this.#feeTokenDecimals);
  }

  fetchRouterPrice(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  fetchGasQuote(): Promise<GasQuote> {
    return Promise.resolve({ gasPriceWei: 0n });
  }

  fetchDataCost(): Promise<bigint> {
    return Promise.resolve(0n);
  }

  proveFees(commitments: readonly Hash256[], height: bigint, signal: AbortSignal): Promise<FeeProof> {
    return proveFees(this.#node, commitments, height, signal);
  }

  proveReceipts(
    commitments: readonly Hash256[],
    height: bigint,
    signal: AbortSignal,
  ): Promise<ReceiptProof> {
    return proveReceipts(this.#node, commitments, height, signal);
  }

  proveState(keys: readonly Uint8Array[], height: bigint, signal: AbortSignal): Promise<Uint8Array> {
    return proveState(this.#node, keys, height, signal);
  }

  /** sr25519 over the 32 bytes. */
  // deno-lint-ignore require-await -- a missing key is a rejection, not an exception
  async signDigest(digest: Uint8Array): Promise<Signature> {
    return this.#signer.signDigest(toHash256(digest));
  }

  /** Unsigned extrinsics cost nothing. */
  fetchBalance(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  close(): Promise<void> {
    return this.#endpoint.close();
  }
}
