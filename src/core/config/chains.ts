/**
 * Keys that sections of both programs have, as they are for the messaging relayer; the consensus relayer words some of
 * them again. Source: docs/specification.md, "Messaging relayer configuration" and "Consensus relayer configuration";
 * ranges from docs/protocol/messaging.md section 3.
 */
import { type ConsensusStateId, type StateMachine, toConsensusStateId } from "../ismp/state_machine.ts";
import {
  blockHeight,
  boolean,
  consensusStateId,
  contractAddress,
  httpUrl,
  httpUrls,
  integer,
  oneOf,
  percent,
  positiveAmount,
  stateMachine,
  timerSeconds,
  UINT32_MAX,
  webSocketUrl,
} from "./values.ts";
import type { SourceLocation } from "./diagnostics.ts";
import { type Key, optional, required, type SectionValues, withDefault } from "./schema.ts";
import { apiKey, evmSigner, substrateSigner } from "./secrets.ts";
import type { ConfigFiles, TomlTable } from "./toml.ts";

/** polytope-labs/hyperbridge: tesseract/messaging/substrate/src/provider.rs, `max_concurent_queries`. */
export const DEFAULT_MAX_CONCURRENT_QUERIES = 10;

/** Budget of a chain. */
const requestsPerSecond = optional("requests_per_second", integer(1, 100_000, "calls per second"), {
  description:
    "Maximum calls to all endpoints of the chain together, each call of a batch counted, for plans that limit or bill " +
    "them. A request waits up to 10 s for its turn.",
  example: 25,
});

/** Keys of every node that is asked over a WebSocket. */
export const nodeKeys = {
  maxRpcPayloadSizeBytes: withDefault("max_rpc_payload_size", integer(1, UINT32_MAX, "bytes"), 150_000_000, {
    description: "Maximum size of an RPC request or response; most methods have a lower limit of their own.",
  }),
  maxConcurrentQueries: withDefault(
    "max_concurent_queries",
    integer(1, UINT32_MAX),
    DEFAULT_MAX_CONCURRENT_QUERIES,
    { description: "Maximum RPC requests at a time (spelled this way)." },
  ),
  requestsPerSecond,
};

/** Keys of every chain whose messages are read. */
export const scanKeys = {
  /** Queries start at the block after this one; `undefined`: at the stored cursor or the chain's final height. */
  initialHeight: optional("initial_height", blockHeight, {
    description:
      "For tests: every start reads messages from the block after this one, hours of work for the node. Without it " +
      "the relayer continues where it stopped, the first time at the height that the hub knows or at the head.",
    example: 4_200_000,
  }),
  pollIntervalSec: withDefault("poll_interval", timerSeconds, 10, {
    description: "How often the chain is polled for what it knows of the hub.",
  }),
};

/** The hub's own name. A hub is a parachain: EVM handlers know hubs by a numeric para id only. */
export const hubStateMachine = required(
  "state_machine",
  stateMachine('"POLKADOT-n" or "KUSAMA-n" with a para id', ["POLKADOT-", "KUSAMA-"]),
  { description: "Compared with the node at start-up.", example: "POLKADOT-3367" },
);

/**
 * Under which other chains know a hub whose file does not say it: the live hubs' ids, PAS0 on Paseo, DOT0 on Polkadot
 * (docs/protocol/hub.md section 0).
 */
function usualHubId(hub: StateMachine): ConsensusStateId {
  return toConsensusStateId(hub.startsWith("KUSAMA-") ? "PAS0" : "DOT0");
}

/** Values of the hub's section with the id under which other chains know it. */
export function withHubId<
  V extends { readonly stateMachine: StateMachine; readonly consensusStateId: ConsensusStateId | undefined },
>(values: V, location: SourceLocation): V & { readonly consensusStateId: ConsensusStateId } {
  const { consensusStateId: given, stateMachine } = values;
  if (given !== undefined) return { ...values, consensusStateId: given };
  const value = usualHubId(stateMachine);
  location.child("consensus_state_id").applies("consensus_state_id", { value, isDerived: true });
  return { ...values, consensusStateId: value };
}

/** The account of a chain; one that is only a source has none, whatever its section names. */
function accountOf<T>(key: Key<T>): Key<T | undefined> {
  const reason = ({ inbound_only: isSource }: TomlTable): string | undefined =>
    isSource === true ? "inbound_only = true: nothing is signed for this chain" : undefined;
  return { ...key, idle: { value: undefined, reason } };
}

/** A chain that is only a source. */
const inboundOnly = withDefault("inbound_only", boolean, false, {
  description:
    "True: the chain is only a source, and needs no `signer`: nothing is sent to it, and fees that are paid on it " +
    "stay on the hub as credit.",
});

