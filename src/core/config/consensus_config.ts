/**
 * The checked configuration of the consensus relayer: what the rest of the program gets to see of the file.
 * Names carry units; `undefined` always means what the comment says. Source: docs/specification.md, "Consensus relayer
 * configuration". Start reading at {@link ConsensusConfig}.
 */
import type { Hex } from "../protocol/bytes.ts";
import type { ConsensusStateId, StateMachine, StateMachineId } from "../protocol/ismp/state_machine.ts";
import type { EvmValues, SubstrateValues } from "./chain_fields.ts";
import type { EndpointUrl, Secret } from "./redact.ts";

/** Everything that the file says, with defaults applied. */
export interface ConsensusConfig {
  readonly hub: ConsensusHubConfig;
  readonly relayer: ConsensusRelayerConfig;
  /** In the order of the file; each state machine once, none of them the hub. At least one. */
  readonly chains: readonly ConsensusChainConfig[];
}

/** Section `[hub]` (or `[hyperbridge]`). */
export interface ConsensusHubConfig {
  /** Name of the section in the file. */
  readonly section: string;
  readonly consensus: HubConsensusConfig;
  readonly substrate: HubSubstrateConfig;
}

/** How the hub is finalized, and where the proofs of that come from. */
export type HubConsensusConfig =
  | { readonly type: "grandpa"; readonly grandpa: GrandpaValues }
  | {
    readonly type: "beefy";
    /** `undefined`: proofs are taken from the hub only, none is made. */
    readonly prover: BeefyProverValues | undefined;
  };

/** The values of `[hub.grandpa]`. */
export interface GrandpaValues {
  /** Node of the relay chain, or of a standalone chain. */
  readonly rpc: EndpointUrl;
  /** Expected time of a block, milliseconds. */
  readonly slotDurationMs: number;
  readonly consensusUpdateFrequencySec: number;
  /** Parachains whose heads are proved; empty for a standalone chain. */
  readonly paraIds: readonly number[];
  /** Most blocks of the relay chain that one finality proof covers. */
  readonly maxBlockRange: number;
}

/** The values of `[hub.prover]`. */
export interface BeefyProverValues {
  readonly relayRpcWs: EndpointUrl;
  /** Node of the hub that tells what is worth a proof; `undefined`: the one of `[hub.substrate]`. */
  readonly paraRpcWs: EndpointUrl | undefined;
  /** At least one. */
  readonly paraIds: readonly number[];
  /** Most bytes of one RPC request or response. */
  readonly maxRpcPayloadSizeBytes: number;
  /** Most storage keys of one query. */
  readonly queryBatchSize: number;
}

/** The values of `[hub.substrate]`. */
export interface HubSubstrateValues {
  readonly rpcWs: EndpointUrl;
  /** Hash of the hub's headers and tries. */
  readonly hashing: "Keccak" | "Blake2";
  /** `POLKADOT-n` or `KUSAMA-n`. */
  readonly stateMachine: StateMachine;
  /** Most bytes of one RPC request or response. */
  readonly maxRpcPayloadSizeBytes: number;
  /** The account that signs our updates: 32 or 64 bytes, sr25519. */
  readonly signer: Secret<Hex>;
  readonly initialHeight: bigint | undefined;
  /** Most RPC requests at a time. */
  readonly maxConcurrentQueries: number;
  /** How often the hub is asked for news. */
  readonly pollIntervalSec: number;
  readonly feeTokenDecimals: number | undefined;
}

/** {@link HubSubstrateValues} with the default of the id. */
export interface HubSubstrateConfig extends HubSubstrateValues {
  /** Under which other chains know the hub. */
  readonly consensusStateId: ConsensusStateId;
}

/** The values of `[relayer]`, which may be missing. */
export interface ConsensusRelayerConfig {
  /** Each id once. */
  readonly maximumUpdateIntervals: readonly UpdateLimit[];
  /** True: proofs of the hub's finality are brought to the chains, too. */
  readonly enableHubConsensus: boolean;
}

/** Longest time between two updates of a chain before the program ends. */
export interface UpdateLimit {
  /** The chain, and the id under which its heights are stored. */
  readonly id: StateMachineId;
  readonly maxSec: bigint;
}

/** A chain whose finality is brought to the hub, or that is told of the hub's. */
export type ConsensusChainConfig = EvmConsensusChainConfig | ToldChainConfig;

/** A chain with an EVM host. */
export type EvmConsensusChainConfig =
  | BeaconChainConfig
  | HeldChainConfig
  | OpStackChainConfig
  | ArbitrumChainConfig
  | BscChainConfig;

/** `type = "substrate"`: it follows a hub of type "grandpa", and is proved to it only as a parachain beside it. */
export interface ToldChainConfig extends SubstrateValues {
  readonly type: "substrate";
  /** Name of the section in the file. */
  readonly section: string;
}

interface ChainSection extends EvmValues {
  /** Name of the section in the file. */
  readonly section: string;
}

/** `type = "evm"` of a chain that follows a beacon chain with a sync committee. */
export interface BeaconChainConfig extends ChainSection {
  readonly type: "evm";
  readonly host: BeaconHostValues;
}

/** `type = "evm"` of any other chain: nothing is proved of it, it only receives. */
export interface HeldChainConfig extends ChainSection {
  readonly type: "held";
}

/** `type = "op_stack"`. `consensusStateId` is that of its own client, never the L1's. */
export interface OpStackChainConfig extends ChainSection {
  readonly type: "op_stack";
  readonly host: OpStackHostValues;
}

/** `type = "arbitrum_orbit"`. `consensusStateId` is that of its own client, never the L1's. */
export interface ArbitrumChainConfig extends ChainSection {
  readonly type: "arbitrum_orbit";
  readonly host: ArbitrumHostValues;
}

/** `type = "bsc"`. */
export interface BscChainConfig extends ChainSection {
  readonly type: "bsc";
  readonly host: BscHostValues;
}

/** Host section of `evm`. */
export interface BeaconHostValues {
  /** Beacon REST APIs in the order of preference; at least one. */
  readonly beaconHttpUrls: readonly EndpointUrl[];
  readonly consensusUpdateFrequencySec: number;
}

/** What the host sections of both kinds of rollups say. */
export interface RollupHostValues {
  /** Execution RPC endpoints of the L1 (not a beacon API, whatever the key's name says); at least one. */
  readonly l1RpcUrls: readonly EndpointUrl[];
  /** `EVM-n`. */
  readonly l1StateMachine: StateMachine;
  /** Under which the hub stores the L1, and the heights of the rollup. */
  readonly l1ConsensusStateId: ConsensusStateId;
  readonly consensusUpdateFrequencySec: number;
}

/** Host section of `op_stack`. */
export interface OpStackHostValues extends RollupHostValues {
  /** On the L1, lower case. */
  readonly disputeGameFactory: Hex;
  /** The type of games to try first; every type that the hub lists counts. */
  readonly respectedGameType: number | undefined;
  /** `L2ToL1MessagePasser` on the rollup itself, lower case. */
  readonly messageParser: Hex;
  /** `L2OutputOracle` on the L1, lower case: for chains that have no dispute games yet. */
  readonly l2Oracle: Hex | undefined;
}

/** Host section of `arbitrum_orbit`. */
export interface ArbitrumHostValues extends RollupHostValues {
  /** On the L1, lower case. */
  readonly rollupCore: Hex;
}

/** Host section of `bsc`. */
export interface BscHostValues {
  readonly consensusUpdateFrequencySec: number;
  /** Blocks of an epoch. */
  readonly epochLength: number;
}
