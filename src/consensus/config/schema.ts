/**
 * The file of the consensus relayer: its sections, and what the program gets to see of them. Names of values carry
 * units. Source: docs/specification.md, "Consensus relayer configuration"; docs/protocol/hub-consensus.md section 3.2
 * and docs/protocol/evm-consensus.md section 2. Start reading at {@link ConsensusConfig}.
 */
import { z } from "zod";
import {
  DEFAULT_MAX_CONCURRENT_QUERIES,
  evmKeys,
  hubStateMachine,
  nodeKeys,
  scanKeys,
  substrateKeys,
} from "../../core/config/chains.ts";
import {
  anyStateMachine,
  consensusStateId,
  contractAddress,
  httpUrls,
  stateMachine,
  webSocketUrl,
} from "../../core/config/chain_values.ts";
import {
  type Key,
  optional,
  refusal,
  required,
  type Values,
  withDefault,
  withRemarks,
} from "../../core/config/schema.ts";
import { substrateSigner } from "../../core/config/secrets.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import {
  boolean,
  cappedSeconds,
  integer,
  listOf,
  oneOf,
  UINT32_MAX,
  wideSeconds,
} from "../../core/config/values.ts";
import {
  type ConsensusStateId,
  type StateMachineId,
  stateMachineIdKey,
} from "../../core/protocol/ismp/state_machine.ts";

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

const paraId = integer(0, UINT32_MAX);

const hubKeys = {
  type: required(oneOf(["grandpa", "beefy"]), {
    name: "type",
    description:
      "How chains learn the hub's finality: `grandpa` for Substrate chains (entries of type `substrate`; " +
      "EVM chains are left out then), `beefy` for EVM chains. With `beefy` there is no [hub.grandpa]: the proofs that " +
      "the hub has accepted are delivered, which needs a node behind `rpc_ws` of [hub.substrate] with " +
      "`--rpc-methods=unsafe` and `--enable-offchain-indexing=true`; a section [hub.prover] makes proofs where the " +
      "hub has none that serve.",
    example: "grandpa",
  }),
};

/** How often something is fetched for a consensus update. */
const updateFrequency = {
  name: "consensus_update_frequency",
  description: "How often a consensus update is looked for.",
};
/** polytope-labs/hyperbridge: tesseract/consensus/{grandpa,bsc,op-host,arb-host}, `consensus_update_frequency`. */
const frequencyKey = withDefault(cappedSeconds, 300, updateFrequency);

const grandpaKeys = {
  rpc: required(webSocketUrl, {
    name: "rpc",
    description: "A node of the relay chain, or of the standalone chain, whose finality is proved.",
    example: "wss://relay.example.org",
  }),
  slotDurationMs: required(integer(1, UINT32_MAX, "milliseconds"), {
    name: "slot_duration",
    description: "Expected time of a block of that chain.",
    example: 6_000,
  }),
  consensusUpdateFrequencySec: frequencyKey,
  paraIds: required(listOf(paraId, { expected: "an array of parachain ids", identity: String }), {
    name: "para_ids",
    description: "Parachains whose heads are proved: the hub's own id (it is added where it is missing).",
    example: [3367],
  }),
  /** polytope-labs/hyperbridge: tesseract/consensus/grandpa, `max_block_range`. */
  maxBlockRange: withDefault(integer(1, UINT32_MAX, "blocks"), 2_400, {
    name: "max_block_range",
    description: "Maximum number of blocks of the relay chain that one finality proof covers.",
  }),
};

/** The values of `[hub.grandpa]`. */
export type GrandpaValues = Values<typeof grandpaKeys>;

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
      "A node of the hub that tells which heads hold messages. Without it, the one of [hub.substrate].",
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
export type BeefyProverValues = Values<typeof proverKeys>;

/** 0, which old sample files have, would let no request through: it stands for the default. */
const concurrentQueries = withRemarks(
  z.preprocess(
    (given) => given === 0n ? BigInt(DEFAULT_MAX_CONCURRENT_QUERIES) : given,
    nodeKeys.maxConcurrentQueries.type,
  ).pipe(z.number()),
  (given) =>
    given === 0n
      ? [{ kind: "note", path: [], text: `0 stands for the default, ${DEFAULT_MAX_CONCURRENT_QUERIES}` }]
      : [],
);

