/**
 * Keys that the hub has whatever its type: `[hub.substrate]`. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/hub-consensus.md section 3.2.
 */
import {
  DEFAULT_MAX_CONCURRENT_QUERIES,
  hubStateMachine,
  nodeKeys,
  scanKeys,
} from "../../core/config/chains.ts";
import { consensusStateId, integer, oneOf, webSocketUrl } from "../../core/config/values.ts";
import type { SectionValues } from "../../core/config/schema.ts";
import { optional, replacing, required, withDefault, withRemarks } from "../../core/config/schema.ts";
import { substrateSigner } from "../../core/config/secrets.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import type { ConsensusStateId } from "../../core/ismp/state_machine.ts";
import { NO_MESSAGES, unused } from "./shared_keys.ts";

/** 0, as in old sample files, would allow no request: it stands for the default. */
const concurrentQueries = withRemarks(
  replacing(
    nodeKeys.maxConcurrentQueries.type,
    (given) => given === 0n ? BigInt(DEFAULT_MAX_CONCURRENT_QUERIES) : given,
  ),
  (given) =>
    given === 0n
      ? [{ kind: "note", found: `0 stands for the default, ${DEFAULT_MAX_CONCURRENT_QUERIES}` }]
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
  requestsPerSecond: nodeKeys.requestsPerSecond,
  signer: required(substrateSigner(files), {
    name: "signer",
    description: "The account that receives the rewards for updates. Updates themselves cost nothing.",
    example: "/run/secrets/hub-consensus-seed",
  }),
  maxConcurrentQueries: withDefault(concurrentQueries, DEFAULT_MAX_CONCURRENT_QUERIES, {
    name: nodeKeys.maxConcurrentQueries.name,
    description: `${nodeKeys.maxConcurrentQueries.description} 0 stands for the default.`,
  }),
  pollIntervalSec: {
    ...scanKeys.pollIntervalSec,
    description:
      "How often the hub is polled for heights of the L1s of rollups, with type `beefy` also each EVM host.",
  },
  consensusStateId: optional(consensusStateId, {
    name: "consensus_state_id",
    description: "Id under which chains know the hub. Without it, PAS0 for a `KUSAMA-n`, else DOT0.",
    example: "DOT0",
  }),
});

/** The values of `[hub.substrate]`. */
export interface HubSubstrateConfig extends SectionValues<ReturnType<typeof hubSubstrateKeys>> {
  /** Id under which other chains know the hub. */
  readonly consensusStateId: ConsensusStateId;
}

/** Section `[hub.substrate]`. `files` is asked for keys that are given as a path. */
export const hubSubstrateSection = (files: ConfigFiles) => ({
  description: "The hub's parachain itself.",
  keys: hubSubstrateKeys(files),
  withoutEffect: [
    unused(scanKeys.initialHeight, NO_MESSAGES),
    unused(
      { ...optional(integer(0, 18), { name: "fee_token_decimals", description: "", example: 6 }) },
      NO_MESSAGES,
    ),
  ],
});
