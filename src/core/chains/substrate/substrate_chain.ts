/**
 * A Substrate chain with pallet-ismp, the hub included, behind the interface of all chains. Start reading here;
 * each method's work is in the file named after it.
 */
import type { HashAlgorithm } from "../../protocol/ismp/proof.ts";
import type { Message } from "../../protocol/ismp/message.ts";
import type { StateMachineHeight, StateMachineId } from "../../protocol/ismp/state_machine.ts";
import { fromHex, type Hex } from "../../protocol/bytes.ts";
import type { EndpointUrl, Secret } from "../../config/redact.ts";
import { RpcFault } from "../../rpc/fault.ts";
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
import type { Counterparty, HubChain } from "../hub.ts";
import { checkChain, checkCounterparty } from "./checks.ts";
import { BLOCKS_PER_QUERY, fetchEvents } from "./events.ts";
import { deliveryExtrinsic, keySigner, type MessageSigner, messagesOf, plainSigner } from "./extrinsics.ts";
import { ChildTrie, Runtimes, type SubstrateNode } from "./node.ts";
import { Outcomes } from "./outcomes.ts";
import { proveMessages } from "./proofs.ts";
import { fetchReceipts, readReceipts, receiptCalls } from "./receipts.ts";
import { requireSize, simulate, withCurrentRuntime } from "./simulation.ts";
import { fetchBlockTime, fetchFinalHeight, fetchHeight, fetchUpdateTime, fetchView } from "./views.ts";

/** What a Substrate chain needs from outside. */
export interface SubstrateChainDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly openSocket: OpenSocket;
  /** For calls that do not fit a WebSocket frame. */
  readonly fetch: Fetch;
  readonly log: Log;
}

/** What the configuration says of a Substrate chain. */
export interface SubstrateChainOptions {
  readonly id: StateMachineId;
  /** Hash of headers, extrinsics and tries; the hub's is Keccak. */
  readonly hashing: HashAlgorithm;
  readonly rpcWs: EndpointUrl;
  /** Most bytes of one RPC request or answer. */
  readonly maxRpcPayloadSizeBytes: number;
  /** Most RPC requests at a time. Default 10. */
  readonly maxConcurrentQueries?: number | undefined;
  /** sr25519 key, 32-byte mini secret or 64 bytes; `undefined`: `relayerId` names us, unsigned. */
  readonly signer: Secret<Hex> | undefined;
  /** Up to 32 bytes under which receipts name us without a signer. */
  readonly relayerId?: Uint8Array | undefined;
  /** Largest extrinsic, bytes. Default 3,500,000. */
  readonly maxCallBytes?: number | undefined;
}

/** Messages of one step to a chain that is no EVM chain: upstream's tesseract/messaging/messaging. */
const MAX_MESSAGES_PER_STEP = 200;
/** Below the 5 MiB * 75 % that normal extrinsics of a block may have together (protocol notes 03, section 3.6). */
const DEFAULT_MAX_CALL_BYTES = 3_500_000;

