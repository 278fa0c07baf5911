/**
 * Definitions of light clients: everything that the program asks about one of them. Each folder in `clients/` exports
 * one definition, and `registry.ts` lists them. Start reading at {@link ChainClient}.
 */
import type { ConsensusTarget } from "../core/chains/consensus_target.ts";
import type { HubLightClient } from "../core/chains/hub_client.ts";
import type { CheckJob, CheckRow } from "../core/checks/check_row.ts";
import type { EvmChainDeps } from "../core/chains/evm/evm_chain.ts";
import type { SubstrateChainDeps } from "../core/chains/substrate/substrate_chain.ts";
import type { SourceLocation } from "../core/config/diagnostics.ts";
import type { EndpointUrl } from "../core/config/redact.ts";
import type { Section } from "../core/config/schema.ts";
import type { BeefyClientState } from "../core/evm/beefy_client_state.ts";
import type { ConsensusClientId, StateMachine, StateMachineId } from "../core/ismp/state_machine.ts";
import type { Fetch } from "../core/rpc/http_exchange.ts";
import type { RpcObserver } from "../core/rpc/observed_endpoint.ts";
import type { OpenSocket } from "../core/rpc/socket_link.ts";
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { EvmChainSection, FollowerConfig, HubSubstrateConfig } from "./config/keys.ts";
import type { LightClient } from "./deliver_update.ts";
import type { PersistedText } from "./persisted_text.ts";
import type { ConsensusProver, InitialStateMaker, ProverOptions } from "./prover.ts";
import type { RelayChain } from "./relay_chain/relay_chain.ts";

/** Dependencies of the provers of chains. */
export interface ProverContext {
  readonly clock: Clock;
  readonly randomness: Randomness;
  readonly log: Log;
  readonly fetch: Fetch;
  readonly openSocket: OpenSocket;
  /** Notified of every request; absent: nobody observes. */
  readonly observer?: RpcObserver | undefined;
  readonly hub: ConsensusTarget;
}

/** Dependencies of the checks of endpoints. */
export type EndpointCheckContext = Pick<
  ProverContext,
  "clock" | "randomness" | "fetch" | "openSocket" | "hub"
>;

/** Section of a chain whose finality is proved, with its host section. */
export interface ChainClientSection<Host extends object = object> extends EvmChainSection {
  readonly host: Host;
}

/** Options of the prover of a chain. */
export function toProverOptions(
  { stateMachine, consensusStateId, host }: ChainClientSection<{ consensusUpdateFrequencySec: number }>,
): ProverOptions {
  return { stateMachine, consensusStateId, intervalMs: host.consensusUpdateFrequencySec * 1_000 };
}

/** Light client of an EVM chain on the hub, chosen by `type` of the chain's section. */
export interface ChainClient<Host extends object = object> {
  /** Description of the type for the key `type`; absent: its name says enough. */
  readonly typeText?: string;
  /** Other values of `type`: names of networks, with their chain ids. */
  readonly networks: Readonly<Record<string, number>>;
  /** Chain ids of public chains of this type, which `config init` knows by name; absent: none. */
  readonly knownChains?: readonly number[];
  /** True: the hub's client proves {@link knownChains} only. */
  readonly isClosed?: boolean;
  /** The section `[<chain>.host]`. */
  readonly host: Section<Host>;
  /** Keys of the host section that name nodes, which only the operator knows; absent: none. */
  readonly nodeKeys?: readonly string[];
  /** Reason that nothing is proved of a chain of this type, which then only receives; absent: all are proved. */
  findUnprovable?(chain: StateMachine): string | undefined;
  /** True when the host section switches the proofs of the chain off, which then only receives; absent: none can. */
  isSwitchedOff?(host: Host): boolean;
  /** L1 of a rollup. */
  findL1?(host: Partial<Host>): Partial<StateMachineId>;
  /** Creates the checks of the section's endpoints for the operator. */
  createChecks(context: EndpointCheckContext, chain: ChainClientSection<Host>): readonly CheckJob[];
  /** Creates the prover; its start-up check and initial state come with it. Sends no request. */
  createProver(context: ProverContext, chain: ChainClientSection<Host>): ConsensusProver;
}

/** Dependencies of a hub's provers. */
export interface HubContext {
  readonly network: SubstrateChainDeps & EvmChainDeps;
  /** Section `[hub.substrate]`. */
  readonly hub: HubSubstrateConfig;
}

/** Dependencies of the maker of a hub's initial state. */
export interface HubStateContext extends HubContext {
  /** The hub, which may have a client of itself. */
  readonly target: ConsensusTarget;
}

