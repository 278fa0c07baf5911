/** Finality of a hub by BEEFY, as the registry lists it: EVM hosts follow it. */
import { createPriceSource, listPriceQuotes } from "../../../core/pricing/price_source.ts";
import { createEvmChain, type EvmChain } from "../../../core/chains/evm/evm_chain.ts";
import { createHubChain } from "../../../core/chains/substrate/relayer_hub.ts";
import type { SubstrateChainDeps } from "../../../core/chains/substrate/substrate_chain.ts";
import { integer, listOf, UINT32_MAX, webSocketUrl } from "../../../core/config/values.ts";
import { optional, required, type SectionValues, withDefault } from "../../../core/config/schema.ts";
import { type StateMachine, toParaId } from "../../../core/ismp/state_machine.ts";
import type { RouterReader } from "../../../core/pricing/price_quote.ts";
import type { Log } from "../../../core/telemetry/log.ts";
import type {
  FollowerContext,
  HubClient,
  HubConsensus,
  HubContext,
  HubFollower,
  LossOptions,
  StartCheck,
} from "../../client.ts";
import { type EvmChainSection, type HubSubstrateConfig, paraId, withHubPara } from "../../config/keys.ts";
import { RelayChain } from "../../relay_chain/relay_chain.ts";
import { checkRelayNode } from "../../relay_chain/relay_checks.ts";
import { AcceptedSource, type HostProofSource } from "../../../core/hub_proofs/accepted_source.ts";
import { DailyLoss } from "./daily_loss.ts";
import { HostDelivery } from "./host_delivery.ts";
import { BEEFY_STATE_ID, stateOfHub, stateOfRelay } from "./hub_state.ts";
import { HubWork } from "../../../core/hub_proofs/hub_work.ts";
import { RelaySource } from "./relay_source.ts";
import { keepsOut } from "../../../core/checks/check_row.ts";

