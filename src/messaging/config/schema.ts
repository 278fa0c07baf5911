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
import { optional, required, type SectionValues, withDefault } from "../../core/config/schema.ts";
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
  rpcWs: required("rpc_ws", webSocketUrl, {
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
  consensusStateId: optional("consensus_state_id", consensusStateId, {
    description: "Only when relaying to a solochain (`SUBSTRATE-...`); such a file has no parachain entries.",
    example: "DOT0",
  }),
  signer: optional("signer", substrateSigner(files), {
    description:
      "Only for the hub's own rewards: for authority rotations, and for requests of modules that the hub pays for. " +
      "Fees of deliveries need none.",
    example: "/run/secrets/hub-seed",
  }),
  tokenPrice: optional("token_price", positiveAmount("dollars per token"), {
    description:
      "Price of the hub's token, in which it pays those rewards; they count only with it: a rewarded request or an " +
      "authority rotation is delivered when the reward at this price covers the cost. With a test hub (`KUSAMA-...`) 1 " +
      "by default.",
    example: 0.02,
  }),
});

const relayerKeys = {
  minimumProfitPercent: required("minimum_profit_percentage", percent(1_000_000), {
    description:
      "0 delivers everything, also at a loss. N delivers a request only if fee >= cost + cost * N / 100, where cost = " +
      "gas of the delivery * gas price * price of the native token.",
    example: 10,
  }),
  deliveryEndpoints: required(
    "delivery_endpoints",
    listOf(listedChain, {
      expected: "an array of names of sections or state machines (empty for all chains)",
      identity: (machine) => machine,
    }),
    {
      description:
        "The chains to which requests are delivered. Requests from every configured chain still reach the hub.",
      example: ["EVM-1", "EVM-8453", "EVM-56", "EVM-420420419", "POLKADOT-2030"],
    },
  ),
  moduleFilter: withDefault(
    "module_filter",
    listOf(moduleId, { expected: "an array of module identifiers", identity: toHex }),
    [],
    {
      description:
        'Only requests of these senders are delivered: contract addresses, or pallet ids as hex or ASCII ("ISMP-RLYR"). ' +
        "Empty: of all.",
      example: ["0x00000000000000000000000000000000000000aa"],
    },
  ),
  unprofitableRetryFrequencySec: optional("unprofitable_retry_frequency", timerSeconds, {
    alias: "retry_frequency",
    description:
      "How often unprofitable and failed messages are tried again. Without it they are judged for two hours, and again " +
      "when this, the minimum profit or the price limit of their chain changes, or when their fee is raised. Passing " +
      "faults (a node that is down, a lost race) are always retried.",
    example: 300,
  }),
  retryModules: withDefault(
    "retry_modules",
    listOf(moduleId, { expected: "an array of module identifiers", identity: toHex }),
    [],
    {
      description:
        "Receiving modules whose messages are never given up: they are tried again as above, without a frequency every " +
        "300 s.",
      example: ["0x00000000000000000000000000000000000000aa"],
    },
  ),
  maximumDailyLoss: optional("maximum_daily_loss", positiveAmount("dollars"), {
    description:
      "Maximum loss on each chain within 24 hours: what transactions cost beyond what they earned. While it is " +
      "reached, nothing is sent there; everything else continues.",
    example: 50,
  }),
  withdrawalFrequencySec: withDefault("withdrawal_frequency", timerSeconds, 86_400, {
    description: "How often fees are withdrawn from the hub to the chains that they were paid on.",
  }),
  minimumWithdrawalAmount: withDefault("minimum_withdrawal_amount", amount("dollars"), 100, {
    description:
      "Minimum of an automatic withdrawal, per chain. Below 10 it counts as 10, and the hub has a minimum of its own.",
  }),
  reconciliationFrequencySec: withDefault("reconciliation_frequency", timerSeconds, 21_600, {
    description:
      "How often blocks that were read, and receipts of waiting messages, are read again: what is found, which should " +
      "be nothing, is repaired, logged and counted.",
  }),
  leaveCheckpoints: optional("leave_checkpoints", boolean, {
    description:
      "True: checkpoints of the database's log are left to the program that replicates it, up to 64 MiB. Without the " +
      "key they are left to Litestream where its traces are found. Read at the start only.",
    example: true,
  }),
  disableFeeAccumulation: withDefault("disable_fee_accumulation", boolean, false, {
    description: "True: fees are not claimed automatically; deliveries are recorded for `accumulate-fees`.",
  }),
};