/** Keys of every section of an EVM chain, beside its type. */
export const evmKeys = (files: ConfigFiles) => ({
  stateMachine: required("state_machine", stateMachine('"EVM-n" with a chain id', ["EVM-"]), {
    description: "Its chain id is compared with every endpoint.",
    example: "EVM-1",
  }),
  /** No repeats. */
  rpcUrls: required("rpc_urls", httpUrls, {
    description:
      "JSON-RPC endpoints in the order of preference. The messaging relayer needs `debug_traceCall`, at a " +
      "high rate. Use two providers: what ends a message, proofs and logs of one are checked with the other.",
    example: ["https://one.example.org/v1/YOUR-KEY", "https://two.example.org"],
  }),
  requestsPerSecond,
  consensusStateId: required("consensus_state_id", consensusStateId, {
    description: "Id under which the hub stores the chain: ETH0 for Ethereum and its L2s, BSC0 for BSC.",
    example: "ETH0",
  }),
  /** `undefined` (an empty text in the file): native prices come from the chain only. */
  etherscanApiKey: required("etherscan_api_key", apiKey, {
    description:
      "For the price of the native token; chains with the same token can share a key. An empty text: the price comes " +
      "from the Uniswap V2 router that the host contract names.",
    example: "YOUR-ETHERSCAN-KEY",
  }),
  /** Lower case. */
  ismpHost: required("ismp_host", contractAddress, {
    description: "The ISMP host contract, which names the handler and the fee token.",
    example: "0x620128E2B19193d6Bd244a3AC8D3bBa0541B19c3",
  }),
  /** `undefined` only with {@link inboundOnly}. */
  signer: accountOf(
    required("signer", evmSigner(files), {
      description:
        "Pays for deliveries on this chain and earns their fees. Nothing else may send from this account, not even " +
        "another relayer. Not needed with `inbound_only = true`.",
      example: "/run/secrets/ethereum-key",
    }),
  ),
  inboundOnly,
  /** `undefined`: the whole range at once. */
  queryBatchSizeBlocks: optional("query_batch_size", integer(1, UINT32_MAX, "blocks"), {
    description:
      "Maximum blocks of one `eth_getLogs`, for providers that limit it. Without it, the whole range at once.",
    example: 1_000,
  }),
  tracingBatchSize: optional("tracing_batch_size", integer(1, UINT32_MAX, "transactions"), {
    description: "Maximum transactions traced at a time. Without it, 16.",
    example: 10,
  }),
  gasPriceBufferPercent: withDefault("gas_price_buffer", percent(1000), 0, {
    description:
      "Added to the maximum gas price of a transaction, never to its tip (without EIP-1559 to the price). Does not " +
      "count in the profit rule, but no delivery is offered more than its fees pay for. Keep it below " +
      "`minimum_profit_percentage`.",
  }),
  maximumGasPriceGwei: optional("maximum_gas_price", positiveAmount("gwei"), {
    description:
      "Gas price above which nothing is signed for this chain. Without it: 500 on Ethereum and Gnosis, 5000 on " +
      "Polygon, 25 on BSC, 10 on Arbitrum, OP Mainnet, Base, Unichain and Soneium, none elsewhere.",
    example: 200,
  }),
  clientType: withDefault("client_type", oneOf(["Geth", "Erigon"]), "Geth", {
    description: "Software of the node; the two trace differently.",
  }),
  ...scanKeys,
});

/** Keys of every section with `type = "substrate_evm"`, beside the type. */
export const substrateEvmKeys = (files: ConfigFiles) => ({
  ...evmKeys(files),
  wsUrl: required("ws_url", webSocketUrl, {
    description:
      "A node of the chain with Substrate's RPC and archive state, which proves what the contracts hold.",
    example: "wss://polkadot-hub.example.org",
  }),
});

/** What every section with `type = "substrate_evm"` says. */
export type SubstrateEvmValues = SectionValues<ReturnType<typeof substrateEvmKeys>>;

/** What every section of an EVM chain says. */
export type EvmValues = SectionValues<ReturnType<typeof evmKeys>>;

/** What every section with `type = "substrate"` says. */
export type SubstrateValues = SectionValues<ReturnType<typeof substrateKeys>>;

/** Section `[relayer.notify]` of both programs. */
export const notifySection = {
  description: "Only where changes of readiness are to be posted to a chat or another service.",
  keys: {
    webhook: required("webhook", httpUrl, {
      description:
        "Gets each change as JSON, with what helps: an incoming webhook of Slack, Mattermost or Discord, sendMessage " +
        "of a Telegram bot with ?chat_id=, or ntfy with ?tpl=1&m={{.text}}.",
      example: "https://hooks.example.org/services/YOUR-KEY",
    }),
  },
};

/** Values of `[relayer.notify]`. */
export type NotifyConfig = SectionValues<typeof notifySection.keys>;

/** Keys of every section with `type = "substrate"`, beside the type. */
export const substrateKeys = (files: ConfigFiles) => ({
  stateMachine: required(
    "state_machine",
    stateMachine('"POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters', [
      "POLKADOT-",
      "KUSAMA-",
      "SUBSTRATE-",
    ]),
    { description: "The chain.", example: "POLKADOT-2030" },
  ),
  hashing: required("hashing", oneOf(["Keccak", "Blake2"]), {
    description: "Hash of the chain's headers and tries. Compared with the node at start-up.",
    example: "Blake2",
  }),
  rpcWs: required("rpc_ws", webSocketUrl, {
    description: "A node of the chain with unsafe RPC methods.",
    example: "wss://parachain.example.org",
  }),
  consensusStateId: required("consensus_state_id", consensusStateId, {
    description: "Id under which the hub stores the chain; for parachains that of their relay chain.",
    example: "DOT0",
  }),
  ...nodeKeys,
  /** `undefined`: nothing is signed for this chain, so no fees are claimed for deliveries to it. */
  signer: accountOf(
    optional("signer", substrateSigner(files), {
      description:
        "Earns the fees of deliveries to this chain. Deliveries are unsigned: without a seed they are made, and no fees " +
        "are claimed for them.",
      example: "/run/secrets/parachain-seed",
    }),
  ),
  inboundOnly,
  ...scanKeys,
  feeTokenDecimals: withDefault("fee_token_decimals", integer(0, 18), 6, {
    description: "Decimals of the fee token of this chain's requests.",
  }),
});