/** A chain of `type = "substrate"`; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createSubstrateChain(deps: SubstrateChainDeps, options: SubstrateChainOptions): Chain {
  return new SubstrateChain(deps, options, false);
}

/** The hub; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createHubChain(deps: SubstrateChainDeps, options: SubstrateChainOptions): HubChain {
  return new SubstrateChain(deps, options, true);
}

class SubstrateChain implements HubChain {
  readonly family = "substrate";
  readonly id: StateMachineId;
  readonly limits: ChainLimits;
  readonly #endpoint: SocketEndpoint;
  readonly #node: SubstrateNode;
  readonly #signer: MessageSigner;
  readonly #outcomes: Outcomes;

  constructor(deps: SubstrateChainDeps, options: SubstrateChainOptions, isHub: boolean) {
    const chain = options.id.stateMachine;
    this.id = options.id;
    this.limits = {
      maxMessagesPerStep: MAX_MESSAGES_PER_STEP,
      maxCallBytes: options.maxCallBytes ?? DEFAULT_MAX_CALL_BYTES,
      blocksPerEventQuery: BLOCKS_PER_QUERY,
    };
    this.#endpoint = createSocketEndpoint(deps, {
      url: options.rpcWs.reveal(),
      chain,
      translate: translateSubstrateError,
      maxPayloadBytes: options.maxRpcPayloadSizeBytes,
    });
    const client = new SubstrateClient(this.#endpoint, chain, options.maxConcurrentQueries);
    this.#node = {
      client,
      clock: deps.clock,
      log: deps.log.with({ chain }),
      id: options.id,
      isHub,
      hashing: options.hashing,
      runtimes: new Runtimes(client, chain),
      childTrie: new ChildTrie(client),
    };
    this.#signer = options.signer === undefined
      ? plainSigner(options.relayerId)
      : keySigner(fromHex(options.signer.reveal()), deps.randomness);
    this.#outcomes = new Outcomes(this.#node);
  }

  get relayer(): Uint8Array | undefined {
    return this.#signer.relayer;
  }

  check(hub: StateMachineId, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkChain(this.#node, hub, signal);
  }

  checkCounterparty(entry: Counterparty, signal: AbortSignal): Promise<readonly CheckFinding[]> {
    return checkCounterparty(this.#node, entry, signal);
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
    return fetchEvents(this.#node, from, to, signal);
  }

  proveMessages(
    messages: readonly Message[],
    height: bigint,
    sink: Pick<Chain, "id" | "family">,
    signal: AbortSignal,
  ): Promise<MessageProof> {
    return proveMessages(this.#node, messages, height, sink, signal);
  }

  fetchReceipts(
    messages: readonly Message[],
    signal: AbortSignal,
  ): Promise<readonly (Uint8Array | undefined)[]> {
    return fetchReceipts(this.#node, messages, signal);
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
    const node = this.#node;
    const messages = messagesOf(delivery);
    const reads = receiptCalls(await node.childTrie.key(signal), messages);
    const { extrinsic, header, receipts } = await withCurrentRuntime(node, async (runtime) => {
      const built = deliveryExtrinsic(node, runtime, delivery, this.#signer);
      const [version, best, ...stored] = await node.client.askAll(
        [calls.runtimeVersion(), calls.header(), ...reads],
        signal,
      );
      return { version, extrinsic: built, header: best, receipts: readReceipts(node, messages, stored) };
    }, signal);
    if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
    if (receipts.some((receipt) => receipt !== undefined)) return { kind: "overtaken", receipts };
    requireSize(node, extrinsic, this.limits.maxCallBytes);
    return {
      kind: "signed",
      submission: {
        hash: extrinsic.hash,
        chain: this.id.stateMachine,
        raw: extrinsic.bytes,
        account: undefined,
        nonce: undefined,
        gasPriceWei: undefined,
        gasLimit: undefined,
        madeAtHeight: header.height,
      },
    };
  }

  async broadcast(submission: SignedSubmission, signal: AbortSignal): Promise<BroadcastResult> {
    try {
      await this.#node.client.ask(calls.submit(submission.raw), signal);
      return { kind: "sent" };
    } catch (fault) {
      if (!(fault instanceof RpcFault)) throw fault;
      if (fault.code === "already_known" || fault.code === "pool_conflict") return { kind: "alreadyKnown" };
      if (fault.code !== "pool_invalid") throw fault;
      return { kind: "refused", refusal: { code: "unspecified", detail: fault.detail ?? fault.code } };
    }
  }

  fetchOutcome(submission: SignedSubmission, signal: AbortSignal): Promise<SubmissionOutcome> {
    return this.#outcomes.fetch(submission, signal);
  }

  close(): Promise<void> {
    return this.#endpoint.close();
  }
}