/** Maximum number of relayers in a fleet. */
const MAX_FLEET = 64;

const fleetKeys = {
  index: required("index", integer(0, MAX_FLEET - 1), {
    description: "Number of this relayer, different for each.",
    example: 0,
  }),
  count: required("count", integer(1, MAX_FLEET), {
    description: "Number of relayers in the fleet.",
    example: 3,
  }),
  takeOverSec: withDefault("take_over_after", timerSeconds, 60, {
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
export type RelayerValues = SectionValues<typeof relayerKeys>;

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
  type: required("type", oneOf([type]), { description: "Kind of the chain.", example: type }),
});

/** Sections of this file. */
export type MessagingSections = ReturnType<typeof messagingSections>;

/** Values of the section of a chain other than the hub. */
export type ChainValues = {
  [T in "evm" | "substrate_evm" | "substrate"]: SectionValues<MessagingSections[T]["keys"]>;
}["evm" | "substrate_evm" | "substrate"];

/** Chain other than the hub, with the name of its section in the file. */
export type ChainConfig = ChainValues & { readonly section: string };

/** A section with `type = "evm"`. */
export type EvmChainConfig = Extract<ChainConfig, { readonly type: "evm" }>;

/** A section with `type = "substrate_evm"`. */
export type SubstrateEvmChainConfig = Extract<ChainConfig, { readonly type: "substrate_evm" }>;

/** A section with `type = "substrate"`. */
export type SubstrateChainConfig = Extract<ChainConfig, { readonly type: "substrate" }>;

const FOR_MESSAGES = 'a type of the consensus relayer; for messages write type = "evm"';

/** Name of the fleet's section within `[relayer]`. */
export const FLEET_SECTION = "fleet";

const fleetSection = {
  description:
    "Only when several relayers of one operator share the messages to the hub. Deliveries to chains are shared by " +
    "`delivery_endpoints`.",
  keys: fleetKeys,
};

/** Defines the sections of the file. `files` is used for keys that are given as a path. */
export const messagingSections = (files: ConfigFiles) => ({
  hub: {
    description: "The hub verifies the other chains and routes messages between them.",
    keys: hubKeys(files),
  },
  relayer: {
    description: "Which messages are delivered, and what is done with their fees.",
    keys: relayerKeys,
    inner: { [FLEET_SECTION]: fleetSection, notify: notifySection },
  },
  fleet: fleetSection,
  notify: notifySection,
  evm: {
    description:
      "An EVM chain. The node of a rollup must keep old state (an archive node): the hub's view of it is behind by more " +
      "than other nodes remember.",
    keys: { ...typeKey("evm"), ...evmKeys(files) },
  },
  substrate_evm: {
    description:
      "A Substrate chain with an ISMP host among its EVM contracts: Polkadot Hub. The keys of an EVM chain, and the " +
      "node that proves its state.",
    keys: { ...typeKey("substrate_evm"), ...substrateEvmKeys(files) },
  },
  substrate: {
    description: "A parachain or a solochain.",
    keys: { ...typeKey("substrate"), ...substrateKeys(files) },
  },
});

/** Values of `type` in sections of chains. */
export const chainType = oneOf(["evm", "substrate_evm", "substrate"], {
  arbitrum_orbit: FOR_MESSAGES,
  op_stack: FOR_MESSAGES,
  bsc: FOR_MESSAGES,
});
