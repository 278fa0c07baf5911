/**
 * Configuration file of the messaging relayer: its sections, and the values that the program uses. Names of values
 * carry units. Source: docs/specification.md, "Messaging relayer configuration"; ranges from docs/protocol/messaging.md
 * section 3. Start reading at {@link MessagingConfig}.
 */
import {
  evmKeys,
  hubStateMachine,
  nodeKeys,
  type NotifyConfig,
  notifySection,
  scanKeys,
  substrateEvmKeys,
  substrateKeys,
} from "../../core/config/chains.ts";
import {
  amount,
  boolean,
  consensusStateId,
  integer,
  listedChain,
  listOf,
  moduleId,
  oneOf,
  percent,
  positiveAmount,
  timerSeconds,
  webSocketUrl,
} from "../../core/config/values.ts";
import { because, optional, required, type SectionValues, withDefault } from "../../core/config/schema.ts";
import { substrateSigner } from "../../core/config/secrets.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import { toHex } from "../../core/encoding/bytes.ts";
import type { ConsensusStateId, StateMachine } from "../../core/ismp/state_machine.ts";

/** Complete configuration, with defaults applied. */
export interface MessagingConfig {
  readonly hub: HubConfig;
  readonly relayer: RelayerConfig;
  /** In the order of the file; each state machine once, none of them the hub. At least one. */
  readonly chains: readonly ChainConfig[];
}

const hubKeys = (files: ConfigFiles) => ({
  stateMachine: hubStateMachine,
  rpcWs: required(webSocketUrl, {
    name: "rpc_ws",
    description: "A node of the hub with unsafe RPC methods and archive state.",
    example: "wss://hub.example.org",
  }),
  ...nodeKeys,
  ...scanKeys,
  pollIntervalSec: {
    ...scanKeys.pollIntervalSec,
    description: "How often the hub is polled for what it knows of the chains.",
  },
  /** Only needed for solochains. */
  consensusStateId: optional(consensusStateId, {
    name: "consensus_state_id",
    description: "Only when relaying to a solochain (`SUBSTRATE-...`); such a file has no parachain entries.",
    example: "DOT0",
  }),
  signer: optional(substrateSigner(files), {
    name: "signer",
    description:
      "Only for the hub's own rewards: for authority rotations, and for requests of modules that the hub pays for. " +
      "Fees of deliveries need none.",
    example: "/run/secrets/hub-seed",
  }),
  tokenPrice: optional(positiveAmount("dollars per token"), {
    name: "token_price",
    description:
      "Price of the hub's token, in which it pays those rewards; they count only with it: a rewarded request or an " +
      "authority rotation is delivered when the reward at this price covers the cost. With a test hub (`KUSAMA-...`) 1 " +
      "by default.",
    example: 0.02,
  }),
});