/** Watches light clients as they are read. */
export interface LightClientWatch {
  /** Returns the target with observed reads. */
  observe(target: ConsensusTarget): ConsensusTarget;
  /** Returns the hub's light client on an EVM host with observed reads. */
  observeHost(host: StateMachine, client: HubLightClient): HubLightClient;
}

/** Limit of losses on each EVM host. */
export interface LossOptions {
  /** Millionths of a dollar. */
  readonly limitMicroUsd: bigint;
  /** Text that keeps the transactions of a chain. */
  textOf(chain: StateMachine): PersistedText;
}

/** Chains that follow the hub. */
export interface FollowerContext extends HubContext {
  /** Absent: nobody watches. */
  readonly watch?: LightClientWatch | undefined;
  /** `maximum_daily_loss`; absent: there is no limit. */
  readonly losses?: LossOptions | undefined;
  readonly evmChains: readonly EvmChainSection[];
  readonly substrateChains: readonly FollowerConfig[];
  /** Client by which parachains follow the hub, whatever the type of the hub. */
  readonly parachains: ParachainClient;
}

/** A check before the first use, with the name of the chain or endpoint that it covers. */
export interface StartCheck {
  readonly name: string;
  /** Finds what makes it unusable with this configuration. @throws {RpcFault} */
  readonly check: (signal: AbortSignal) => Promise<readonly CheckRow[]>;
}

/** A chain that follows the hub, with its light client of it. */
export interface HubFollower extends Pick<StartCheck, "check"> {
  readonly client: LightClient;
  /** A Substrate chain, and what proves the hub to it; absent: it is an EVM host. */
  readonly proved?: { readonly target: ConsensusTarget; readonly prover: ConsensusProver };
  /** Lists the checks for the operator of one round; absent: none. */
  planChecks?(): readonly CheckJob[];
  close(): Promise<void>;
}

/** Chains that get proofs of the hub's own finality (`enable_hub_consensus`): docs/protocol/hub-consensus.md sections 2, 5.11. */
export interface HubConsensus {
  readonly followers: readonly HubFollower[];
  /** Connections that {@link followers} share. */
  readonly shared: readonly { close(): Promise<void> }[];
  /** Chains that cannot follow a hub of this type. */
  readonly skipped: readonly StateMachine[];
  /** Reason for {@link skipped}. */
  readonly skippedText: string;
  /** Additional start-up checks; absent: none. */
  readonly checks?: readonly StartCheck[];
}

/** State of the hub's client on an EVM host; `undefined`: the host has another one. */
export type BaseState = BeefyClientState | undefined;

/** Finality of the hub, chosen by `type` of `[hub]`. */
export interface HubClient<Values = unknown> {
  /** Description of the type for the key `type` of `[hub]`. */
  readonly typeText: string;
  /** Name of its section in `[hub]`. */
  readonly sectionName: string;
  readonly section: Section<NonNullable<Values>>;
  /** What applies without the section; absent: the section must be there. */
  readonly withoutSection?: { readonly values: Values };
  /** Adds the hub to the values. @param location of the section. */
  addHub(values: Values, hub: StateMachine, location: SourceLocation): Values;
  /** Connects the followers of the hub. Connections are opened at the first request. */
  connectFollowers(context: FollowerContext, values: Values): HubConsensus;
  /** Connects the maker of the state with which other chains create clients of the hub. */
  connectState(context: HubStateContext, values: Values): InitialStateMaker;
  /** Creates the check of the relay chain's node for the operator; absent: there is none. */
  createCheck?(context: HubContext, values: Values): CheckJob | undefined;
  /** Relay chain by which parachains can be proved to the hub; `undefined`: it is not configured. */
  findRelay(values: Values): RelayConfig | undefined;
  /** Fetches the hub's client on an EVM host (`--base`); absent: that option has no effect. */
  fetchBase?(context: HubContext, chain: EvmChainSection, signal: AbortSignal): Promise<BaseState>;
}

/** A relay chain of the configuration. */
export interface RelayConfig {
  readonly rpc: EndpointUrl;
  readonly intervalMs: number;
}

/** Dependencies of provers by the state of a relay chain. */
export interface RelayProverDeps {
  readonly relay: RelayChain;
  /** The chain to prove to. */
  readonly target: ConsensusTarget;
}

/** Light client of parachains on chains of the same relay chain. It has no section of its own. */
export interface ParachainClient {
  /** Client on the chain to prove to. */
  readonly clientId: ConsensusClientId;
  /** Creates the prover of a parachain. */
  createProver(
    deps: RelayProverDeps,
    options: ProverOptions & { readonly hub: StateMachine },
  ): ConsensusProver;
}
