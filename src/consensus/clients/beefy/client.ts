/** Finality of a hub by BEEFY, as the registry lists it: EVM hosts follow it. */
import { listPriceQuotes } from "../../../core/pricing/price_quotes.ts";
import { createPriceSource } from "../../../core/pricing/price_source.ts";
import { createEvmChain, type EvmChain } from "../../../core/chains/evm/evm_chain.ts";
import { createHubChain } from "../../../core/chains/substrate/relayer_hub.ts";
import type { SubstrateChainDeps } from "../../../core/chains/substrate/substrate_chain.ts";
import { integer, listOf, UINT32_MAX, webSocketUrl } from "../../../core/config/values.ts";
import { optional, required, type SectionValues, withDefault } from "../../../core/config/schema.ts";
import { type StateMachine, toParaId } from "../../../core/ismp/state_machine.ts";
import type { RouterReader } from "../../../core/pricing/price_quote.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type { FollowerContext, HubClient, HubContext, LossOptions } from "../../client.ts";
import { type EvmChainSection, type HubSubstrateConfig, paraId, withHubPara } from "../../config/keys.ts";
import type { HubConsensus, HubHost, StartCheck } from "../../followers/hub_consensus.ts";
import { RelayChain } from "../../relay_chain/relay_chain.ts";
import { checkRelayNode } from "../../relay_chain/relay_checks.ts";
import { createAcceptedSource, type HostProofSource } from "../../../core/hub_proofs/accepted_source.ts";
import { DailyLoss } from "./daily_loss.ts";
import { HostDelivery } from "./host_delivery.ts";
import { hostWorker, proveHost } from "./host_worker.ts";
import { BEEFY_STATE_ID, stateOfHub, stateOfRelay } from "./hub_state.ts";
import { HubWork, type WorkHub } from "../../../core/hub_proofs/hub_work.ts";
import { RelaySource } from "./relay_source.ts";
import { rememberVotes } from "./proof_finder.ts";
import type { RecoverAuthority } from "./spec/verify_proof.ts";
import { type CheckRow, findingRow } from "../../../core/checks/check_row.ts";
import type { Chain } from "../../../core/chains/port.ts";
import type { ChainEvents } from "../../../core/chains/reads.ts";
import type { Hash256 } from "../../../core/encoding/bytes.ts";
import { RpcFault } from "../../../core/rpc/call.ts";

/** Defaults: polytope-labs/hyperbridge: tesseract/prover. */
const proverKeys = {
  relayRpcWs: required(webSocketUrl, {
    name: "relay_rpc_ws",
    description: "A node of the relay chain, from which proofs are made.",
    example: "wss://relay.example.org",
  }),
  /** `undefined`: the one of `[hub.substrate]`. */
  paraRpcWs: optional(webSocketUrl, {
    name: "para_rpc_ws",
    description:
      "A node of the hub that shows which heads hold messages. Without it, the one of [hub.substrate].",
    example: "wss://hub.example.org",
  }),
  paraIds: required(
    listOf(paraId, { expected: "an array of at least one parachain id", min: 1, identity: String }),
    {
      name: "para_ids",
      description: "Parachains whose heads are proved: the hub's own id (it is added where it is missing).",
      example: [3367],
    },
  ),
  maxRpcPayloadSizeBytes: withDefault(integer(1, UINT32_MAX, "bytes"), 15 * 1024 * 1024, {
    name: "max_rpc_payload_size",
    description: "Maximum size of one RPC request or response.",
  }),
  queryBatchSize: withDefault(integer(1, UINT32_MAX, "storage keys"), 200, {
    name: "query_batch_size",
    description: "Maximum number of storage keys of one query.",
  }),
};

/** The values of `[hub.prover]`. */
type ProverValues = SectionValues<typeof proverKeys>;

