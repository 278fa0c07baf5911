/**
 * The keys of the consensus relayer's sections: names in the file, types, ranges, defaults.
 * Source: docs/specification.md, "Consensus relayer configuration"; docs/protocol/hub-consensus.md section 3.2 and
 * docs/protocol/evm-consensus.md section 2.
 */
import type { ConsensusStateId } from "../protocol/ismp/state_machine.ts";
import {
  DEFAULT_MAX_CONCURRENT_QUERIES,
  hubStateMachine,
  initialHeight,
  payloadSize,
  pollInterval,
  UINT32_MAX,
} from "./chain_fields.ts";
import { consensusStateId, contractAddress, httpUrls, stateMachine, webSocketUrl } from "./chain_readers.ts";
import type {
  ArbitrumHostValues,
  BeaconHostValues,
  BeefyProverValues,
  BscHostValues,
  ConsensusRelayerConfig,
  GrandpaValues,
  HubSubstrateValues,
  OpStackHostValues,
  RollupHostValues,
} from "./consensus_config.ts";
import { byteConsensusStateId, updateLimits } from "./consensus_readers.ts";
import { substrateSigner } from "./key_readers.ts";
import { alsoNamed, type Fields, optional, type Reader, required, withDefault } from "./section.ts";
import type { ConfigFiles } from "./toml.ts";
import { boolean, cappedSeconds, integer, listOf, oneOf } from "./value_readers.ts";

/** polytope-labs/hyperbridge: tesseract/consensus/{grandpa,bsc,op-host,arb-host}, `consensus_update_frequency`. */
const DEFAULT_UPDATE_FREQUENCY_SEC = 300;
/** polytope-labs/hyperbridge: tesseract/consensus/grandpa, `max_block_range`. */
const DEFAULT_MAX_BLOCK_RANGE = 2_400;
/** polytope-labs/hyperbridge: tesseract/consensus/bsc, `epoch_length`. */
const DEFAULT_EPOCH_LENGTH = 1_000;
/** polytope-labs/hyperbridge: tesseract/prover, `max_rpc_payload_size` and `query_batch_size`. */
const DEFAULT_PROVER_PAYLOAD_BYTES = 15 * 1024 * 1024;
const DEFAULT_PROVER_BATCH = 200;

const paraId = integer({ min: 0, max: UINT32_MAX });
const frequency = withDefault("consensus_update_frequency", cappedSeconds, DEFAULT_UPDATE_FREQUENCY_SEC);

/** Keys of `[hub]` itself. */
export const hubFields: Fields<{ readonly type: "grandpa" | "beefy" }> = {
  type: required("type", oneOf(["grandpa", "beefy"])),
};

/** Keys of `[hub.grandpa]`. */
export const grandpaFields: Fields<GrandpaValues> = {
  rpc: required("rpc", webSocketUrl),
  slotDurationMs: required("slot_duration", integer({ min: 1, max: UINT32_MAX, unit: "milliseconds" })),
  consensusUpdateFrequencySec: frequency,
  paraIds: required(
    "para_ids",
    listOf(paraId, {
      expected: "an array of parachain ids",
      identity: String,
    }),
  ),
  maxBlockRange: withDefault(
    "max_block_range",
    integer({ min: 1, max: UINT32_MAX, unit: "blocks" }),
    DEFAULT_MAX_BLOCK_RANGE,
  ),
};

/** Keys of `[hub.prover]`. */
export const proverFields: Fields<BeefyProverValues> = {
  relayRpcWs: required("relay_rpc_ws", webSocketUrl),
  paraRpcWs: optional("para_rpc_ws", webSocketUrl),
  paraIds: required(
    "para_ids",
    listOf(paraId, { expected: "an array of at least one parachain id", atLeast: 1, identity: String }),
  ),
  maxRpcPayloadSizeBytes: withDefault(
    "max_rpc_payload_size",
    integer({ min: 1, max: UINT32_MAX, unit: "bytes" }),
    DEFAULT_PROVER_PAYLOAD_BYTES,
  ),
  queryBatchSize: withDefault(
    "query_batch_size",
    integer({ min: 1, max: UINT32_MAX, unit: "storage keys" }),
    DEFAULT_PROVER_BATCH,
  ),
};

/** 0, which old sample files have, would let no request through: it stands for the default. */
const concurrentQueries: Reader<number> = {
  expected: integer({ min: 1, max: UINT32_MAX }).expected,
  read: (value, place) => {
    if (value !== 0n) return integer({ min: 1, max: UINT32_MAX }).read(value, place);
    place.note(`0 stands for the default, ${DEFAULT_MAX_CONCURRENT_QUERIES}`);
    return { value: DEFAULT_MAX_CONCURRENT_QUERIES };
  },
};

/** {@link HubSubstrateValues} and the id as the file has it. */
export type HubSubstrateFileValues = HubSubstrateValues & {
  readonly consensusStateId: ConsensusStateId | undefined;
};

/** Keys of `[hub.substrate]`. */
export function hubSubstrateFields(files: ConfigFiles): Fields<HubSubstrateFileValues> {
  return {
    rpcWs: required("rpc_ws", webSocketUrl),
    hashing: withDefault("hashing", oneOf(["Keccak", "Blake2"]), "Keccak"),
    stateMachine: required("state_machine", hubStateMachine),
    maxRpcPayloadSizeBytes: payloadSize,
    signer: required("signer", substrateSigner(files)),
    initialHeight,
    maxConcurrentQueries: withDefault(
      "max_concurent_queries",
      concurrentQueries,
      DEFAULT_MAX_CONCURRENT_QUERIES,
    ),
    pollIntervalSec: pollInterval,
    feeTokenDecimals: optional("fee_token_decimals", integer({ min: 0, max: 18 })),
    consensusStateId: optional("consensus_state_id", consensusStateId),
  };
}

