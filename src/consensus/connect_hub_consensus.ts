/** Builds the parts that prove the hub to the configured chains, with the real network behind them. */
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import { createEvmChain } from "../core/chains/evm/evm_chain.ts";
import { createFollowerTarget } from "../core/chains/substrate/consensus_target.ts";
import { createHubChain } from "../core/chains/substrate/relayer_hub.ts";
import type { SubstrateChainDeps } from "../core/chains/substrate/substrate_chain.ts";
import type { EvmConsensusChainConfig, FollowerConfig } from "./config/chain_schema.ts";
import type {
  BeefyProverValues,
  ConsensusHubConfig,
  GrandpaValues,
  HubSubstrateConfig,
} from "./config/hub_schema.ts";
import type { ConsensusConfig } from "./config/schema.ts";
import { type StateMachine, stateMachineParts, toParaId } from "../core/ismp/state_machine.ts";
import { createAcceptedSource } from "./clients/beefy/accepted_source.ts";
import { BEEFY_STATE_ID, stateOfHub, stateOfRelay } from "./clients/beefy/hub_state.ts";
import { HubWork } from "./clients/beefy/hub_work.ts";
import type { ProofSource } from "./clients/beefy/proof_source.ts";
import { ProverHub } from "./clients/beefy/prover_hub.ts";
import { createRelaySource } from "./clients/beefy/relay_source.ts";
import type { ProvedChain } from "./chain_worker.ts";
import { createGrandpaProver, type GrandpaProverOptions } from "./clients/grandpa/grandpa_prover.ts";
import type { HubConsensus, HubFollower, NamedCheck } from "./hub_consensus.ts";
import { createParachainProver } from "./clients/parachain/parachain_prover.ts";
import type { BaseState, HubStateMaker } from "./session.ts";
import { RelayChain } from "./relay_chain/relay_chain.ts";
import { createFollowerProver } from "./followers/follower_prover.ts";

/** Connects the followers of the hub, by the type of its consensus. Connections are opened at the first request. */
export function connectHubConsensus(network: SubstrateChainDeps, config: ConsensusConfig): HubConsensus {
  const { hub, chains } = config;
  const evm = chains.flatMap((chain) => chain.type === "substrate" ? [] : [chain]);
  const substrates = chains.flatMap((chain) => chain.type === "substrate" ? [chain] : []);
  const { consensus } = hub;
  if (consensus.type === "grandpa") {
    return {
      hosts: [],
      sources: [],
      followers: substrates.map((chain) => connectFollower(network, hub, consensus.grandpa, chain)),
      skipped: evm.map(({ stateMachine }) => stateMachine),
    };
  }
  const hosts = evm.map((chain) => connectHost(network, chain));
  const skipped = substrates.map(({ stateMachine }) => stateMachine);
  const addressees = evm.map(({ stateMachine }) => stateMachine);
  return { hosts, followers: [], skipped, ...connectSources(network, hub, consensus.prover, addressees) };
}

/** Connects the host of an EVM chain. Its events are not read, and one transaction at a time is traced. */
function connectHost(
  network: SubstrateChainDeps,
  chain: EvmConsensusChainConfig,
): ReturnType<typeof createEvmChain> {
  const { stateMachine, consensusStateId, rpcUrls, ismpHost, signer, gasPriceBufferPercent, clientType } =
    chain;
  return createEvmChain(network, {
    stateMachine,
    consensusStateId,
    rpcUrls,
    ismpHost,
    signer,
    gasPriceBufferPercent,
    clientType,
    queryBatchSizeBlocks: undefined,
    tracingBatchSize: undefined,
  });
}