/** `[hub] type = "beefy"`. Without `[hub.prover]`, proofs are taken from the hub only, and none are built. */
export const beefyClient: HubClient<ProverValues | undefined> = {
  typeText: "`beefy` for EVM chains. With `beefy` there is no [hub.grandpa]: the proofs that " +
    "the hub has accepted are delivered, which needs a node behind `rpc_ws` of [hub.substrate] with " +
    "`--rpc-methods=unsafe` and `--enable-offchain-indexing=true`; a section [hub.prover] makes proofs where the " +
    "hub has none that serve",
  sectionName: "prover",
  section: {
    description:
      "Only with a hub of type `beefy`: makes proofs from the relay chain where the hub has none that " +
      "serve. They cost about ten times as much gas.",
    keys: proverKeys,
    foreign: {
      proof_variant: "this relayer makes ECDSA proofs only",
      zk_beefy: "this relayer makes ECDSA proofs only",
    },
  },
  withoutSection: { values: undefined },
  addHub: (values, hub, location) =>
    values && { ...values, paraIds: withHubPara(values.paraIds, hub, location.child("para_ids")) },
  connectFollowers: (context, values) => {
    const recover = rememberVotes();
    const { sources, checks = [] } = connectSources({ ...context, recover }, values);
    return {
      hosts: context.evmChains.map((chain) => connectHost({ ...context, recover }, chain, sources)),
      shared: sources,
      followers: [],
      skipped: context.substrateChains.map(({ stateMachine }) => stateMachine),
      skippedText: "this program delivers BEEFY proofs to EVM hosts only",
      checks,
    };
  },
  createChecks: ({ network, hub: { stateMachine: chain } }, values) =>
    values && checkRelayNode(network.clock, () => connectRelay(network, chain, values), {
      chain,
      key: "[hub.prover].relay_rpc_ws",
      proves: "beefy",
    }),
  connectState: ({ network, hub, target }, values) => {
    const chain = hub.stateMachine;
    const relay = values && connectRelay(network, chain, values);
    return {
      chain,
      consensusStateId: BEEFY_STATE_ID,
      fetchInitialState: (signal) =>
        relay === undefined ? stateOfHub(target, signal) : stateOfRelay(relay, chain, signal),
      close: () => relay?.close() ?? Promise.resolve(),
    };
  },
  findRelay: () => undefined,
  fetchBase: async ({ network, hub: { stateMachine, consensusStateId } }, chain, signal) => {
    const host = openHost(network, chain);
    try {
      return (await host.hubClient.fetchConsensusView({ stateMachine, consensusStateId }, signal)).state;
    } finally {
      await host.close();
    }
  },
};

/** Opens the host of an EVM chain. Its events are not read, and one transaction at a time is traced. */
function openHost(network: HubContext["network"], chain: EvmChainSection): EvmChain {
  const { stateMachine, consensusStateId, rpcUrls, ismpHost, signer, clientType } = chain;
  const { gasPriceBufferPercent, maximumGasPriceGwei } = chain;
  return createEvmChain(network, {
    stateMachine,
    consensusStateId,
    rpcUrls,
    ismpHost,
    signer,
    clientType,
    gasPriceBufferPercent,
    maximumGasPriceGwei,
    queryBatchSizeBlocks: undefined,
    tracingBatchSize: undefined,
  });
}

/** Followers whose hosts and sources check the votes of a proof once. */
interface VoteContext extends FollowerContext {
  readonly recover: RecoverAuthority;
}

function connectHost(
  { network, hub, watch, recover, losses }: VoteContext,
  section: EvmChainSection,
  sources: readonly HostProofSource[],
): HubHost {
  const own = openHost(network, section);
  const { hubClient } = own;
  const chain = { ...own, hubClient: watch?.observeHost(own.id.stateMachine, hubClient) ?? hubClient };
  const hubId = { stateMachine: hub.stateMachine, consensusStateId: hub.consensusStateId };
  const { clock } = network;
  const log = network.log.with({ chain: chain.id.stateMachine });
  const loss = losses && openDailyLoss({ network, hub, log, losses }, section, own.gas);
  const delivery = new HostDelivery({ clock, log, hub: hubId, sources, recover, chain, loss });
  return {
    id: chain.id,
    check: (signal) => delivery.findMisfits(signal),
    createWorker: (deps) => hostWorker({ ...deps, delivery }),
    prove: (options, signal) => proveHost({ clock, delivery }, options, signal),
    planChecks: () => chain.planChecks({ hub: hubId, fetchKnownHeight: () => Promise.resolve(undefined) }),
    close: () => chain.close(),
  };
}