/** Keys of `[relayer]`. */
export const relayerFields: Fields<ConsensusRelayerConfig> = {
  maximumUpdateIntervals: withDefault("maximum_update_intervals", updateLimits, []),
  enableHubConsensus: alsoNamed(
    "enable_hyperbridge_consensus",
    withDefault("enable_hub_consensus", boolean, true),
  ),
};

/** Keys of the host section of `evm`. */
export const beaconHostFields: Fields<BeaconHostValues> = {
  beaconHttpUrls: required("beacon_http_urls", httpUrls),
  consensusUpdateFrequencySec: required("consensus_update_frequency", cappedSeconds),
};

const rollupHostFields: Fields<RollupHostValues> = {
  l1RpcUrls: alsoNamed("ethereum_rpc_url", required("beacon_rpc_url", httpUrls)),
  l1StateMachine: required("l1_state_machine", stateMachine('"EVM-n" with a chain id', ["EVM-"])),
  l1ConsensusStateId: required("l1_consensus_state_id", byteConsensusStateId),
  consensusUpdateFrequencySec: frequency,
};

/** Keys of the host section of `op_stack`. */
export const opStackHostFields: Fields<OpStackHostValues> = {
  ...rollupHostFields,
  disputeGameFactory: required("dispute_game_factory", contractAddress),
  respectedGameType: optional("respected_game_type", integer({ min: 0, max: UINT32_MAX })),
  messageParser: required("message_parser", contractAddress),
  l2Oracle: optional("l2_oracle", contractAddress),
};

/** Keys of the host section of `arbitrum_orbit`. */
export const arbitrumHostFields: Fields<ArbitrumHostValues> = {
  ...rollupHostFields,
  rollupCore: required("rollup_core", contractAddress),
};

/** Keys of the host section of `bsc`. */
export const bscHostFields: Fields<BscHostValues> = {
  consensusUpdateFrequencySec: frequency,
  epochLength: withDefault(
    "epoch_length",
    integer({ min: 1, max: UINT32_MAX, unit: "blocks" }),
    DEFAULT_EPOCH_LENGTH,
  ),
};

const MESSAGING_ONLY = "belongs to the configuration of the messaging relayer";
const OWN_SUBSTRATE = "belongs to [hub.substrate]";
const OF_THE_ENTRY = "said by the chain's own section already";

/** Keys of `[hub]` that other files have. */
export const hubIgnored: Readonly<Record<string, string>> = {
  redis: "this relayer takes accepted proofs from the hub, not from a queue",
  beefy: "this relayer takes accepted proofs from the hub, not from a queue",
  rpc_ws: OWN_SUBSTRATE,
  state_machine: OWN_SUBSTRATE,
  signer: OWN_SUBSTRATE,
  consensus_state_id: OWN_SUBSTRATE,
  max_rpc_payload_size: OWN_SUBSTRATE,
  initial_height: OWN_SUBSTRATE,
  poll_interval: OWN_SUBSTRATE,
};

/** Keys of `[hub.prover]` that other files have. */
export const proverIgnored: Readonly<Record<string, string>> = {
  proof_variant: "this relayer makes ECDSA proofs only",
  zk_beefy: "this relayer makes ECDSA proofs only",
};

/** Keys of `[relayer]` that other files have. */
export const relayerIgnored: Readonly<Record<string, string>> = {
  challenge_period: "challenge periods are set on the hub",
  minimum_profit_percentage: MESSAGING_ONLY,
  withdrawal_frequency: MESSAGING_ONLY,
  minimum_withdrawal_amount: MESSAGING_ONLY,
  delivery_endpoints: MESSAGING_ONLY,
  module_filter: MESSAGING_ONLY,
  unprofitable_retry_frequency: MESSAGING_ONLY,
  disable_fee_accumulation: MESSAGING_ONLY,
};

/** Keys of chain entries that other files have. */
export const chainIgnored: Readonly<Record<string, string>> = {
  transport: "this relayer speaks the standard Ethereum JSON-RPC only",
  rpc_ws: "entries have `rpc_urls`",
  hashing: 'a key of `type = "substrate"` entries',
  max_rpc_payload_size: "a key of [hub.substrate]",
  fee_token_decimals: "read from the fee token of the chain",
};

/** Keys of `substrate` entries that other entries have. */
export const toldIgnored: Readonly<Record<string, string>> = {
  host: "nothing is proved of Substrate chains",
  rpc_urls: "a key of EVM entries; substrate entries have `rpc_ws`",
  ismp_host: "a key of EVM entries",
  etherscan_api_key: "a key of EVM entries",
  gas_price_buffer: "a key of EVM entries",
};

/** Keys of host sections that other files have. */
export const hostIgnored: Readonly<Record<string, string>> = {
  state_machine: OF_THE_ENTRY,
  rpc_urls: OF_THE_ENTRY,
  evm_config: OF_THE_ENTRY,
  proposer_config: "this relayer proposes no dispute games",
};

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