/** Connects the proof sources for hosts. */
function connectSources(
  network: SubstrateChainDeps,
  hub: ConsensusHubConfig,
  prover: BeefyProverValues | undefined,
  addressees: readonly StateMachine[],
): Pick<HubConsensus, "sources" | "checks"> {
  const { substrate } = hub;
  const hubChain = connectHubNode(network, substrate, substrate);
  const work = new HubWork(hubChain, addressees);
  const accepted = createAcceptedSource({ hub: hubChain, work, endpoint: substrate.rpcWs.host });
  if (prover === undefined) return { sources: [accepted] };
  const proverHub = connectProverHub(network, substrate, prover);
  if (proverHub === undefined) {
    return { sources: [accepted, connectRelaySource(network, work, hub, prover)] };
  }
  const made = connectRelaySource(network, new HubWork(proverHub, addressees), hub, prover);
  const whole: ProofSource = {
    next: (target, signal) => made.next(target, signal),
    close: async () => void await Promise.all([made.close(), proverHub.close()]),
  };
  const check: NamedCheck = {
    name: "[hub.prover].para_rpc_ws",
    check: (signal) => proverHub.check(signal),
  };
  return { sources: [accepted, whole], checks: [check] };
}

/** Connects a node of the hub. */
function connectHubNode(
  network: SubstrateChainDeps,
  { stateMachine, consensusStateId, hashing, maxConcurrentQueries, signer }: HubSubstrateConfig,
  node: Pick<HubSubstrateConfig, "rpcWs" | "maxRpcPayloadSizeBytes">,
): ReturnType<typeof createHubChain> {
  return createHubChain(network, {
    id: { stateMachine, consensusStateId },
    hashing,
    rpcWs: node.rpcWs,
    maxRpcPayloadSizeBytes: node.maxRpcPayloadSizeBytes,
    maxConcurrentQueries,
    signer,
  });
}

/** Connects the hub behind `para_rpc_ws`; `undefined` where that is the node behind `[hub.substrate].rpc_ws`. */
function connectProverHub(
  network: SubstrateChainDeps,
  substrate: HubSubstrateConfig,
  { paraRpcWs, maxRpcPayloadSizeBytes }: BeefyProverValues,
): ProverHub | undefined {
  if (paraRpcWs === undefined || paraRpcWs.reveal() === substrate.rpcWs.reveal()) return undefined;
  const hub = substrate.stateMachine;
  return new ProverHub({
    hub,
    events: connectHubNode(network, substrate, { rpcWs: paraRpcWs, maxRpcPayloadSizeBytes }),
    own: new RelayChain(network, hub, { rpcWs: paraRpcWs, maxPayloadBytes: maxRpcPayloadSizeBytes }),
    main: new RelayChain(network, hub, {
      rpcWs: substrate.rpcWs,
      maxPayloadBytes: substrate.maxRpcPayloadSizeBytes,
    }),
  });
}

/**
 * Connects a Substrate chain that follows the hub by votes of the finalizing chain, or by parachain heads in its state.
 */
function connectFollower(
  network: SubstrateChainDeps,
  hub: ConsensusHubConfig,
  grandpa: GrandpaValues,
  chain: FollowerConfig,
): HubFollower {
  const { stateMachine, consensusStateId, hashing, rpcWs, maxRpcPayloadSizeBytes, maxConcurrentQueries } =
    chain;
  const target = createFollowerTarget(network, {
    id: { stateMachine, consensusStateId },
    hashing,
    rpcWs,
    maxRpcPayloadSizeBytes,
    maxConcurrentQueries,
    // Updates are signed for rewards, which only the hub pays: any key will do.
    signer: chain.signer ?? hub.substrate.signer,
  });
  const relay = connectFinality(network, hub.substrate.stateMachine, grandpa);
  return { target, prover: createFollowerProver({ relay, target }, grandpaOptions(hub.substrate, grandpa)) };
}

/** Connects the chain that finalizes the hub. */
function connectFinality(network: SubstrateChainDeps, hub: StateMachine, { rpc }: GrandpaValues): RelayChain {
  return new RelayChain(network, `finality of ${hub}`, { rpcWs: rpc });
}