/** Opens the limit of losses on a host. */
function openDailyLoss(
  { network, hub, log, losses }: HubContext & { readonly log: Log; readonly losses: LossOptions },
  { stateMachine, etherscanApiKey }: EvmChainSection,
  router: RouterReader,
): DailyLoss {
  const config = { stateMachine, etherscanApiKey };
  const quotes = listPriceQuotes({ config, router, hub: hub.stateMachine, fetch: network.fetch });
  const { clock } = network;
  const deps = {
    clock,
    log,
    price: createPriceSource({ clock }, { quotes }),
    text: losses.textOf(stateMachine),
  };
  return new DailyLoss(deps, losses.limitMicroUsd);
}

/** Proof sources in order of preference, and the checks of their nodes. */
interface Sources extends Pick<HubConsensus, "checks"> {
  readonly sources: readonly HostProofSource[];
}

function connectSources(context: VoteContext, values: ProverValues | undefined): Sources {
  const { network, hub } = context;
  const hubChain = connectHubNode(network, hub, hub);
  const work = new HubWork(hubChain);
  const accepted = createAcceptedSource({ ...network, hub: hubChain, work, endpoint: hub.rpcWs.host });
  if (values === undefined) return { sources: [accepted] };
  const proverHub = connectProverHub(context, values);
  if (proverHub === undefined) return { sources: [accepted, connectRelaySource(context, values, work)] };
  const made = connectRelaySource(context, values, new HubWork(proverHub));
  const whole: HostProofSource = {
    next: (target, signal) => made.next(target, signal),
    close: async () => void await Promise.all([made.close(), proverHub.close()]),
  };
  const check: StartCheck = {
    name: "[hub.prover].para_rpc_ws",
    check: (signal) => proverHub.check(signal),
  };
  return { sources: [accepted, whole], checks: [check] };
}

/** Connects a node of the hub. */
function connectHubNode(
  network: SubstrateChainDeps,
  { stateMachine, consensusStateId, hashing, maxConcurrentQueries, signer }: HubSubstrateConfig,
  { rpcWs, maxRpcPayloadSizeBytes }: Pick<HubSubstrateConfig, "rpcWs" | "maxRpcPayloadSizeBytes">,
): ReturnType<typeof createHubChain> {
  const id = { stateMachine, consensusStateId };
  return createHubChain(network, {
    id,
    hashing,
    rpcWs,
    maxRpcPayloadSizeBytes,
    maxConcurrentQueries,
    signer,
  });
}

/** Connects the hub behind `para_rpc_ws`; `undefined` where that is the node behind `[hub.substrate].rpc_ws`. */
function connectProverHub(
  { network, hub: substrate }: HubContext,
  { paraRpcWs, maxRpcPayloadSizeBytes }: ProverValues,
): ProverHub | undefined {
  if (paraRpcWs === undefined || paraRpcWs.reveal() === substrate.rpcWs.reveal()) return undefined;
  const hub = substrate.stateMachine;
  return new ProverHub({
    hub,
    hubNode: connectHubNode(network, substrate, { rpcWs: paraRpcWs, maxRpcPayloadSizeBytes }),
    own: new RelayChain(network, hub, { rpcWs: paraRpcWs, maxPayloadBytes: maxRpcPayloadSizeBytes }),
    main: new RelayChain(network, hub, {
      rpcWs: substrate.rpcWs,
      maxPayloadBytes: substrate.maxRpcPayloadSizeBytes,
    }),
  });
}