const hubSubstrateKeys = (files: ConfigFiles) => ({
  rpcWs: required(webSocketUrl, {
    name: "rpc_ws",
    description: "A node of the hub.",
    example: "wss://hub.example.org",
  }),
  hashing: withDefault(oneOf(["Keccak", "Blake2"]), "Keccak", {
    name: "hashing",
    description: "Hash of the hub's headers and tries. Compared with the node at start-up.",
  }),
  stateMachine: hubStateMachine,
  maxRpcPayloadSizeBytes: nodeKeys.maxRpcPayloadSizeBytes,
  signer: required(substrateSigner(files), {
    name: "signer",
    description: "The account that gets the rewards for updates. Updates themselves cost nothing.",
    example: "/run/secrets/hub-consensus-seed",
  }),
  maxConcurrentQueries: withDefault(concurrentQueries, DEFAULT_MAX_CONCURRENT_QUERIES, {
    name: nodeKeys.maxConcurrentQueries.name,
    description: `${nodeKeys.maxConcurrentQueries.description} 0 stands for the default.`,
  }),
  pollIntervalSec: {
    ...scanKeys.pollIntervalSec,
    description:
      "How often the hub is asked for news of the chains that rollups wait for, and with type `beefy` how " +
      "often each EVM host is polled.",
  },
  consensusStateId: optional(consensusStateId, {
    name: "consensus_state_id",
    description: "Under which other chains know the hub. Without it, PAS0 for a `KUSAMA-n`, else DOT0.",
    example: "DOT0",
  }),
});

/** The values of `[hub.substrate]`. */
export interface HubSubstrateConfig extends Values<ReturnType<typeof hubSubstrateKeys>> {
  /** Under which other chains know the hub. */
  readonly consensusStateId: ConsensusStateId;
}

/** As {@link consensusStateId}; files of 2025 write it as an array of its four bytes. */
const byteConsensusStateId: z.ZodType<ConsensusStateId> = z.union(
  [consensusStateId, z.array(z.unknown()).transform(bytesToText).pipe(consensusStateId)],
  `a consensus state id of exactly 4 ASCII characters such as "ETH0", or an array of its 4 bytes`,
);

function bytesToText(bytes: readonly unknown[], context: z.core.$RefinementCtx<unknown>): unknown {
  const isText = bytes.every((byte) => typeof byte === "bigint" && byte >= 0x20n && byte <= 0x7en);
  if (isText && bytes.length === 4) return String.fromCharCode(...bytes.map(Number));
  const found = `an array of ${bytes.length} elements that are not such bytes`;
  context.issues.push(refusal(bytes, "an array of 4 bytes that are ASCII characters", { found }));
  return z.NEVER;
}

/** Longest time between two updates of a chain before the program ends. */
export interface UpdateLimit {
  /** The chain, and the id under which its heights are stored. */
  readonly id: StateMachineId;
  readonly maxSec: bigint;
}

const PAIR_EXPECTED =
  'a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]';

const limitedId: z.ZodType<StateMachineId> = z.union([
  z.object({ state_id: anyStateMachine, consensus_state_id: byteConsensusStateId }, PAIR_EXPECTED)
    .transform((id) => ({ stateMachine: id.state_id, consensusStateId: id.consensus_state_id })),
  z.tuple(
    [anyStateMachine, byteConsensusStateId],
    'a chain and its consensus state id such as ["EVM-1", "ETH0"]',
  ).transform(([stateMachine, consensusStateId]) => ({ stateMachine, consensusStateId })),
], PAIR_EXPECTED);

const updateLimit: z.ZodType<UpdateLimit> = z.tuple([limitedId, wideSeconds], PAIR_EXPECTED)
  .transform(([id, maxSec]) => ({ id, maxSec }));

const relayerKeys = {
  /** Each id once. */
  maximumUpdateIntervals: withDefault(
    listOf(updateLimit, {
      expected: "an array of pairs (empty: no chain is watched)",
      identity: ({ id }) => stateMachineIdKey(id),
    }),
    [],
    {
      name: "maximum_update_intervals",
      description:
        "Longest time in seconds without an update of a chain; then the program says so and ends with " +
        "status 3, for its supervisor to start it again. Empty: none is watched. The id is the one under which the " +
        "hub stores the heights, which is the L1's for rollups.",
      example: [[{ state_id: "EVM-1", consensus_state_id: "ETH0" }, 3_600], [["EVM-10", "ETH0"], 14_400]],
    },
  ),
  enableHubConsensus: withDefault(boolean, true, {
    name: "enable_hub_consensus",
    alias: "enable_hyperbridge_consensus",
    description:
      "True: consensus proofs of the hub are brought to the chains, too. `signer` of the EVM entries pays " +
      "for that.",
  }),
};

/** The values of `[relayer]`, which may be missing. */
export type ConsensusRelayerConfig = Values<typeof relayerKeys>;

