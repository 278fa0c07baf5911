/**
 * Chain sections of the consensus relayer's file. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/evm-consensus.md section 2.
 */
import { contractAddress, httpUrls, stateMachine } from "../../core/config/chain_values.ts";
import { evmKeys, substrateKeys } from "../../core/config/chains.ts";
import { optional, required, type Values, withDefault } from "../../core/config/schema.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import { cappedSeconds, integer, oneOf, UINT32_MAX } from "../../core/config/values.ts";
import { frequencyKey, NO_MESSAGES, unused, updateFrequency } from "./shared_keys.ts";
import { byteConsensusStateId } from "./values.ts";

const beaconHostKeys = {
  beaconHttpUrls: required(httpUrls, {
    name: "beacon_http_urls",
    description:
      "Beacon nodes (REST), in the order of preference. Best are nodes that serve the light client routes.",
    example: ["https://beacon.example.org"],
  }),
  consensusUpdateFrequencySec: required(cappedSeconds, { ...updateFrequency, example: 300 }),
};

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
  /** Id under which the hub stores the L1, and the heights of the rollup. */
  l1ConsensusStateId: required(byteConsensusStateId, {
    name: "l1_consensus_state_id",
    description: "The L1's consensus state on the hub.",
    example: "ETH0",
  }),
  consensusUpdateFrequencySec: frequencyKey,
};

/** Values of the host sections of both kinds of rollups. */
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

const arbitrumHostKeys = {
  ...rollupHostKeys,
  rollupCore: required(contractAddress, {
    name: "rollup_core",
    description: "The RollupCore contract on the L1.",
    example: "0x4DCeB440657f21083db8aDd07665f8ddBe1DCfc0",
  }),
};

const bscHostKeys = {
  consensusUpdateFrequencySec: frequencyKey,
  /** polytope-labs/hyperbridge: tesseract/consensus/bsc, `epoch_length`. */
  epochLength: withDefault(integer(1, UINT32_MAX, "blocks"), 1_000, {
    name: "epoch_length",
    description: "Length of an epoch.",
  }),
};

/** Values of `type` of EVM chains: the kind, and the chain that a network name stands for. */
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

/** Keys common to all EVM chain entries, with and without effect. */
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

/** Values that every EVM chain entry has. */
export type EvmValues = Values<ReturnType<typeof splitEvmKeys>["keys"]>;

/** A chain whose finality is proved to the hub, or that follows the hub's. */
export type ConsensusChainConfig = EvmConsensusChainConfig | FollowerConfig;

/** A chain with an EVM host. */
export type EvmConsensusChainConfig =
  | BeaconChainConfig
  | ReceiveOnlyConfig
  | OpStackChainConfig
  | ArbitrumChainConfig
  | BscChainConfig;

/**
 * `type = "substrate"`: it follows a hub of type "grandpa", and is proved to it only as a parachain on the same relay
 * chain.
 */
export interface FollowerConfig extends Values<ReturnType<typeof splitSubstrateKeys>["keys"]> {
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
  readonly host: Values<typeof beaconHostKeys>;
}

/** `type = "evm"` of any other chain: nothing is proved of it, it only receives. */
export interface ReceiveOnlyConfig extends ChainSection {
  readonly type: "receive_only";
}

/** `type = "op_stack"`. `consensusStateId` is that of its own client, never the L1's. */
export interface OpStackChainConfig extends ChainSection {
  readonly type: "op_stack";
  readonly host: Values<typeof opStackHostKeys>;
}

/** `type = "arbitrum_orbit"`. `consensusStateId` is that of its own client, never the L1's. */
export interface ArbitrumChainConfig extends ChainSection {
  readonly type: "arbitrum_orbit";
  readonly host: Values<typeof arbitrumHostKeys>;
}

/** `type = "bsc"`. */
export interface BscChainConfig extends ChainSection {
  readonly type: "bsc";
  readonly host: Values<typeof bscHostKeys>;
}

const OF_THE_ENTRY = "given in the chain's own section already";

/** Keys of host sections in files of other relayers. */
const hostForeign = {
  state_machine: OF_THE_ENTRY,
  rpc_urls: OF_THE_ENTRY,
  evm_config: OF_THE_ENTRY,
  proposer_config: "this relayer proposes no dispute games",
};

/** The sections of chains. `files` reads keys that are given as a path. */
export const chainSections = (files: ConfigFiles) => ({
  evm: {
    description: "An EVM chain whose finality is proved to the hub, or that follows the hub's.",
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
      "of the hub accepts: GRNP finality proofs of the relay chain, PARA the hub's head there. Nothing is proved of it, " +
      "unless it is a sibling parachain of the hub (then its `consensus_state_id` is the hub's own) and the hub lists it " +
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

/** Advice for values of `type` that other relayers support. */
export const unsupportedTypes: Readonly<Record<string, string>> = {
  evm_host: 'write type = "evm": nothing is proved of chains without a beacon chain',
  polygon: "Polygon's client is not supported",
  tendermint: "Tendermint chains are not supported",
  pharos: "Pharos chains are not supported",
  parachain: "parachains are not supported as counterparties",
  grandpa: "GRANDPA chains are not supported as counterparties",
  beefy: "a type of [hub]",
};
