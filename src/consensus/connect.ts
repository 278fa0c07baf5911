/** Builds the hub's adapter and the prover of every configured chain, with the real network behind them. */
import { createEvmEndpointSet } from "../core/chains/evm/evm_endpoint_set.ts";
import { createHubTarget } from "../core/chains/substrate/consensus_target.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import type {
  ArbitrumChainConfig,
  BeaconChainConfig,
  BscChainConfig,
  ConsensusChainConfig,
  OpStackChainConfig,
} from "./config/chain_schema.ts";
import type { ConsensusConfig } from "./config/schema.ts";
import { beaconNetworkOf } from "./clients/sync_committee/spec/known_networks.ts";
import { evmChainId, type StateMachine, type StateMachineId } from "../core/ismp/state_machine.ts";
import { type Fetch, platformFetch } from "../core/rpc/http.ts";
import { platformSocket } from "../core/rpc/socket.ts";
import type { Clock } from "../core/runtime/clock.ts";
import type { PersistedText } from "./persisted_text.ts";
import type { Randomness } from "../core/runtime/randomness.ts";
import type { Log } from "../core/telemetry/log.ts";
import { createArbitrumProver } from "./clients/arbitrum/arbitrum_prover.ts";
import { bscHeadersOf } from "./clients/bsc/bsc_headers.ts";
import { createBscProver } from "./clients/bsc/bsc_prover.ts";
import { connectHubConsensus, connectHubState, connectSiblings, fetchBase } from "./connect_hub_consensus.ts";
import type { ProvedChain } from "./chain_worker.ts";
import { openEvmReader } from "./evm_reader.ts";
import { createOpStackProver } from "./clients/op_stack/op_stack_prover.ts";
import type { ConsensusProver } from "./prover.ts";
import type { RollupDeps, RollupOptions } from "./rollup/rollup_options.ts";
import type { Connections } from "./session.ts";
import { createSyncCommitteeProver } from "./clients/sync_committee/sync_committee_prover.ts";

/** Dependencies of the adapters besides the network. */
export interface ConnectDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Persistent storage of a beacon chain's historical summaries (`--cache`); absent: none. */
  readonly summariesTexts?: ReadonlyMap<StateMachine, PersistedText> | undefined;
}

interface ProverContext {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  readonly fetch: Fetch;
  readonly hub: ConsensusTarget;
  readonly summariesTexts: ReadonlyMap<StateMachine, PersistedText>;
}

/** Connects the hub and the configured chains. Connections are opened at the first request. */
export function connectChains(deps: ConnectDeps, config: ConsensusConfig): Connections {
  const network = {
    clock: deps.clock,
    randomness: deps.random,
    log: deps.log,
    fetch: platformFetch,
    openSocket: platformSocket,
  };
  const { summariesTexts = new Map() } = deps;
  const { substrate } = config.hub;
  const hub = createHubTarget(network, {
    id: { stateMachine: substrate.stateMachine, consensusStateId: substrate.consensusStateId },
    hashing: substrate.hashing,
    rpcWs: substrate.rpcWs,
    maxRpcPayloadSizeBytes: substrate.maxRpcPayloadSizeBytes,
    maxConcurrentQueries: substrate.maxConcurrentQueries,
    signer: substrate.signer,
  });
  const proved = [
    ...config.chains.flatMap((chain) => prove({ ...network, hub, summariesTexts }, chain)),
    ...connectSiblings(network, config, hub),
  ];
  const names = proved.map(({ prover }) => prover.chain);
  const receiveOnly = config.chains.map(({ stateMachine }) => stateMachine).filter((name) =>
    !names.includes(name)
  );
  return {
    hub,
    proved,
    receiveOnly,
    hubConsensus: config.relayer.enableHubConsensus ? connectHubConsensus(network, config) : undefined,
    hubState: connectHubState(network, config, hub),
    fetchBase: (chain, signal) => fetchBase(network, config, chain, signal),
  };
}

function prove(context: ProverContext, config: ConsensusChainConfig): readonly ProvedChain[] {
  switch (config.type) {
    case "receive_only":
    case "substrate":
      return [];
    case "evm":
      return [{ prover: beaconProver(context, config), l1: undefined }];
    case "bsc":
      return [{ prover: bscProver(context, config), l1: undefined }];
    case "op_stack":
    case "arbitrum_orbit":
      return [{ prover: rollupProver(context, config), l1: l1Of(config) }];
  }
}

function beaconProver(context: ProverContext, config: BeaconChainConfig): ConsensusProver {
  const network = beaconNetworkOf(evmChainId(config.stateMachine));
  if (network === undefined) throw new Error(`${config.stateMachine} has no beacon chain`);
  const { stateMachine, rpcUrls, consensusStateId, host } = config;
  const execution = createEvmEndpointSet(context, { stateMachine, urls: rpcUrls });
  const summariesText = context.summariesTexts.get(stateMachine);
  return createSyncCommitteeProver({ ...context, execution, summariesText }, {
    network,
    consensusStateId,
    beaconUrls: host.beaconHttpUrls,
    intervalMs: host.consensusUpdateFrequencySec * 1_000,
  });
}

function bscProver(context: ProverContext, config: BscChainConfig): ConsensusProver {
  const { stateMachine, rpcUrls, consensusStateId, host } = config;
  const headers = bscHeadersOf(openEvmReader(context, { stateMachine, urls: rpcUrls }));
  return createBscProver({ hub: context.hub, headers }, {
    stateMachine,
    consensusStateId,
    epochLength: BigInt(host.epochLength),
    intervalMs: host.consensusUpdateFrequencySec * 1_000,
  });
}

function rollupProver(
  context: ProverContext,
  config: OpStackChainConfig | ArbitrumChainConfig,
): ConsensusProver {
  const { stateMachine, rpcUrls, host, consensusStateId, queryBatchSizeBlocks } = config;
  const deps: RollupDeps = {
    hub: context.hub,
    // Only events of the L1 are queried.
    l1: openEvmReader(context, {
      stateMachine: host.l1StateMachine,
      urls: host.l1RpcUrls,
      blocksPerLogQuery: queryBatchSizeBlocks === undefined ? undefined : BigInt(queryBatchSizeBlocks),
    }),
    l2: openEvmReader(context, { stateMachine, urls: rpcUrls }),
    log: context.log,
  };
  const options: RollupOptions = {
    stateMachine,
    consensusStateId,
    l1: l1Of(config),
    intervalMs: host.consensusUpdateFrequencySec * 1_000,
  };
  if (config.type === "arbitrum_orbit") {
    return createArbitrumProver(deps, { ...options, rollupCore: config.host.rollupCore });
  }
  const { disputeGameFactory, respectedGameType, messageParser, l2Oracle } = config.host;
  return createOpStackProver(deps, {
    ...options,
    disputeGameFactory,
    respectedGameType,
    messageParser,
    l2Oracle,
  });
}

function l1Of({ host }: OpStackChainConfig | ArbitrumChainConfig): StateMachineId {
  return { stateMachine: host.l1StateMachine, consensusStateId: host.l1ConsensusStateId };
}