const beaconHostKeys = {
  beaconHttpUrls: required(httpUrls, {
    name: "beacon_http_urls",
    description:
      "Beacon nodes (REST), in the order of preference. Best are nodes that serve the light client routes.",
    example: ["https://beacon.example.org"],
  }),
  consensusUpdateFrequencySec: required(cappedSeconds, { ...updateFrequency, example: 300 }),
};

/** Host section of `evm`. */
export type BeaconHostValues = Values<typeof beaconHostKeys>;

const rollupHostKeys = {
  l1RpcUrls: required(httpUrls, {
    name: "beacon_rpc_url",
    alias: "ethereum_rpc_url",
    description:
      "JSON-RPC endpoints of the L1: execution nodes, whatever the name says, with the state of the last " +
      "hour.",
    example: ["https://ethereum.example.org/v1/YOUR-KEY"],
  }),
  l1StateMachine: required(stateMachine('"EVM-n" with a chain id', ["EVM-"]), {
    name: "l1_state_machine",
    description: "The L1.",
    example: "EVM-1",
  }),
  /** Under which the hub stores the L1, and the heights of the rollup. */
  l1ConsensusStateId: required(byteConsensusStateId, {
    name: "l1_consensus_state_id",
    description: "The L1's consensus state on the hub.",
    example: "ETH0",
  }),
  consensusUpdateFrequencySec: frequencyKey,
};

/** What the host sections of both kinds of rollups say. */
export type RollupHostValues = Values<typeof rollupHostKeys>;

const opStackHostKeys = {
  ...rollupHostKeys,
  disputeGameFactory: required(contractAddress, {
    name: "dispute_game_factory",
    description:
      "The DisputeGameFactory contract on the L1. Games of every type that the hub lists are used.",
    example: "0xe5965Ab5962eDc7477C8520243A95517CD252fA9",
  }),
  respectedGameType: optional(integer(0, UINT32_MAX), {
    name: "respected_game_type",
    description: "The type of games to try first.",
    example: 0,
  }),
  messageParser: required(contractAddress, {
    name: "message_parser",
    description: "The message passer (`L2ToL1MessagePasser`) on the L2 itself.",
    example: "0x4200000000000000000000000000000000000016",
  }),
  l2Oracle: optional(contractAddress, {
    name: "l2_oracle",
    description: "The L2OutputOracle contract on the L1, for chains that have no dispute games yet.",
    example: "0xdfe97868233d1aa22e815a266982f2cf17685a27",
  }),
};

/** Host section of `op_stack`. Addresses are lower case. */
export type OpStackHostValues = Values<typeof opStackHostKeys>;

const arbitrumHostKeys = {
  ...rollupHostKeys,
  rollupCore: required(contractAddress, {
    name: "rollup_core",
    description: "The RollupCore contract on the L1.",
    example: "0x4DCeB440657f21083db8aDd07665f8ddBe1DCfc0",
  }),
};

/** Host section of `arbitrum_orbit`. Addresses are lower case. */
export type ArbitrumHostValues = Values<typeof arbitrumHostKeys>;

const bscHostKeys = {
  consensusUpdateFrequencySec: frequencyKey,
  /** polytope-labs/hyperbridge: tesseract/consensus/bsc, `epoch_length`. */
  epochLength: withDefault(integer(1, UINT32_MAX, "blocks"), 1_000, {
    name: "epoch_length",
    description: "Length of an epoch.",
  }),
};

/** Host section of `bsc`. */
export type BscHostValues = Values<typeof bscHostKeys>;

/** Values of `type` of EVM chains: the kind, and the chain that a name of a network stands for. */
export const evmTypes = {
  evm: { is: "evm" },
  op_stack: { is: "op_stack" },
  arbitrum_orbit: { is: "arbitrum_orbit" },
  bsc: { is: "bsc" },
  ethereum: { is: "evm", chainId: 1 },
  sepolia: { is: "evm", chainId: 11155111 },
  gnosis: { is: "evm", chainId: 100 },
  chiado: { is: "evm", chainId: 10200 },
  bsc_testnet: { is: "bsc", chainId: 97 },
} as const satisfies Readonly<Record<string, { readonly is: EvmChainType; readonly chainId?: number }>>;

/** Kinds of EVM chains. */
export type EvmChainType = "evm" | "op_stack" | "arbitrum_orbit" | "bsc";

/** What a key does that only the messaging relayer uses. */
function unused<T>(key: Key<T>, why: string): Key<T> {
  return { ...key, description: `Has no effect in this program: ${why}.` };
}

const NO_MESSAGES = "it reads no messages";