const relayerKeys = {
  minimumProfitPercent: required(percent(1_000_000), {
    name: "minimum_profit_percentage",
    description:
      "0 delivers everything, also at a loss. N delivers a request only if fee >= cost + cost * N / 100, where cost = " +
      "gas of the delivery * gas price * price of the native token.",
    example: 10,
  }),
  deliveryEndpoints: required(
    listOf(listedChain, {
      expected: "an array of names of sections or state machines (empty for all chains)",
      identity: (machine) => machine,
    }),
    {
      name: "delivery_endpoints",
      description:
        "The chains to which requests are delivered. Requests from every configured chain still reach the hub.",
      example: ["EVM-1", "EVM-8453", "EVM-56", "EVM-420420419", "POLKADOT-2030"],
    },
  ),
  moduleFilter: withDefault(
    listOf(moduleId, { expected: "an array of module identifiers", identity: toHex }),
    [],
    {
      name: "module_filter",
      description:
        'Only requests of these senders are delivered: contract addresses, or pallet ids as hex or ASCII ("ISMP-RLYR"). ' +
        "Empty: of all.",
      example: ["0x00000000000000000000000000000000000000aa"],
    },
  ),
  unprofitableRetryFrequencySec: optional(timerSeconds, {
    name: "unprofitable_retry_frequency",
    alias: "retry_frequency",
    description:
      "How often unprofitable and failed messages are tried again. Without it they are judged for two hours, and again " +
      "when this, the minimum profit or the price limit of their chain changes, or when their fee is raised. Passing " +
      "faults (a node that is down, a lost race) are always retried.",
    example: 300,
  }),
  retryModules: withDefault(
    listOf(moduleId, { expected: "an array of module identifiers", identity: toHex }),
    [],
    {
      name: "retry_modules",
      description:
        "Receiving modules whose messages are never given up: they are tried again as above, without a frequency every " +
        "300 s.",
      example: ["0x00000000000000000000000000000000000000aa"],
    },
  ),
  maximumDailyLoss: optional(positiveAmount("dollars"), {
    name: "maximum_daily_loss",
    description:
      "Maximum loss on each chain within 24 hours: what transactions cost beyond what they earned. While it is " +
      "reached, nothing is sent there; everything else continues.",
    example: 50,
  }),
  withdrawalFrequencySec: withDefault(timerSeconds, 86_400, {
    name: "withdrawal_frequency",
    description: "How often fees are withdrawn from the hub to the chains that they were paid on.",
  }),
  minimumWithdrawalAmount: withDefault(amount("dollars"), 100, {
    name: "minimum_withdrawal_amount",
    description:
      "Minimum of an automatic withdrawal, per chain. Below 10 it counts as 10, and the hub has a minimum of its own.",
  }),
  reconciliationFrequencySec: withDefault(timerSeconds, 21_600, {
    name: "reconciliation_frequency",
    description:
      "How often blocks that were read, and receipts of waiting messages, are read again: what is found, which should " +
      "be nothing, is repaired, logged and counted.",
  }),
  leaveCheckpoints: optional(boolean, {
    name: "leave_checkpoints",
    description:
      "True: checkpoints of the database's log are left to the program that replicates it, up to 64 MiB. Without the " +
      "key they are left to Litestream where its traces are found. Read at the start only.",
    example: true,
  }),
  disableFeeAccumulation: withDefault(boolean, false, {
    name: "disable_fee_accumulation",
    description: "True: fees are not claimed automatically; deliveries are recorded for `accumulate-fees`.",
  }),
};

/** Maximum number of relayers in a fleet. */
const MAX_FLEET = 64;

const fleetKeys = {
  index: required(integer(0, MAX_FLEET - 1), {
    name: "index",
    description: "Number of this relayer, different for each.",
    example: 0,
  }),
  count: required(integer(1, MAX_FLEET), {
    name: "count",
    description: "Number of relayers in the fleet.",
    example: 3,
  }),
  takeOverSec: withDefault(timerSeconds, 60, {
    name: "take_over_after",
    description:
      "How long a message waits for the relayer whose share it is in, then as long for each of the next numbers.",
  }),
};

/** Section `[hub]` (or `[hyperbridge]`). */
export interface HubConfig extends SectionValues<ReturnType<typeof hubKeys>> {
  /** Name of the section in the file. */
  readonly section: string;
  /** Identifies the hub on Substrate counterparties, and its own proven height on the hub. */
  readonly consensusStateId: ConsensusStateId;
}

/** Values of `[relayer]`, with the lists as written in the file. */
type RelayerValues = SectionValues<typeof relayerKeys>;

/** Section `[relayer.fleet]`: which share of the messages to the hub is this relayer's. */
export type FleetConfig = SectionValues<typeof fleetKeys>;

/** Section `[relayer]`. */
export interface RelayerConfig extends Omit<RelayerValues, "deliveryEndpoints" | "moduleFilter"> {
  /** `undefined`: this relayer shares its work with no other. */
  readonly fleet: FleetConfig | undefined;
  /** Where changes of readiness are posted; absent: nowhere. */
  readonly notify?: NotifyConfig | undefined;
  /**
   * The only chains to which requests are delivered; `undefined`: to all. Holds configured chains only, so it may
   * be empty when the file lists none of them: then nothing is delivered from the hub.
   */
  readonly deliveryEndpoints: readonly StateMachine[] | undefined;
  /** The only senders (`from`) whose requests are delivered, on both legs; `undefined`: all. Never empty. */
  readonly moduleFilter: readonly Uint8Array[] | undefined;
}

const typeKey = <const T extends string>(type: T) => ({
  type: required(oneOf([type]), { name: "type", description: "Kind of the chain.", example: type }),
});

const evmChainKeys = (files: ConfigFiles) => ({ ...typeKey("evm"), ...evmKeys(files) });

const substrateEvmChainKeys = (files: ConfigFiles) => ({
  ...typeKey("substrate_evm"),
  ...substrateEvmKeys(files),
});

const substrateChainKeys = (files: ConfigFiles) => ({ ...typeKey("substrate"), ...substrateKeys(files) });