function connectRelay(
  network: SubstrateChainDeps,
  hub: StateMachine,
  { relayRpcWs, maxRpcPayloadSizeBytes }: ProverValues,
): RelayChain {
  const options = { rpcWs: relayRpcWs, maxPayloadBytes: maxRpcPayloadSizeBytes };
  return new RelayChain(network, `relay chain of ${hub}`, options);
}

/** Connects the source of proofs from the relay chain, used where the hub has accepted no suitable ones. */
function connectRelaySource(
  { network, hub: { stateMachine }, recover }: VoteContext,
  values: ProverValues,
  work: HubWork,
): HostProofSource {
  const relay = connectRelay(network, stateMachine, values);
  return new RelaySource({ relay, work, log: network.log, recover }, {
    hub: stateMachine,
    hubParaId: toParaId(stateMachine),
    paraIds: values.paraIds,
    batchSize: values.queryBatchSize,
  });
}

/** Reads of a node's genesis block. */
export type GenesisReader = Pick<RelayChain, "host" | "fetchHash" | "close">;

/** Both nodes of the hub. */
export interface ProverHubDeps {
  readonly hub: StateMachine;
  readonly hubNode: WorkHub & Pick<Chain, "close">;
  /** The same node as {@link hubNode}. */
  readonly own: GenesisReader;
  /** The node behind `[hub.substrate].rpc_ws`, which the other checks cover. */
  readonly main: GenesisReader;
}

/**
 * Events of the hub from `[hub.prover].para_rpc_ws`, which is verified to belong to the hub: they decide which heads are
 * worth a proof. Upstream's prover connects to that node as well, and asks `[substrate].rpc_ws` alone for events
 * (polytope-labs/hyperbridge: tesseract/consensus/beefy/src/prover.rs).
 */
export class ProverHub implements WorkHub {
  /** Faults also with `wrong_chain`, when the node was unavailable for the start-up check. */
  readonly events: ChainEvents = {
    fetchEvents: async (from, to, signal) => {
      await this.#confirmHub(signal);
      return await this.#deps.hubNode.events.fetchEvents(from, to, signal);
    },
  };
  /** As {@link events}. */
  readonly reads: WorkHub["reads"] = {
    fetchFinalHeight: async (signal) => {
      await this.#confirmHub(signal);
      return await this.#deps.hubNode.reads.fetchFinalHeight(signal);
    },
  };
  readonly #deps: ProverHubDeps;
  #isHub = false;

  constructor(deps: ProverHubDeps) {
    this.#deps = deps;
  }

  /** Compares the genesis blocks of the nodes. */
  async check(signal: AbortSignal): Promise<readonly CheckRow[]> {
    const { own, main } = this.#deps;
    if (await this.#fetchIsHub(signal)) return [];
    const found = `[hub.prover].para_rpc_ws: ${own.host} is a node of another chain than ${main.host} of ` +
      "[hub.substrate].rpc_ws (their first blocks differ); set it to a node of the hub, or leave it out";
    return [findingRow(this.#deps.hub, "endpoint_wrong_chain", { result: "failed", found })];
  }

  /** Ends the connections. */
  async close(): Promise<void> {
    const { hubNode, own, main } = this.#deps;
    await Promise.all([hubNode.close(), own.close(), main.close()]);
  }

  async #confirmHub(signal: AbortSignal): Promise<void> {
    const { hub, own } = this.#deps;
    if (await this.#fetchIsHub(signal)) return;
    const where = { chain: hub, endpointHost: own.host, method: "chain_getBlockHash" };
    const detail = "[hub.prover].para_rpc_ws is a node of another chain";
    throw new RpcFault("wrong_chain", where, { detail });
  }

  async #fetchIsHub(signal: AbortSignal): Promise<boolean> {
    if (this.#isHub) return true;
    const genesis = (node: GenesisReader): Promise<Hash256> => node.fetchHash(0, signal);
    const [first, other] = await Promise.all([genesis(this.#deps.own), genesis(this.#deps.main)]);
    this.#isHub = first === other;
    return this.#isHub;
  }
}