/** Defaults: polytope-labs/hyperbridge: tesseract/prover. */
const proverKeys = {
  relayRpcWs: required("relay_rpc_ws", webSocketUrl, {
    description: "A node of the relay chain, from which proofs are made.",
    example: "wss://relay.example.org",
  }),
  /** `undefined`: the one of `[hub.substrate]`. */
  paraRpcWs: optional("para_rpc_ws", webSocketUrl, {
    description:
      "A node of the hub that shows which heads hold messages. Without it, the one of [hub.substrate].",
    example: "wss://hub.example.org",
  }),
  paraIds: required(
    "para_ids",
    listOf(paraId, { expected: "an array of at least one parachain id", min: 1, identity: String }),
    {
      description: "Parachains whose heads are proved: the hub's own id (it is added where it is missing).",
      example: [3367],
    },
  ),
  maxRpcPayloadSizeBytes: withDefault(
    "max_rpc_payload_size",
    integer(1, UINT32_MAX, "bytes"),
    15 * 1024 * 1024,
    { description: "Maximum size of one RPC request or response." },
  ),
  queryBatchSize: withDefault("query_batch_size", integer(1, UINT32_MAX, "storage keys"), 200, {
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
  },
  withoutSection: { values: undefined },
  addHub: (values, hub, location) =>
    values && { ...values, paraIds: withHubPara(values.paraIds, hub, location.child("para_ids")) },
  connectFollowers: (context, values) => {
    const { sources, ...others } = connectSources(context, values);
    return {
      followers: context.evmChains.map((chain) => connectHost(context, chain, sources)),
      skipped: context.substrateChains.map(({ stateMachine }) => stateMachine),
      skippedText: "this program delivers BEEFY proofs to EVM hosts only",
      ...others,
    };
  },
  createCheck: ({ network, hub: { stateMachine: chain } }, values) =>
    values && checkRelayNode(network.clock, () => connectRelay(network, chain, values), {
      chain,
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
    ...{ stateMachine, consensusStateId, rpcUrls, ismpHost, signer, clientType },
    ...{ gasPriceBufferPercent, maximumGasPriceGwei },
    queryBatchSizeBlocks: undefined,
    tracingBatchSize: undefined,
  });
}

function connectHost(
  { network, hub, watch, losses }: FollowerContext,
  section: EvmChainSection,
  sources: readonly HostProofSource[],
): HubFollower {
  const own = openHost(network, section);
  const { hubClient } = own;
  const chain = { ...own, hubClient: watch?.observeHost(own.id.stateMachine, hubClient) ?? hubClient };
  const hubId = { stateMachine: hub.stateMachine, consensusStateId: hub.consensusStateId };
  const { clock } = network;
  const log = network.log.with({ chain: chain.id.stateMachine });
  const loss = losses && openDailyLoss({ network, hub, log, losses }, section, own.gas);
  const delivery = new HostDelivery({ clock, log, hub: hubId, sources, chain, loss });
  return {
    client: delivery,
    check: (signal) => delivery.findProblems(signal),
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

/** Proof sources in order of preference, with their connections and the checks of their nodes. */
interface Sources extends Pick<HubConsensus, "checks" | "shared"> {
  readonly sources: readonly HostProofSource[];
}

/**
 * Connects the sources. Events of the hub from `[hub.prover].para_rpc_ws` decide which heads are worth a proof. Upstream's
 * prover connects to that node as well, and asks `[substrate].rpc_ws` alone for events (polytope-labs/hyperbridge:
 * tesseract/consensus/beefy/src/prover.rs).
 */
function connectSources({ network, hub }: HubContext, values: ProverValues | undefined): Sources {
  const hubChain = connectHubNode(network, hub, hub);
  const work = new HubWork(hubChain);
  const accepted = new AcceptedSource({ ...network, hub: hubChain, work, endpoint: hub.rpcWs.host });
  if (values === undefined) return { sources: [accepted], shared: [accepted] };
  const { paraRpcWs, maxRpcPayloadSizeBytes } = values;
  if (paraRpcWs === undefined || paraRpcWs.reveal() === hub.rpcWs.reveal()) {
    const sources = [accepted, connectRelaySource(network, hub, { values, work })];
    return { sources, shared: sources };
  }
  const proverHub = connectHubNode(network, hub, { rpcWs: paraRpcWs, maxRpcPayloadSizeBytes });
  const sources = [accepted, connectRelaySource(network, hub, { values, work: new HubWork(proverHub) })];
  const name = "[hub.prover].para_rpc_ws";
  const check: StartCheck["check"] = async (signal) => {
    const rows = (await proverHub.check(proverHub.id, signal)).filter(keepsOut);
    const found = (text: string): string => `${name} (${paraRpcWs.host}): ${text}`;
    return rows.map((row) => ({ ...row, found: found(row.found), advice: `correct ${name}` }));
  };
  return { sources, shared: [...sources, proverHub], checks: [{ name, check }] };
}

/** Connects a node of the hub. */
function connectHubNode(
  network: SubstrateChainDeps,
  { stateMachine, consensusStateId, hashing, maxConcurrentQueries, signer }: HubSubstrateConfig,
  { rpcWs, maxRpcPayloadSizeBytes }: Pick<HubSubstrateConfig, "rpcWs" | "maxRpcPayloadSizeBytes">,
): ReturnType<typeof createHubChain> {
  const id = { stateMachine, consensusStateId };
  const options = { id, hashing, rpcWs, maxRpcPayloadSizeBytes, maxConcurrentQueries, signer };
  return createHubChain(network, options);
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
  network: HubContext["network"],
  { stateMachine: hub }: HubSubstrateConfig,
  { values, work }: { readonly values: ProverValues; readonly work: HubWork },
): HostProofSource {
  const { paraIds, queryBatchSize: batchSize } = values;
  const deps = { relay: connectRelay(network, hub, values), work, log: network.log };
  return new RelaySource(deps, { hub, hubParaId: toParaId(hub), paraIds, batchSize });
}