/** Keys that the entries of EVM chains have in common, those with an effect and those without. */
const splitEvmKeys = (files: ConfigFiles) => {
  const { etherscanApiKey, initialHeight, pollIntervalSec, tracingBatchSize, ...used } = evmKeys(files);
  return {
    keys: {
      type: required(oneOf(Object.keys(evmTypes)), {
        name: "type",
        description:
          "How the chain's finality is proved: `evm` of a chain with beacon nodes (Ethereum, Sepolia, " +
          "Gnosis and Chiado; of any other chain of this type nothing is proved, it only receives and needs no host " +
          "section), `op_stack`, `arbitrum_orbit`, `bsc`. A network's name stands for its type and its chain id.",
      }),
      ...used,
      rpcUrls: { ...used.rpcUrls, description: "JSON-RPC endpoints in the order of preference." },
      consensusStateId: {
        ...used.consensusStateId,
        description:
          "Name of the chain's client on the hub; of a rollup its own. The L1's, which other files have " +
          "there, is replaced by it.",
      },
      ismpHost: { ...used.ismpHost, description: "The ISMP host contract." },
      signer: {
        ...used.signer,
        description: "Pays for what is sent to this chain. Not the account of the messaging relayer.",
        example: "/run/secrets/ethereum-consensus-key",
      },
      queryBatchSizeBlocks: {
        ...used.queryBatchSizeBlocks,
        description:
          "Of rollups: maximum number of blocks of one event query on the L1. Without it, the whole range " +
          "at once. Has no effect on other chains.",
      },
      gasPriceBufferPercent: {
        ...used.gasPriceBufferPercent,
        description: "Added to the gas price when proofs of the hub are sent.",
      },
      clientType: { ...used.clientType, description: "What the node runs. The two trace differently." },
    },
    withoutEffect: [
      unused(etherscanApiKey, "it needs no price"),
      unused(tracingBatchSize, "one transaction at a time is traced"),
      unused(pollIntervalSec, "the one of [hub.substrate] counts"),
      unused(initialHeight, NO_MESSAGES),
    ],
  };
};

const splitSubstrateKeys = (files: ConfigFiles) => {
  const { initialHeight, pollIntervalSec, feeTokenDecimals, ...used } = substrateKeys(files);
  return {
    keys: {
      type: required(oneOf(["substrate"]), {
        name: "type",
        description: "A chain that follows a hub of type `grandpa`; it needs no host section.",
        example: "substrate",
      }),
      ...used,
      stateMachine: { ...used.stateMachine, example: "SUBSTRATE-cere" },
      rpcWs: { ...used.rpcWs, description: "A node of the chain.", example: "wss://solochain.example.org" },
      consensusStateId: {
        ...used.consensusStateId,
        description: "Under which the hub knows the chain.",
        example: "CERE",
      },
      signer: {
        ...used.signer,
        description: "Signs updates there. Any key does: without one, the hub's.",
        example: "/run/secrets/solochain-seed",
      },
    },
    withoutEffect: [
      unused(pollIntervalSec, "`consensus_update_frequency` of [hub.grandpa] counts"),
      unused(initialHeight, NO_MESSAGES),
      unused(feeTokenDecimals, NO_MESSAGES),
    ],
  };
};

/** What every entry of an EVM chain says. */
export type EvmValues = Values<ReturnType<typeof splitEvmKeys>["keys"]>;

/** A chain whose finality is brought to the hub, or that follows the hub's. */
export type ConsensusChainConfig = EvmConsensusChainConfig | ToldChainConfig;

/** A chain with an EVM host. */
export type EvmConsensusChainConfig =
  | BeaconChainConfig
  | HeldChainConfig
  | OpStackChainConfig
  | ArbitrumChainConfig
  | BscChainConfig;

/** `type = "substrate"`: it follows a hub of type "grandpa", and is proved to it only as a parachain beside it. */
export interface ToldChainConfig extends Values<ReturnType<typeof splitSubstrateKeys>["keys"]> {
  /** Name of the section in the file. */
  readonly section: string;
}

