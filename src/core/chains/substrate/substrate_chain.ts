/**
 * Substrate chain with pallet-ismp, behind the interface of port.ts. Each part is in a file of its own; shared state is
 * in node.ts. Start reading at {@link createSubstrateChain}; the hub's own parts are in relayer_hub.ts.
 */
import type { SubstrateValues } from "../../config/chains.ts";
import { fromHex } from "../../encoding/bytes.ts";
import type { Message } from "../../ismp/message.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import type { NamedHeights, RpcObserver } from "../../rpc/observed_endpoint.ts";
import type { BudgetOf } from "../../rpc/request_budget.ts";
import { createSocketEndpoint, type SocketEndpoint } from "../../rpc/socket.ts";
import type { OpenSocket } from "../../rpc/socket_link.ts";
import { SubstrateClient } from "../../rpc/substrate_client.ts";
import { translateSubstrateError } from "../../rpc/substrate_errors.ts";
import type { Clock, Randomness } from "../../runtime/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Chain } from "../port.ts";
import type { ChainReads } from "../reads.ts";
import type { ChainCapabilities } from "../capabilities.ts";
import type { Delivery, Refusal, SigningFacts, Simulation, Simulator } from "../submission.ts";
import { AnnouncedHeads, ChildTrie, type HeadKind, Runtimes, type SubstrateNode } from "./node.ts";
import { planSubstrateChecks } from "./chain_checks.ts";
import { checkChain } from "./checks.ts";
import { dryRunWithReads, findUnsupported, toSizeRefusal } from "./dry_run.ts";
import { BLOCKS_PER_QUERY, SubstrateEvents } from "./events.ts";
import {
  collectMessages,
  deliveryExtrinsic,
  type ExtrinsicOptions,
  keySigner,
  type MessageSigner,
  plainSigner,
  readDelivery,
  toSubmission,
} from "./extrinsics.ts";
import { readReceipts, receiptSet, SubstrateFees } from "./fees.ts";
import { checkMessageBodies } from "./offchain_rows.ts";
import { SubstrateOutcomes } from "./outcomes.ts";
import { SubstrateProofs } from "./proofs.ts";
import { SubstrateCertainReads } from "./certain_reads.ts";
import { SubstrateReads } from "./reads.ts";
import { fetchProofContext, findRefusal, type StepContext } from "./refusal.ts";
import { factsOfDryRun, SubstrateSender } from "./sender.ts";

/** Dependencies of a Substrate chain. */
export interface SubstrateChainDeps {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly openSocket: OpenSocket;
  readonly log: Log;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Budgets of chains; absent: none is set. */
  readonly budgetOf?: BudgetOf | undefined;
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
/** Rules of pallet-ismp (docs/protocol/hub.md sections 3 and 6). */
const CAPABILITIES: ChainCapabilities = {
  challengeRule: "strict",
  losesGasOnRace: false,
  acceptsGetResponses: false,
  hubProofs: "state",
  freezes: "client",
  hasNodeSizeLimit: false,
};
/** Below the 5 MiB * 75 % that normal extrinsics of a block may use together (docs/protocol/hub.md section 3.6). */
export const DEFAULT_MAX_CALL_BYTES = 3_500_000;

/** Creates a chain of `type = "substrate"`; connects at the first call. @throws {SignatureError} for a bad signer. */
export function createSubstrateChain(deps: SubstrateChainDeps, options: SubstrateChainOptions): Chain {
  return assembleSubstrateChain(createChainContext(deps, options, { isHub: false, use: "relayed" }), options);
}

/** Shared parts of a chain's methods. */
export interface SubstrateChainContext {
  readonly endpoint: SocketEndpoint;
  readonly node: SubstrateNode;
  readonly signer: MessageSigner;
  readonly outcomes: SubstrateOutcomes;
}

/** Creates the parts of a chain; nothing is connected yet. @throws {SignatureError} for a bad signer. */
export function createChainContext(
  deps: SubstrateChainDeps,
  options: SubstrateNodeOptions,
  { isHub, use }: Pick<SubstrateNode, "isHub" | "use">,
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
    onSetsRefused: (method) => log.info("storage_batches_unavailable", { method }),
  });
  const announced = (kind: HeadKind, named: (height: bigint) => NamedHeights): AnnouncedHeads => {
    const onHeight = (height: bigint): void =>
      deps.observer?.noteHeights(chain, endpoint.host, named(height));
    return new AnnouncedHeads({ clock: deps.clock, log, endpoint, onHeight }, kind);
  };
  const node: SubstrateNode = {
    client,
    clock: deps.clock,
    log,
    id: options.id,
    isHub,
    use,
    hashing: options.hashing,
    runtimes: new Runtimes(client, chain, use),
    childTrie: new ChildTrie(client, deps.clock),
    heads: {
      best: announced("best", (head) => ({ head })),
      final: announced("final", (final) => ({ final })),
    },
  };
  const signer = options.signer === undefined
    ? plainSigner(options.relayerId)
    : keySigner(fromHex(options.signer.reveal()), deps.randomness);
  return { endpoint, node, signer, outcomes: new SubstrateOutcomes(node) };
}

