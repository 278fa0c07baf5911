/**
 * Keys of the consensus relayer's file: those that several sections have, of host sections of clients too, of chains
 * whatever their type, and of the hub. Source: docs/specification.md, "Consensus relayer configuration";
 * docs/protocol/evm-consensus.md section 2; docs/protocol/hub-consensus.md section 3.2.
 */
import {
  DEFAULT_MAX_CONCURRENT_QUERIES,
  evmKeys,
  hubStateMachine,
  nodeKeys,
  scanKeys,
  substrateKeys,
} from "../../core/config/chains.ts";
import type { Accepted, SourceLocation } from "../../core/config/diagnostics.ts";
import {
  describeValue,
  type Key,
  optional,
  readValue,
  required,
  type SectionValues,
  type Type,
  unused,
  withDefault,
} from "../../core/config/schema.ts";
import { substrateSigner } from "../../core/config/secrets.ts";
import { type ConfigFiles, isTable, type TomlValue } from "../../core/config/toml.ts";
import {
  anyStateMachine,
  cappedSeconds,
  consensusStateId,
  integer,
  listOf,
  oneOf,
  UINT32_MAX,
  webSocketUrl,
  wideSeconds,
} from "../../core/config/values.ts";
import {
  type ConsensusStateId,
  type StateMachine,
  type StateMachineId,
  stateMachineIdKey,
  toParaId,
} from "../../core/ismp/state_machine.ts";

const FREQUENCY = "consensus_update_frequency";
const frequencyText = { description: "How often the chain is polled for a consensus update." };

/** Interval between consensus updates, which a chain's section must say. */
export const requiredFrequency = required(FREQUENCY, cappedSeconds, { ...frequencyText, example: 300 });

/**
 * Interval between consensus updates, seconds. 300: polytope-labs/hyperbridge: tesseract/consensus/{grandpa,bsc,op-host,
 * arb-host}, `consensus_update_frequency`.
 */
export function frequencyKey(fallbackSec = 300): Key<number> {
  return withDefault(FREQUENCY, cappedSeconds, fallbackSec, frequencyText);
}

/** Reason that keys about messages have no effect. */
const NO_MESSAGES = "it reads no messages";

/** Id of a parachain. */
export const paraId = integer(0, UINT32_MAX);

/**
 * Adds the hub to the parachains whose heads are proved: it is a parachain itself, and would not be proved otherwise.
 * @param listed location of the list.
 */
export function withHubPara(
  paraIds: readonly number[],
  hub: StateMachine,
  listed: SourceLocation,
): readonly number[] {
  const own = toParaId(hub);
  if (paraIds.includes(own)) return paraIds;
  listed.warning(`a list without ${own}`, `${own}, the hub's own id, among them`, "it is added");
  return [...paraIds, own];
}

/** A consensus state id; files of 2025 write it as an array of its four bytes. */
export const byteConsensusStateId: Type<ConsensusStateId> = {
  ...consensusStateId,
  json: { type: ["string", "array"] },
  read: (given, at, section) => consensusStateId.read(bytesToText(given), at, section),
};

function bytesToText(given: TomlValue): TomlValue {
  const isText = Array.isArray(given) &&
    given.every((byte) => typeof byte === "bigint" && byte >= 0x20n && byte <= 0x7en);
  return isText ? String.fromCharCode(...given.map(Number)) : given;
}

/** Maximum time between two updates of a chain before the program ends. */
export interface UpdateLimit {
  /** The chain, and the id under which its heights are stored. */
  readonly id: StateMachineId;
  readonly maxSec: bigint;
}

const PAIR_EXPECTED =
  'a pair such as [{ state_id = "EVM-1", consensus_state_id = "ETH0" }, 500] or [["EVM-1", "ETH0"], 500]';

const limitedId: Type<StateMachineId> = {
  expected: PAIR_EXPECTED,
  json: {
    type: ["object", "array"],
    properties: { state_id: anyStateMachine.json, consensus_state_id: byteConsensusStateId.json },
    required: ["state_id", "consensus_state_id"],
  },
  read: (given, at, section) => {
    const isShort = Array.isArray(given) && given.length === 2;
    const named = isShort ? { state_id: given[0], consensus_state_id: given[1] } : given;
    if (!isTable(named)) {
      at.problem(describeValue(named), PAIR_EXPECTED);
      return undefined;
    }
    const part = <T>(type: Type<T>, name: string): Accepted<T> | undefined =>
      readValue({ type }, named[name], { table: section, location: at.child(name) });
    const stateMachine = part(anyStateMachine, "state_id");
    const id = part(byteConsensusStateId, "consensus_state_id");
    return stateMachine && id &&
      { value: { stateMachine: stateMachine.value, consensusStateId: id.value } };
  },
};

const updateLimit: Type<UpdateLimit> = {
  expected: PAIR_EXPECTED,
  json: {
    type: "array",
    prefixItems: [limitedId.json, wideSeconds.json],
    items: false,
    minItems: 2,
    maxItems: 2,
  },
  read: (given, at, section) => {
    if (!Array.isArray(given) || given.length !== 2) {
      at.problem(describeValue(given), PAIR_EXPECTED);
      return undefined;
    }
    const id = limitedId.read(given[0], at.child(0), section);
    const maxSec = wideSeconds.read(given[1], at.child(1), section);
    return id && maxSec && { value: { id: id.value, maxSec: maxSec.value } };
  },
};

/** Pairs of a chain and the maximum time between its updates, each id once. */
export const updateLimits: Type<readonly UpdateLimit[]> = listOf(updateLimit, {
  expected: "an array of pairs (empty: no chain is watched)",
  identity: ({ id }) => stateMachineIdKey(id),
});