function grandpaOptions(
  { stateMachine, consensusStateId }: HubSubstrateConfig,
  { paraIds, maxBlockRange, slotDurationMs, consensusUpdateFrequencySec }: GrandpaValues,
): GrandpaProverOptions {
  return {
    stateMachine,
    consensusStateId,
    paraIds,
    maxBlockRange,
    slotDurationMs,
    intervalMs: consensusUpdateFrequencySec * 1_000,
  };
}

/** Connects parachains on the hub's relay chain, which can be proved to it where that relay chain is configured. */
export function connectSiblings(
  network: SubstrateChainDeps,
  { hub: { consensus, substrate }, chains }: ConsensusConfig,
  target: ConsensusTarget,
): readonly ProvedChain[] {
  // Without parachains the hub is a chain that finalizes itself.
  if (consensus.type !== "grandpa" || consensus.grandpa.paraIds.length === 0) return [];
  const { grandpa } = consensus;
  const hub = substrate.stateMachine;
  const { tag } = stateMachineParts(hub);
  return chains.filter(({ stateMachine }) => stateMachineParts(stateMachine).tag === tag)
    .map(({ stateMachine, consensusStateId }) => {
      const relay = connectFinality(network, hub, grandpa);
      const intervalMs = grandpa.consensusUpdateFrequencySec * 1_000;
      const prover = createParachainProver({ relay, target }, {
        stateMachine,
        consensusStateId,
        intervalMs,
        hub,
      });
      return { prover, l1: undefined };
    });
}

function connectRelay(
  network: SubstrateChainDeps,
  hub: StateMachine,
  { relayRpcWs, maxRpcPayloadSizeBytes }: BeefyProverValues,
): RelayChain {
  const options = { rpcWs: relayRpcWs, maxPayloadBytes: maxRpcPayloadSizeBytes };
  return new RelayChain(network, `relay chain of ${hub}`, options);
}

/** Connects the source of proofs from the relay chain, used where the hub has accepted no suitable ones. */
function connectRelaySource(
  network: SubstrateChainDeps,
  work: HubWork,
  { substrate }: ConsensusHubConfig,
  prover: BeefyProverValues,
): ProofSource {
  const relay = connectRelay(network, substrate.stateMachine, prover);
  const hubParaId = toParaId(substrate.stateMachine);
  return createRelaySource({ relay, work, log: network.log }, {
    hub: substrate.stateMachine,
    hubParaId,
    paraIds: prover.paraIds,
    batchSize: prover.queryBatchSize,
  });
}

/** Connects the maker of the hub's initial state, in the form of its type: GRANDPA in SCALE, BEEFY in ABI. */
export function connectHubState(
  network: SubstrateChainDeps,
  { hub }: ConsensusConfig,
  adapter: ConsensusTarget,
): HubStateMaker {
  const { consensus, substrate } = hub;
  if (consensus.type === "grandpa") {
    const relay = connectFinality(network, substrate.stateMachine, consensus.grandpa);
    return createGrandpaProver({ relay, target: adapter }, grandpaOptions(substrate, consensus.grandpa));
  }
  const { prover } = consensus;
  const chain = substrate.stateMachine;
  const relay = prover === undefined ? undefined : connectRelay(network, chain, prover);
  return {
    chain,
    consensusStateId: BEEFY_STATE_ID,
    fetchInitialState: (signal) =>
      relay === undefined ? stateOfHub(adapter, signal) : stateOfRelay(relay, chain, signal),
    close: () => relay?.close() ?? Promise.resolve(),
  };
}

/** Fetches the state of the hub's client on the host of a configured chain. */
export async function fetchBase(
  network: SubstrateChainDeps,
  { chains, hub }: ConsensusConfig,
  chain: StateMachine,
  signal: AbortSignal,
): Promise<BaseState> {
  const config = chains.find(({ stateMachine }) => stateMachine === chain);
  if (config === undefined || config.type === "substrate") return undefined;
  const { stateMachine, consensusStateId } = hub.substrate;
  const host = connectHost(network, config);
  try {
    return (await host.fetchConsensusView({ stateMachine, consensusStateId }, signal)).state;
  } finally {
    await host.close();
  }
}
