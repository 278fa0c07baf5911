/**
 * Substrate chain with pallet-ismp, behind the interface of port.ts. Each part is in a file of its own; shared state is
 * in node.ts. Start reading at {@link createSubstrateChain}; the hub's own parts are in relayer_hub.ts.
 */
import type { SubstrateValues } from "../../config/chains.ts";
import { fromHex } from "../../encoding/bytes.ts";
import type { StateMachineId } from "../../ismp/state_machine.ts";
import type { RpcObserver } from "../../rpc/observed_endpoint.ts";
import type { BudgetOf } from "../../rpc/request_budget.ts";
import { SocketEndpoint } from "../../rpc/socket.ts";
import type { OpenSocket } from "../../rpc/socket_link.ts";
import { SubstrateClient } from "../../rpc/substrate_client.ts";
import { translateSubstrateError } from "../../rpc/substrate_errors.ts";
import type { Clock, Randomness } from "../../runtime/clock.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Chain } from "../port.ts";
import type { ChainCapabilities } from "../capabilities.ts";
import { ChildTrie, FinalBlocks, PolledValues, Runtimes, type SubstrateNode } from "./node.ts";
import { checkNode, planSubstrateChecks } from "./chain_checks.ts";
import { findUnsupported } from "./dry_run.ts";
import { BLOCKS_PER_QUERY, SubstrateEvents } from "./events.ts";
import { keySigner, type MessageSigner, plainSigner } from "./extrinsics.ts";
import { SubstrateFees } from "./fees.ts";
import { checkMessageBodies } from "./offchain_rows.ts";
import { SubstrateOutcomes } from "./outcomes.ts";
import { SubstrateProofs } from "./proofs.ts";
import { SubstrateReads } from "./reads.ts";
import { SubstrateSender, SubstrateSimulator } from "./deliveries.ts";

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
  const endpoint = new SocketEndpoint(deps, {
    url: options.rpcWs.reveal(),
    chain,
    translate: translateSubstrateError,
    maxPayloadBytes: options.maxRpcPayloadSizeBytes,
  });
  const log = deps.log.with({ chain });
  const client = new SubstrateClient(deps, endpoint, chain, {
    maxConcurrent: options.maxConcurrentQueries,
  });
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
    finalBlocks: new FinalBlocks(client, deps.clock),
    polled: new PolledValues(client, deps.clock),
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
    certain: reads,
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
        hub,
        fetchNeededHeight: fetchKnownHeight,
        checkOffchain: (signal) => checkMessageBodies(node, signal),
      }),
    check: (hub, signal) => checkNode(node, hub, signal),
    // sr25519 over the 32 bytes.
    // deno-lint-ignore require-await -- a missing key is a rejection, not an exception
    signMessage: async ({ digest }) => signer.signDigest(digest),
    close: () => endpoint.close(),
  };
}