/** polytope-labs/hyperbridge: tesseract/messaging/substrate-evm/src/lib.rs, `SubstrateEvmClientConfig`. */
const substrateNode = optional("ws_url", webSocketUrl, {
  description: "",
  example: "wss://polkadot-hub.example.org",
});

/** Keys of all sections of EVM chains besides `type`. `files` reads keys given as a path. */
export const evmChainKeys = (files: ConfigFiles) => {
  const keys = evmKeys(files);
  return {
    ...keys,
    consensusStateId: {
      ...keys.consensusStateId,
      description:
        "Name of the chain's client on the hub; of a rollup its own, by which the L1's is replaced.",
    },
    signer: {
      ...keys.signer,
      description:
        "Pays for what is sent to this chain; not the messaging relayer's. Not needed with `inbound_only = true`.",
      example: "/run/secrets/ethereum-consensus-key",
    },
    queryBatchSizeBlocks: {
      ...keys.queryBatchSizeBlocks,
      description:
        "Only of rollups: maximum blocks of one event query on the L1. Without it, the whole range at once.",
    },
    tracingBatchSize: unused(keys.tracingBatchSize, "one transaction at a time is traced"),
    wsUrl: unused(substrateNode, "state of `substrate_evm` chains is read by the messaging relayer"),
    pollIntervalSec: unused(keys.pollIntervalSec, "the one of [hub.substrate] counts"),
    initialHeight: unused(keys.initialHeight, NO_MESSAGES),
  };
};

/** Keys of sections of Substrate chains. `files` reads keys that are given as a path. */
export const followerKeys = (files: ConfigFiles) => {
  const keys = substrateKeys(files);
  return {
    type: required("type", oneOf(["substrate"]), {
      description: "A chain that follows a hub of type `grandpa`; it needs no host section.",
      example: "substrate",
    }),
    ...keys,
    stateMachine: { ...keys.stateMachine, example: "SUBSTRATE-cere" },
    rpcWs: { ...keys.rpcWs, description: "A node of the chain.", example: "wss://solochain.example.org" },
    consensusStateId: {
      ...keys.consensusStateId,
      description: "Under which the hub knows the chain.",
      example: "CERE",
    },
    signer: {
      ...keys.signer,
      description: "Signs updates there. Any key does: without one, the hub's.",
      example: "/run/secrets/solochain-seed",
    },
    pollIntervalSec: unused(keys.pollIntervalSec, "`consensus_update_frequency` of [hub.grandpa] counts"),
    initialHeight: unused(keys.initialHeight, NO_MESSAGES),
    feeTokenDecimals: unused(keys.feeTokenDecimals, NO_MESSAGES),
  };
};

/** Values of a section of an EVM chain. */
export interface EvmChainSection extends SectionValues<ReturnType<typeof evmChainKeys>> {
  /** Name of the section in the file. */
  readonly section: string;
}

/** `type = "evm"` of a chain that no client on the hub follows: it only receives. */
export interface ReceiveOnlyConfig extends EvmChainSection {
  readonly type: "receive_only";
}

/**
 * `type = "substrate"`: it follows a hub of type "grandpa", and is proved to it only as a parachain on the same relay
 * chain.
 */
export interface FollowerConfig extends SectionValues<ReturnType<typeof followerKeys>> {
  /** Name of the section in the file. */
  readonly section: string;
}

/** 0, as in old sample files, would allow no request: it stands for the default. */
const concurrentQueries: Type<number> = {
  ...nodeKeys.maxConcurrentQueries.type,
  read: (given, ...place) =>
    nodeKeys.maxConcurrentQueries.type.read(
      given === 0n ? BigInt(DEFAULT_MAX_CONCURRENT_QUERIES) : given,
      ...place,
    ),
};

/** Keys of `[hub.substrate]`. `files` reads keys that are given as a path. */
export const hubSubstrateKeys = (files: ConfigFiles) => ({
  rpcWs: required("rpc_ws", webSocketUrl, {
    description: "A node of the hub.",
    example: "wss://hub.example.org",
  }),
  hashing: withDefault("hashing", oneOf(["Keccak", "Blake2"]), "Keccak", {
    description: "Hash of the hub's headers and tries. Compared with the node at start-up.",
  }),
  stateMachine: hubStateMachine,
  maxRpcPayloadSizeBytes: nodeKeys.maxRpcPayloadSizeBytes,
  requestsPerSecond: nodeKeys.requestsPerSecond,
  signer: required("signer", substrateSigner(files), {
    description: "The account that receives the rewards for updates. Updates themselves cost nothing.",
    example: "/run/secrets/hub-consensus-seed",
  }),
  maxConcurrentQueries: {
    ...nodeKeys.maxConcurrentQueries,
    type: concurrentQueries,
    description: `${nodeKeys.maxConcurrentQueries.description} 0 stands for the default.`,
  },
  pollIntervalSec: {
    ...scanKeys.pollIntervalSec,
    description:
      "How often the hub is polled for heights of the L1s of rollups, with type `beefy` also each EVM host.",
  },
  consensusStateId: optional("consensus_state_id", consensusStateId, {
    description: "Id under which chains know the hub. Without it, PAS0 for a `KUSAMA-n`, else DOT0.",
    example: "DOT0",
  }),
  initialHeight: unused(scanKeys.initialHeight, NO_MESSAGES),
  feeTokenDecimals: unused(
    optional("fee_token_decimals", integer(0, 18), { description: "", example: 6 }),
    NO_MESSAGES,
  ),
});

/** The values of `[hub.substrate]`. */
export interface HubSubstrateConfig extends SectionValues<ReturnType<typeof hubSubstrateKeys>> {
  /** Id under which other chains know the hub. */
  readonly consensusStateId: ConsensusStateId;
}