interface ChainSection extends Omit<EvmValues, "type"> {
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

const MESSAGING_ONLY = "belongs to the configuration of the messaging relayer";
const OWN_SUBSTRATE = "belongs to [hub.substrate]";
const OF_THE_ENTRY = "said by the chain's own section already";

/** Keys of host sections that other files have. */
const hostForeign = {
  state_machine: OF_THE_ENTRY,
  rpc_urls: OF_THE_ENTRY,
  evm_config: OF_THE_ENTRY,
  proposer_config: "this relayer proposes no dispute games",
};

/** The sections of the file. `files` is asked for keys that are given as a path. */
export const consensusSections = (files: ConfigFiles) => ({
  hub: {
    description: "The hub, which verifies the other chains.",
    keys: hubKeys,
    inner: ["substrate", "grandpa", "prover"],
    foreign: {
      redis: "this relayer takes accepted proofs from the hub, not from a queue",
      beefy: "this relayer takes accepted proofs from the hub, not from a queue",
      rpc_ws: OWN_SUBSTRATE,
      state_machine: OWN_SUBSTRATE,
      signer: OWN_SUBSTRATE,
      consensus_state_id: OWN_SUBSTRATE,
      max_rpc_payload_size: OWN_SUBSTRATE,
      initial_height: OWN_SUBSTRATE,
      poll_interval: OWN_SUBSTRATE,
    },
  },
  grandpa: {
    description: "The chain that finalizes a hub of type `grandpa`.",
    keys: grandpaKeys,
  },
  prover: {
    description:
      "Only with a hub of type `beefy`: makes proofs from the relay chain where the hub has none that " +
      "serve. They cost about ten times as much gas.",
    keys: proverKeys,
    foreign: {
      proof_variant: "this relayer makes ECDSA proofs only",
      zk_beefy: "this relayer makes ECDSA proofs only",
    },
  },
  hubSubstrate: {
    description: "The hub's parachain itself.",
    keys: hubSubstrateKeys(files),
    withoutEffect: [
      unused(scanKeys.initialHeight, NO_MESSAGES),
      unused(
        { ...optional(integer(0, 18), { name: "fee_token_decimals", description: "", example: 6 }) },
        NO_MESSAGES,
      ),
    ],
  },
  relayer: {
    description: "What is relayed. The section may be missing.",
    keys: relayerKeys,
    foreign: {
      challenge_period: "challenge periods are set on the hub",
      minimum_profit_percentage: MESSAGING_ONLY,
      withdrawal_frequency: MESSAGING_ONLY,
      minimum_withdrawal_amount: MESSAGING_ONLY,
      delivery_endpoints: MESSAGING_ONLY,
      module_filter: MESSAGING_ONLY,
      unprofitable_retry_frequency: MESSAGING_ONLY,
      disable_fee_accumulation: MESSAGING_ONLY,
    },
  },
  evm: {
    description: "An EVM chain whose finality is brought to the hub, or that learns the hub's.",
    ...splitEvmKeys(files),
    inner: ["host"],
    foreign: {
      transport: "this relayer speaks the standard Ethereum JSON-RPC only",
      rpc_ws: "entries have `rpc_urls`",
      hashing: 'a key of `type = "substrate"` entries',
      max_rpc_payload_size: "a key of [hub.substrate]",
      fee_token_decimals: "read from the fee token of the chain",
    },
  },
  beaconHost: {
    description: "Of type `evm`: the finality of a chain with beacon nodes.",
    keys: beaconHostKeys,
    foreign: hostForeign,
  },
  opStackHost: {
    description: "Of type `op_stack`: dispute games on the L1.",
    keys: opStackHostKeys,
    foreign: hostForeign,
  },
  arbitrumHost: {
    description: "Of type `arbitrum_orbit`: assertions of the rollup contract on the L1.",
    keys: arbitrumHostKeys,
    foreign: hostForeign,
  },
  bscHost: {
    description: "Of type `bsc`: votes in the chain's own headers.",
    keys: bscHostKeys,
    foreign: hostForeign,
  },
  substrate: {
    description:
      "A Substrate chain (not among the fields of the specification). It follows the hub by what its client " +
      "of the hub takes: GRNP finality proofs of the relay chain, PARA the hub's head there. Nothing is proved of it, " +
      "unless it is a parachain beside the hub (then its `consensus_state_id` is the hub's own) and the hub lists it " +
      "in `IsmpParachain.Parachains`.",
    ...splitSubstrateKeys(files),
    foreign: {
      host: "nothing is proved of Substrate chains",
      rpc_urls: "a key of EVM entries; substrate entries have `rpc_ws`",
      ismp_host: "a key of EVM entries",
      etherscan_api_key: "a key of EVM entries",
      gas_price_buffer: "a key of EVM entries",
    },
  },
});

/** Advice for values of `type` that exist elsewhere. */
export const unsupportedTypes: Readonly<Record<string, string>> = {
  evm_host: 'write type = "evm": nothing is proved of chains without a beacon chain',
  polygon: "Polygon's client is not supported",
  tendermint: "Tendermint chains are not supported",
  pharos: "Pharos chains are not supported",
  parachain: "parachains are not supported as counterparties",
  grandpa: "GRANDPA chains are not supported as counterparties",
  beefy: "a type of [hub]",
};
