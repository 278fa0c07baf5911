/**
 * EVM chain with an ISMP host, behind the interface of port.ts. Each part is in a file of its own; shared state is in
 * evm_context.ts. Start reading at {@link createEvmChain}.
 */
import type { EvmValues } from "../../config/chains.ts";
import { RemoteSigner } from "../../config/redact.ts";
import { fromHex, type Hash256, parseDecimal } from "../../encoding/bytes.ts";
import { toAddress } from "../../evm/address.ts";
import { hostEventTopics } from "../../evm/host_abi.ts";
import { evmChainId } from "../../ismp/state_machine.ts";
import { mapInSlices } from "../../runtime/slices.ts";
import type { Log } from "../../telemetry/log.ts";
import type { ChainCapabilities } from "../capabilities.ts";
import type { ChainGas } from "../fees.ts";
import type { HubLightClient } from "../hub_client.ts";
import type { Chain } from "../port.ts";
import { type ProofChecks } from "../proofs.ts";
import type { ChainEvent, ChainEvents, EventPosition } from "../reads.ts";
import type { Replacement } from "../replacement.ts";
import { keyAccount, readOnlyAccount, signMessage } from "./account.ts";
import { EvmCertainReads } from "./certain_reads.ts";
import { checkChain, planEvmChecks } from "./chain_checks.ts";
import { EvmContext, EvmPart } from "./evm_context.ts";
import { createEvmEndpointSet, type EvmEndpointSetDeps } from "./evm_endpoint_set.ts";
import { EvmFees, EvmGas } from "./fees.ts";
import { defaultMaximumPrice } from "./gas.ts";
import { EvmHubClient } from "./hub_client.ts";
import { LogReader, LOGS_AT_ONCE, RequestGaps } from "./log_reader.ts";
import { EvmGates } from "./module_gates.ts";
import { EvmOutcomes } from "./outcomes.ts";
import {
  createProofChecks,
  createTrieProbe,
  EvmProofs,
  type ProofProbe,
  type SlotProver,
  TrieProver,
} from "./proofs.ts";
import { transactionReceipt } from "./queries.ts";
import { EvmReads } from "./reads.ts";
import { RemoteAccount } from "./remote_account.ts";
import { EvmReplacement } from "./replacement.ts";
import { callOne } from "./rpc_batch.ts";
import type { Log as HostLog } from "./rpc_schemas.ts";
import { EvmSender } from "./sender.ts";
import { EvmSimulator } from "./simulation.ts";

/** EVM chain: it has every part that a chain may have. */
export interface EvmChain extends Chain {
  readonly gas: ChainGas;
  readonly replacement: Replacement;
  readonly proofChecks: ProofChecks;
  readonly hubClient: HubLightClient;
}

/** Part of a chain's configuration that the adapter needs. */
export type EvmChainOptions =
  & Partial<Pick<EvmValues, "maximumGasPriceGwei">>
  & Pick<
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
export interface EvmChainDeps extends EvmEndpointSetDeps {
  readonly log: Log;
}

/**
 * Maximum number of messages in one handler call (polytope-labs/hyperbridge: tesseract/messaging/evm, chunks of 100).
 */
const MAX_MESSAGES = 100;
/** Nodes refuse raw transactions above 128 KiB, which leaves room for the envelope; who takes less says so and is learned. */
const MAX_CALL_BYTES = 120_000;
/** Rules of EVM hosts (docs/protocol/evm-host.md sections 1 to 5). */
const CAPABILITIES: ChainCapabilities = {
  challengeRule: "reached",
  losesGasOnRace: true,
  acceptsGetResponses: true,
  hubProofs: "mmr",
  freezes: "host",
  hasNodeSizeLimit: true,
};
/** Concurrent traces of single messages unless the configuration sets a limit. */
const TRACES_AT_ONCE = 16;

/** How the state of a chain is proved, and what is checked of that. */
export interface EvmState {
  readonly prover: SlotProver;
  readonly probe: ProofProbe;
}

/**
 * Creates the configured chain. Nothing is requested before the first method call; the chain id of every endpoint is
 * checked along with its first request.
 */
export function createEvmChain(deps: EvmChainDeps, options: EvmChainOptions): EvmChain {
  const context = createEvmContext(deps, options);
  return assembleEvmChain(context, options, {
    prover: new TrieProver(context.at),
    probe: createTrieProbe({ ...context.at, chain: context.at.id.stateMachine }),
  });
}

