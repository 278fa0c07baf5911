/** Builds the hub's adapter, the provers and the followers of every configured chain, with the real network behind them. */
import { createTarget } from "../core/chains/substrate/consensus_target.ts";
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import { toTokenUnits } from "../core/encoding/bytes.ts";
import { type StateMachine, stateMachineParts } from "../core/ismp/state_machine.ts";
import { platformFetch } from "../core/rpc/http.ts";
import { createBudgets } from "../core/rpc/request_budget.ts";
import type { RpcObserver } from "../core/rpc/observed_endpoint.ts";
import { platformSocket } from "../core/rpc/socket.ts";
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { FollowerContext, HubContext, LightClientWatch } from "./client.ts";
import type { ConsensusChainConfig, ConsensusConfig } from "./config/schema.ts";
import { memoryText, type PersistedText } from "./persisted_text.ts";
import type { ConsensusProver } from "./prover.ts";
import { chainClients, hubClients, parachains, type ProvedChainConfig } from "./registry.ts";
import { connectFinality } from "./relay_chain/relay_chain.ts";
import type { Connections } from "./session.ts";

/** Dependencies of the adapters besides the network. */
export interface ConnectDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  /** Watches light clients; absent: nobody does. */
  readonly watch?: LightClientWatch | undefined;
  /** Texts that outlive a change of the configuration, and with `--cache` the program; absent: none do. */
  readonly textOf?: TextOf | undefined;
}

/** Finds a text by its name. */
export type TextOf = (name: string) => PersistedText;

/** Name of the text with the transactions of an EVM host. */
export function spentTextName(chain: StateMachine): string {
  return `${chain}.spent`;
}

/** Connects the hub and the configured chains. Connections are opened at the first request. */
export function connectChains(deps: ConnectDeps, config: ConsensusConfig): Connections {
  const { substrate } = config.hub;
  const network = {
    clock: deps.clock,
    randomness: deps.random,
    log: deps.log,
    fetch: platformFetch,
    openSocket: platformSocket,
    observer: deps.observer,
    budgetOf: createBudgets(deps.clock, [substrate, ...config.chains]),
  };
  const target = createTarget(network, {
    isHub: true,
    id: { stateMachine: substrate.stateMachine, consensusStateId: substrate.consensusStateId },
    hashing: substrate.hashing,
    rpcWs: substrate.rpcWs,
    maxRpcPayloadSizeBytes: substrate.maxRpcPayloadSizeBytes,
    maxConcurrentQueries: substrate.maxConcurrentQueries,
    signer: substrate.signer,
  });
  const hub = deps.watch?.observe(target) ?? target;
  const { textOf = memoryText } = deps;
  const proved = [
    ...config.chains.filter(isProved).map((chain) =>
      chainClients[chain.type].createProver({ ...network, hub }, chain)
    ),
    ...connectSiblings(network, config, hub),
  ];
  const names = proved.map(({ chain }) => chain);
  const receiveOnly = config.chains.map(({ stateMachine }) => stateMachine).filter((name) =>
    !names.includes(name)
  );
  const checks = config.chains.filter(isProved).flatMap((chain) =>
    chainClients[chain.type].createChecks({ ...network, hub }, chain)
  );
  const { type, values } = config.hub.consensus;
  const ofHub = hubClients[type].createCheck?.({ network, hub: substrate }, values) ?? [];
  const { maximumDailyLoss } = config.relayer;
  const losses = maximumDailyLoss === undefined ? undefined : {
    limitMicroUsd: toTokenUnits(maximumDailyLoss, 6),
    textOf: (chain: StateMachine) => textOf(spentTextName(chain)),
  };
  const ofHubClient = connectHubClient({ ...network, watch: deps.watch, losses }, config, hub);
  return { hub, proved, receiveOnly, endpointChecks: checks.concat(ofHub), ...ofHubClient };
}

/** Connects what proves the hub: to its followers, and for governance that creates a client of it. */
function connectHubClient(
  { watch, losses, ...network }: HubContext["network"] & Pick<FollowerContext, "watch" | "losses">,
  { hub, chains, relayer }: ConsensusConfig,
  target: ConsensusTarget,
): Pick<Connections, "hubConsensus" | "hubState" | "fetchBase"> {
  const evmChains = chains.flatMap((chain) => chain.type === "substrate" ? [] : [chain]);
  const substrateChains = chains.flatMap((chain) => chain.type === "substrate" ? [chain] : []);
  const context = {
    network,
    hub: hub.substrate,
    target,
    watch,
    losses,
    evmChains,
    substrateChains,
    parachains,
  };
  const targets = {
    ...context,
    evmChains: evmChains.filter(({ inboundOnly }) => !inboundOnly),
    substrateChains: substrateChains.filter(({ inboundOnly }) => !inboundOnly),
  };
  const { type, values } = hub.consensus;
  const client = hubClients[type];
  return {
    hubConsensus: relayer.enableHubConsensus ? client.connectFollowers(targets, values) : undefined,
    hubState: client.connectState(context, values),
    fetchBase: client.fetchBase && ((name, signal) => {
      const chain = evmChains.find(({ stateMachine }) => stateMachine === name);
      return (chain && client.fetchBase?.(context, chain, signal)) ?? Promise.resolve(undefined);
    }),
  };
}

/** True for chains whose own finality is proved to the hub. */
export function isProved(chain: ConsensusChainConfig): chain is ProvedChainConfig {
  return chain.type !== "substrate" && chain.type !== "receive_only" &&
    !(chainClients[chain.type].isSwitchedOff?.(chain.host) ?? false);
}

/** Connects parachains on the hub's relay chain, which can be proved to it where that relay chain is configured. */
function connectSiblings(
  network: HubContext["network"],
  { hub, chains }: ConsensusConfig,
  target: ConsensusTarget,
): readonly ConsensusProver[] {
  const configured = hubClients[hub.consensus.type].findRelay(hub.consensus.values);
  if (configured === undefined) return [];
  const { rpc, intervalMs } = configured;
  const { stateMachine: hubName } = hub.substrate;
  const { tag } = stateMachineParts(hubName);
  return chains.filter(({ stateMachine }) => stateMachineParts(stateMachine).tag === tag)
    .map(({ stateMachine, consensusStateId }) => {
      const relay = connectFinality(network, hubName, rpc);
      const options = { stateMachine, consensusStateId, intervalMs, hub: hubName };
      return parachains.createProver({ relay, target }, options);
    });
}
