/**
 * The keys of the messaging relayer's sections: names in the file, types, ranges, defaults.
 * Source: docs/specification.md, "Messaging relayer configuration"; ranges from docs/protocol/messaging.md section 3.
 */
import { toHex } from "../protocol/bytes.ts";
import type { ConsensusStateId, StateMachine } from "../protocol/ismp/state_machine.ts";
import {
  concurrentQueries,
  hubStateMachine,
  initialHeight,
  payloadSize,
  pollInterval,
} from "./chain_fields.ts";
import { anyStateMachine, consensusStateId, moduleId, webSocketUrl } from "./chain_readers.ts";
import { substrateSigner } from "./key_readers.ts";
import type { HubValues, RelayerConfig } from "./messaging_config.ts";
import { type Fields, optional, required, withDefault } from "./section.ts";
import type { ConfigFiles } from "./toml.ts";
import { amount, boolean, integer, listOf, positiveAmount, timerSeconds } from "./value_readers.ts";

/** {@link HubValues} and the id as the file has it. */
export type HubFileValues = HubValues & { readonly consensusStateId: ConsensusStateId | undefined };

/** Keys of `[hub]`. */
export function hubFields(files: ConfigFiles): Fields<HubFileValues> {
  return {
    stateMachine: required("state_machine", hubStateMachine),
    rpcWs: required("rpc_ws", webSocketUrl),
    maxRpcPayloadSizeBytes: payloadSize,
    maxConcurrentQueries: concurrentQueries,
    initialHeight,
    pollIntervalSec: pollInterval,
    consensusStateId: optional("consensus_state_id", consensusStateId),
    signer: optional("signer", substrateSigner(files)),
    tokenPrice: optional("token_price", positiveAmount("dollars per token")),
  };
}

/** {@link RelayerConfig} with the lists as the file has them. */
export type RelayerFileValues = Omit<RelayerConfig, "deliveryEndpoints" | "moduleFilter"> & {
  readonly deliveryEndpoints: readonly StateMachine[];
  readonly moduleFilter: readonly Uint8Array[];
};

/** Keys of `[relayer]`. */
export const relayerFields: Fields<RelayerFileValues> = {
  minimumProfitPercent: required(
    "minimum_profit_percentage",
    integer({ min: 0, max: 1_000_000, unit: "percent" }),
  ),
  withdrawalFrequencySec: withDefault("withdrawal_frequency", timerSeconds, 86_400),
  minimumWithdrawalAmount: withDefault("minimum_withdrawal_amount", amount("dollars"), 100),
  deliveryEndpoints: required(
    "delivery_endpoints",
    listOf(anyStateMachine, {
      expected: "an array of state machines (empty for all chains)",
      identity: (machine) => machine,
    }),
  ),
  moduleFilter: withDefault(
    "module_filter",
    listOf(moduleId, { expected: "an array of module identifiers", identity: toHex }),
    [],
  ),
  unprofitableRetryFrequencySec: optional("unprofitable_retry_frequency", timerSeconds),
  maximumDailyLoss: optional("maximum_daily_loss", positiveAmount("dollars")),
  disableFeeAccumulation: withDefault("disable_fee_accumulation", boolean, false),
};

const CONSENSUS_ONLY = "belongs to the configuration of the consensus relayer";
const DEAD_KEY = "a leftover of old sample files; remove it";

/** Keys of `[hub]` that other files have. */
export const hubIgnored: Readonly<Record<string, string>> = {
  type: CONSENSUS_ONLY,
  grandpa: CONSENSUS_ONLY,
  beefy: CONSENSUS_ONLY,
  substrate: CONSENSUS_ONLY,
  prover: CONSENSUS_ONLY,
  redis: CONSENSUS_ONLY,
  hashing: "the hub always hashes with Keccak",
  fee_token_decimals: "belongs to a substrate chain entry",
};

/** Keys of `[relayer]` that other files have. */
export const relayerIgnored: Readonly<Record<string, string>> = {
  consensus: DEAD_KEY,
  messaging: DEAD_KEY,
  router: DEAD_KEY,
  deliver_failed: "messages that would fail are never sent",
  fisherman: "this relayer has no fisherman task",
  maximum_update_intervals: CONSENSUS_ONLY,
  enable_hub_consensus: CONSENSUS_ONLY,
  challenge_period: CONSENSUS_ONLY,
};

/** Keys of `evm` entries that other files or entries have. */
export const evmIgnored: Readonly<Record<string, string>> = {
  host: CONSENSUS_ONLY,
  consensus: CONSENSUS_ONLY,
  transport: "this relayer speaks the standard Ethereum JSON-RPC only",
  rpc_ws: 'a key of `type = "substrate"` entries; evm entries have `rpc_urls`',
  hashing: 'a key of `type = "substrate"` entries',
  fee_token_decimals: "read from the fee token of the chain",
  max_rpc_payload_size: 'a key of [hub] and of `type = "substrate"` entries',
};

/** Keys of `substrate` entries that other files or entries have. */
export const substrateIgnored: Readonly<Record<string, string>> = {
  host: CONSENSUS_ONLY,
  consensus: CONSENSUS_ONLY,
  rpc_urls: 'a key of `type = "evm"` entries; substrate entries have `rpc_ws`',
  ismp_host: 'a key of `type = "evm"` entries',
  etherscan_api_key: 'a key of `type = "evm"` entries',
  gas_price_buffer: 'a key of `type = "evm"` entries',
};

/** Advice for values of `type` that exist elsewhere. */
export const unsupportedTypes: Readonly<Record<string, string>> = {
  tendermint: "Tendermint chains are not supported",
  substrate_evm: "EVM pallets of Substrate chains are not supported",
  pharos_evm: "Pharos chains are not supported",
  tron: "Tron is not supported",
  arbitrum_orbit: 'a type of the consensus relayer; for messages write type = "evm"',
  op_stack: 'a type of the consensus relayer; for messages write type = "evm"',
  bsc: 'a type of the consensus relayer; for messages write type = "evm"',
  grandpa: "a type of the consensus relayer",
  beefy: "a type of the consensus relayer",
};