/** Creates what the parts of a chain share. */
export function createEvmContext(deps: EvmChainDeps, options: EvmChainOptions): EvmContext {
  const id = { stateMachine: options.stateMachine, consensusStateId: options.consensusStateId };
  const number = evmChainId(options.stateMachine);
  const log = deps.log.with({ chain: options.stateMachine });
  const { signer, stateMachine: chain } = options;
  const account = signer === undefined
    ? readOnlyAccount
    : signer instanceof RemoteSigner
    ? new RemoteAccount({ ...deps, log }, { chain, signer })
    : keyAccount(signer);
  const endpoints = createEvmEndpointSet(deps, { stateMachine: options.stateMachine, urls: options.rpcUrls });
  return new EvmContext({
    endpoints,
    clock: deps.clock,
    log,
    id,
    chainId: number,
    host: toAddress(options.ismpHost),
    account,
    sender: account.address,
    clientType: options.clientType,
    gasPriceBufferPercent: options.gasPriceBufferPercent,
    maximumGasPriceWei: options.maximumGasPriceGwei === undefined
      ? defaultMaximumPrice(number)
      : parseDecimal(String(options.maximumGasPriceGwei), 9),
    blocksPerEventQuery: options.queryBatchSizeBlocks === undefined
      ? undefined
      : BigInt(options.queryBatchSizeBlocks),
  });
}

/** Chain of these parts. */
export function assembleEvmChain(
  context: EvmContext,
  { tracingBatchSize }: Pick<EvmChainOptions, "tracingBatchSize">,
  { prover, probe }: EvmState,
): EvmChain {
  const proofs = new EvmProofs(context, prover);
  return {
    id: context.at.id,
    limits: {
      maxMessagesPerStep: MAX_MESSAGES,
      maxCallBytes: MAX_CALL_BYTES,
      blocksPerEventQuery: context.at.blocksPerEventQuery,
    },
    capabilities: CAPABILITIES,
    relayer: context.signs ? fromHex(context.at.sender) : undefined,
    reads: new EvmReads(context),
    events: new EvmEvents(context),
    certain: new EvmCertainReads(context),
    proofs,
    simulator: new EvmSimulator(context, tracingBatchSize ?? TRACES_AT_ONCE),
    sender: new EvmSender(context),
    outcomes: new EvmOutcomes(context),
    fees: new EvmFees(context),
    gas: new EvmGas(context),
    replacement: new EvmReplacement(context),
    proofChecks: createProofChecks(proofs),
    runtime: undefined,
    hubClient: new EvmHubClient(context),
    gates: new EvmGates(context),
    planChecks: (checks) => planEvmChecks(context, probe, checks),
    check: (hub, signal) => checkChain(context, hub, signal),
    signMessage: (message, signal) => signMessage(context.at.account, message, signal),
    // HTTP connections belong to the runtime.
    close: () => Promise.resolve(),
  };
}

/** Events that the programs consume (docs/protocol/messaging.md section 6.3). */
const topics = [
  hostEventTopics.PostRequestEvent,
  hostEventTopics.GetRequestEvent,
  hostEventTopics.RequestFunded,
  hostEventTopics.PostRequestHandled,
  hostEventTopics.GetRequestHandled,
  hostEventTopics.PostRequestTimeoutHandled,
  hostEventTopics.GetRequestTimeoutHandled,
  hostEventTopics.StateMachineUpdated,
  hostEventTopics.StateCommitmentVetoed,
  hostEventTopics.NewEpoch,
];

/** Reads the events of one host and remembers the maximum range of its endpoints. */
export class EvmEvents extends EvmPart implements ChainEvents {
  readonly #logs: LogReader;
  readonly #gaps: RequestGaps;

  constructor(context: EvmContext) {
    super(context);
    const { endpoints, log, blocksPerEventQuery } = context.at;
    this.#logs = new LogReader({ endpoints, log, blocksPerQuery: blocksPerEventQuery });
    this.#gaps = new RequestGaps(context);
  }

  /**
   * One request, more only if a range limit or the answer's size requires it. If an endpoint's logs lack requests of
   * the host, the next endpoint is used.
   */
  async fetchEvents(from: bigint, to: bigint, signal: AbortSignal): Promise<readonly ChainEvent[]> {
    const filter = { address: this.context.at.host, topics };
    const found = await this.#logs.fetch(filter, { from, to }, signal, this.#gaps.guard);
    const events = await mapInSlices(found, LOGS_AT_ONCE, (entry) => this.#toEvent(entry));
    return events.filter((event) => event !== undefined);
  }

  async findTransaction(hash: Hash256, signal: AbortSignal): Promise<bigint | undefined> {
    return (await callOne(this.context.at.endpoints, transactionReceipt(hash), { signal }))?.blockNumber;
  }

  #toEvent(entry: HostLog): ChainEvent | undefined {
    const decoded = this.#gaps.decode(entry);
    const at: EventPosition = { height: entry.blockNumber, transaction: entry.transactionHash };
    if (decoded.kind === "undecodable") {
      this.context.at.log.warn("messages_skipped.undecodable", { ...at, error: decoded.error });
    }
    return decoded.kind === "event" ? { ...decoded.event, at } : undefined;
  }
}
