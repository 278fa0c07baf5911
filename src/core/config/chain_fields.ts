/**
 * Keys that sections of both programs have: names in the file, types, ranges, defaults.
 * Source: docs/specification.md, "Messaging relayer configuration" and "Consensus relayer configuration"; ranges from
 * docs/protocol/messaging.md section 3.
 */
import type { Hex } from "../protocol/bytes.ts";
import {
  type ConsensusStateId,
  type StateMachine,
  toConsensusStateId,
} from "../protocol/ismp/state_machine.ts";
import { consensusStateId, contractAddress, httpUrls, stateMachine, webSocketUrl } from "./chain_readers.ts";
import { apiKey, evmSigner, substrateSigner } from "./key_readers.ts";
import type { EndpointUrl, Secret } from "./redact.ts";
import { type Field, type Fields, optional, type Reader, required, withDefault } from "./section.ts";
import type { ConfigFiles } from "./toml.ts";
import { blockHeight, integer, oneOf, timerSeconds } from "./value_readers.ts";

/** Largest unsigned integer of 32 bits. */
export const UINT32_MAX = 2 ** 32 - 1;
const DEFAULT_POLL_INTERVAL_SEC = 10;
/** docs/specification.md, "Limits". */
const DEFAULT_MAX_RPC_PAYLOAD_BYTES = 150_000_000;
/** polytope-labs/hyperbridge: tesseract/messaging/substrate/src/provider.rs, `max_concurent_queries`. */
export const DEFAULT_MAX_CONCURRENT_QUERIES = 10;

/** Most bytes of one RPC request or response. */
export const payloadSize: Field<number> = withDefault(
  "max_rpc_payload_size",
  integer({ min: 1, max: UINT32_MAX, unit: "bytes" }),
  DEFAULT_MAX_RPC_PAYLOAD_BYTES,
);
/** Seconds. */
export const pollInterval: Field<number> = withDefault(
  "poll_interval",
  timerSeconds,
  DEFAULT_POLL_INTERVAL_SEC,
);
/** Queries start at the block after this one. */
export const initialHeight: Field<bigint | undefined> = optional("initial_height", blockHeight);
/** Most RPC requests at a time. */
export const concurrentQueries: Field<number> = withDefault(
  "max_concurent_queries",
  integer({ min: 1, max: UINT32_MAX }),
  DEFAULT_MAX_CONCURRENT_QUERIES,
);

/** A hub is a parachain: EVM handlers know hubs by a numeric para id only. */
export const hubStateMachine: Reader<StateMachine> = stateMachine(
  '"POLKADOT-n" or "KUSAMA-n" with a para id',
  [
    "POLKADOT-",
    "KUSAMA-",
  ],
);

/**
 * Under which other chains know a hub whose file does not say it: the live hubs' ids, PAS0 on Paseo, DOT0 on Polkadot
 * (docs/protocol/hub.md section 0).
 */
export function usualHubId(hub: StateMachine): ConsensusStateId {
  return toConsensusStateId(hub.startsWith("KUSAMA-") ? "PAS0" : "DOT0");
}

/** What every section of an EVM chain says. */
export interface EvmValues {
  /** `EVM-n`. */
  readonly stateMachine: StateMachine;
  /** In the order of preference; at least one, no repeats. */
  readonly rpcUrls: readonly EndpointUrl[];
  /** Under which the hub stores this chain. */
  readonly consensusStateId: ConsensusStateId;
  /** `undefined` (an empty text in the file): native prices come from the chain only. */
  readonly etherscanApiKey: Secret<string> | undefined;
  /** Host contract, lower case. */
  readonly ismpHost: Hex;
  /** A valid secp256k1 key, 32 bytes. */
  readonly signer: Secret<Hex>;
  /** Most blocks of one `eth_getLogs`; `undefined`: the whole range at once. */
  readonly queryBatchSizeBlocks: number | undefined;
  /** Most transactions traced at a time; `undefined`: the whole batch at once. */
  readonly tracingBatchSize: number | undefined;
  /** Percent added to the gas price when sending. */
  readonly gasPriceBufferPercent: number;
  readonly clientType: "Geth" | "Erigon";
  /** Inbound queries start at the block after this one; `undefined`: at the stored cursor or the hub's height. */
  readonly initialHeight: bigint | undefined;
  readonly pollIntervalSec: number;
}

/** Keys of a section of an EVM chain. */
export function evmFields(files: ConfigFiles): Fields<EvmValues> {
  return {
    stateMachine: required("state_machine", stateMachine('"EVM-n" with a chain id', ["EVM-"])),
    rpcUrls: required("rpc_urls", httpUrls),
    consensusStateId: required("consensus_state_id", consensusStateId),
    etherscanApiKey: required("etherscan_api_key", apiKey),
    ismpHost: required("ismp_host", contractAddress),
    signer: required("signer", evmSigner(files)),
    queryBatchSizeBlocks: optional("query_batch_size", integer({ min: 1, max: UINT32_MAX, unit: "blocks" })),
    tracingBatchSize: optional(
      "tracing_batch_size",
      integer({ min: 1, max: UINT32_MAX, unit: "transactions" }),
    ),
    gasPriceBufferPercent: withDefault(
      "gas_price_buffer",
      integer({ min: 0, max: 1000, unit: "percent" }),
      0,
    ),
    clientType: withDefault("client_type", oneOf(["Geth", "Erigon"]), "Geth"),
    initialHeight,
    pollIntervalSec: pollInterval,
  };
}

/** The values of a section with `type = "substrate"`. */
export interface SubstrateValues {
  /** `POLKADOT-n`, `KUSAMA-n` or `SUBSTRATE-xxxx`. */
  readonly stateMachine: StateMachine;
  /** Hash of the chain's headers and tries. */
  readonly hashing: "Keccak" | "Blake2";
  readonly rpcWs: EndpointUrl;
  /** Under which the hub stores this chain. */
  readonly consensusStateId: ConsensusStateId;
  /** Most bytes of one RPC request or response. */
  readonly maxRpcPayloadSizeBytes: number;
  /** Most RPC requests at a time. */
  readonly maxConcurrentQueries: number;
  /** `undefined`: nothing is signed for this chain, so no fees are claimed for deliveries to it. */
  readonly signer: Secret<Hex> | undefined;
  readonly pollIntervalSec: number;
  /** As {@link EvmValues.initialHeight}; `undefined`: at the stored cursor or the chain's final height. */
  readonly initialHeight: bigint | undefined;
  /** Decimals of the fee token of requests that originate here. */
  readonly feeTokenDecimals: number;
}

/** Keys of a section with `type = "substrate"`. */
export function substrateFields(files: ConfigFiles): Fields<SubstrateValues> {
  return {
    stateMachine: required(
      "state_machine",
      stateMachine('"POLKADOT-n", "KUSAMA-n" or "SUBSTRATE-xxxx" with 4 characters', [
        "POLKADOT-",
        "KUSAMA-",
        "SUBSTRATE-",
      ]),
    ),
    hashing: required("hashing", oneOf(["Keccak", "Blake2"])),
    rpcWs: required("rpc_ws", webSocketUrl),
    consensusStateId: required("consensus_state_id", consensusStateId),
    maxRpcPayloadSizeBytes: payloadSize,
    maxConcurrentQueries: concurrentQueries,
    signer: optional("signer", substrateSigner(files)),
    pollIntervalSec: pollInterval,
    initialHeight,
    feeTokenDecimals: withDefault("fee_token_decimals", integer({ min: 0, max: 18 }), 6),
  };
}