/** Values of the section of a chain other than the hub. */
export type ChainValues =
  | SectionValues<ReturnType<typeof evmChainKeys>>
  | SectionValues<ReturnType<typeof substrateEvmChainKeys>>
  | SectionValues<ReturnType<typeof substrateChainKeys>>;

/** Chain other than the hub, with the name of its section in the file. */
export type ChainConfig = ChainValues & { readonly section: string };

/** A section with `type = "evm"`. */
export type EvmChainConfig = Extract<ChainConfig, { readonly type: "evm" }>;

/** A section with `type = "substrate_evm"`. */
export type SubstrateEvmChainConfig = Extract<ChainConfig, { readonly type: "substrate_evm" }>;

/** A section with `type = "substrate"`. */
export type SubstrateChainConfig = Extract<ChainConfig, { readonly type: "substrate" }>;

/** Name of the fleet's section within `[relayer]`. */
export const FLEET_SECTION = "fleet";

const CONSENSUS_ONLY = "belongs to the configuration of the consensus relayer";

/** Keys that no section of an EVM chain has, whichever node proves its state. */
const foreignOfEvm = {
  ...because("host consensus", CONSENSUS_ONLY),
  transport: "this relayer speaks the standard Ethereum JSON-RPC only",
  hashing: 'a key of `type = "substrate"` entries',
  fee_token_decimals: "read from the fee token of the chain",
  max_rpc_payload_size: 'a key of [hub] and of `type = "substrate"` entries',
};

/** Defines the sections of the file. `files` is used for keys that are given as a path. */
export const messagingSections = (files: ConfigFiles) => ({
  hub: {
    description: "The hub verifies the other chains and routes messages between them.",
    keys: hubKeys(files),
    foreign: {
      ...because("type grandpa beefy substrate consensus prover redis", CONSENSUS_ONLY),
      hashing: "the hub always hashes with Keccak",
      fee_token_decimals: "belongs to a substrate chain entry",
    },
  },
  relayer: {
    description: "Which messages are delivered, and what is done with their fees.",
    keys: relayerKeys,
    inner: [FLEET_SECTION, "notify"],
    foreign: {
      ...because("consensus messaging router", "a leftover of old sample files; remove it"),
      deliver_failed: "messages that would fail are never sent",
      fisherman: "this relayer has no fisherman task",
      outbound: "write inbound_only = true in the sections of chains to which nothing is delivered",
      ...because(
        "consensus_chains maximum_update_intervals enable_hub_consensus challenge_period",
        CONSENSUS_ONLY,
      ),
    },
  },
  fleet: {
    description:
      "Only when several relayers of one operator share the messages to the hub. Deliveries to chains are shared by " +
      "`delivery_endpoints`.",
    keys: fleetKeys,
  },
  notify: notifySection,
  evm: {
    description:
      "An EVM chain. The node of a rollup must keep old state (an archive node): the hub's view of it is behind by more " +
      "than other nodes remember.",
    keys: evmChainKeys(files),
    foreign: {
      ...foreignOfEvm,
      rpc_ws: 'a key of `type = "substrate"` entries; evm entries have `rpc_urls`',
      ws_url: 'a key of `type = "substrate_evm"` entries',
    },
  },
  substrate_evm: {
    description:
      "A Substrate chain with an ISMP host among its EVM contracts: Polkadot Hub. The keys of an EVM chain, and the " +
      "node that proves its state.",
    keys: substrateEvmChainKeys(files),
    foreign: {
      ...foreignOfEvm,
      rpc_ws: 'a key of `type = "substrate"` entries; the node of a substrate_evm entry is its `ws_url`',
    },
  },
  substrate: {
    description: "A parachain or a solochain.",
    keys: substrateChainKeys(files),
    foreign: {
      ...because("host consensus", CONSENSUS_ONLY),
      rpc_urls: 'a key of `type = "evm"` entries; substrate entries have `rpc_ws`',
      ws_url: 'a key of `type = "substrate_evm"` entries; substrate entries have `rpc_ws`',
      ...because("ismp_host etherscan_api_key gas_price_buffer", 'a key of `type = "evm"` entries'),
    },
  },
});

/** Hints for values of `type` that exist elsewhere. */
export const unsupportedTypes: Readonly<Record<string, string>> = {
  tendermint: "Tendermint chains are not supported",
  pharos_evm: "Pharos chains are not supported",
  tron: "Tron is not supported",
  ...because(
    "arbitrum_orbit op_stack bsc",
    'a type of the consensus relayer; for messages write type = "evm"',
  ),
  ...because("grandpa beefy", "a type of the consensus relayer"),
};