/** Chain of these parts; those of the hub come on top. */
export function assembleSubstrateChain(
  { endpoint, node, signer, outcomes }: SubstrateChainContext,
  { feeTokenDecimals, maxCallBytes = DEFAULT_MAX_CALL_BYTES }: Pick<
    SubstrateChainOptions,
    "maxCallBytes" | "feeTokenDecimals"
  >,
): Chain {
  const reads = new SubstrateReads(node);
  const fees = new SubstrateFees(node, feeTokenDecimals);
  const options = { signer, maxCallBytes };
  return {
    id: node.id,
    limits: {
      maxMessagesPerStep: MAX_MESSAGES_PER_STEP,
      maxCallBytes,
      blocksPerEventQuery: BLOCKS_PER_QUERY,
    },
    capabilities: CAPABILITIES,
    relayer: signer.relayer,
    reads,
    events: new SubstrateEvents(node),
    certain: new SubstrateCertainReads(node, reads),
    proofs: new SubstrateProofs(node),
    simulator: new SubstrateSimulator(node, options, reads),
    sender: new SubstrateSender(node, options),
    outcomes,
    fees,
    gas: undefined,
    replacement: undefined,
    proofChecks: undefined,
    runtime: { findUnsupported: (signal) => findUnsupported(node, signal) },
    hubClient: undefined,
    gates: undefined,
    planChecks: ({ hub, fetchKnownHeight }) =>
      planSubstrateChecks(node, {
        check: (signal) => checkChain(node, hub, signal),
        fetchNeededHeight: fetchKnownHeight,
        checkOffchain: (signal) => checkMessageBodies(node, signal),
      }),
    check: (hub, signal) => checkChain(node, hub, signal),
    // sr25519 over the 32 bytes.
    // deno-lint-ignore require-await -- a missing key is a rejection, not an exception
    signMessage: async ({ digest }) => signer.signDigest(digest),
    close: () => endpoint.close(),
  };
}

/** Simulation by the transaction pool's own check. */
class SubstrateSimulator implements Simulator {
  readonly #node: SubstrateNode;
  readonly #options: ExtrinsicOptions;
  readonly #reads: Pick<ChainReads, "fetchReceipts">;

  constructor(node: SubstrateNode, options: ExtrinsicOptions, reads: Pick<ChainReads, "fetchReceipts">) {
    this.#node = node;
    this.#options = options;
    this.#reads = reads;
  }

  /**
   * Checks whether the runtime would accept the delivery. One round trip if it would, which also reads what a signature
   * needs, else two. An extrinsic above
   * `maxCallBytes`, or above the transport's limit, is refused as `too_large`; what no Substrate host accepts is
   * refused without a request.
   */
  async simulate(
    delivery: Delivery,
    signal: AbortSignal,
  ): Promise<Simulation> {
    const posts = readDelivery(delivery);
    if (posts.kind === "refused") return posts;
    const { signer, maxCallBytes } = this.#options;
    const node = this.#node;
    const messages = collectMessages(delivery);
    try {
      const set = await receiptSet(node, messages, signal);
      const atMs = node.clock.now();
      const { result, extrinsic, values, height } = await dryRunWithReads(node, {
        build: (runtime) => deliveryExtrinsic(node, runtime, posts.steps, signer),
        maxCallBytes,
        set,
      }, signal);
      if (result.kind !== "valid") {
        return { kind: "refused", refusal: await this.#explain(delivery, result.reason, signal) };
      }
      const receipts = readReceipts(node, messages, values);
      const submission = toSubmission(node, extrinsic, height);
      return accepted(messages, factsOfDryRun({ atMs, delivery, receipts, submission }));
    } catch (fault) {
      return { kind: "refused", refusal: toSizeRefusal(fault) };
    }
  }

  async #explain(
    delivery: Delivery,
    reason: string,
    signal: AbortSignal,
  ): Promise<Refusal> {
    const facts = await Promise.all(
      delivery.steps.map((_, step) => this.#fetchFacts(delivery, step, signal)),
    );
    const host = { stateMachine: this.#node.id.stateMachine, isHub: this.#node.isHub };
    return findRefusal(host, delivery, facts) ??
      { code: "unspecified", detail: `${reason}: the proof, the receiving module or its bandwidth` };
  }

  async #fetchFacts(
    delivery: Delivery,
    index: number,
    signal: AbortSignal,
  ): Promise<StepContext | undefined> {
    const step = delivery.steps[index];
    if (step?.kind !== "messages") return undefined;
    const [proof, receipts] = await Promise.all([
      fetchProofContext(this.#node, step.proof.height, signal),
      this.#reads.fetchReceipts(step.messages, signal),
    ]);
    return { ...proof, receipts };
  }
}

function accepted(messages: readonly Message[], facts: SigningFacts): Simulation {
  return {
    kind: "accepted",
    handled: messages.map(() => true),
    gasUsed: 0n,
    gasLimit: 0n,
    messageGas: messages.map(() => 0n),
    gasPriceWei: 0n,
    dataCostWei: 0n,
    facts,
  };
}
