/**
 * Hub sections of the consensus relayer's file. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/hub-consensus.md section 3.2.
 */
import { z } from "zod";
import {
  DEFAULT_MAX_CONCURRENT_QUERIES,
  hubStateMachine,
  nodeKeys,
  scanKeys,
} from "../../core/config/chains.ts";
import { consensusStateId, webSocketUrl } from "../../core/config/chain_values.ts";
import { optional, required, type Values, withDefault, withRemarks } from "../../core/config/schema.ts";
import { substrateSigner } from "../../core/config/secrets.ts";
import type { ConfigFiles } from "../../core/config/toml.ts";
import { integer, listOf, oneOf, UINT32_MAX } from "../../core/config/values.ts";
import type { ConsensusStateId } from "../../core/ismp/state_machine.ts";
import { frequencyKey, NO_MESSAGES, unused } from "./shared_keys.ts";

/** Section `[hub]` (or `[hyperbridge]`). */
export interface ConsensusHubConfig {
  /** Name of the section in the file. */
  readonly section: string;
  readonly consensus: HubConsensusConfig;
  readonly substrate: HubSubstrateConfig;
}

/** Finality of the hub, and the source of its proofs. */
export type HubConsensusConfig =
  | { readonly type: "grandpa"; readonly grandpa: GrandpaValues }
  | {
    readonly type: "beefy";
    /** `undefined`: proofs are taken from the hub only, none are built. */
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
      "A node of the hub that shows which heads hold messages. Without it, the one of [hub.substrate].",
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

/** 0, as in old sample files, would allow no request: it stands for the default. */
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
      "How often the hub is polled for new heights of the L1s of rollups, and with type `beefy` how " +
      "often each EVM host is polled.",
  },
  consensusStateId: optional(consensusStateId, {
    name: "consensus_state_id",
    description: "Id under which other chains know the hub. Without it, PAS0 for a `KUSAMA-n`, else DOT0.",
    example: "DOT0",
  }),
});

/** The values of `[hub.substrate]`. */
export interface HubSubstrateConfig extends Values<ReturnType<typeof hubSubstrateKeys>> {
  /** Id under which other chains know the hub. */
  readonly consensusStateId: ConsensusStateId;
}

const OWN_SUBSTRATE = "belongs to [hub.substrate]";

/** The sections of the hub. `files` is asked for keys that are given as a path. */
export const hubSections = (files: ConfigFiles) => ({
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
});
