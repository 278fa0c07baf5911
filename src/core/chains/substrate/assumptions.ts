/**
 * What this program assumes of a runtime: calls that it makes, storage that it reads by keys of its own, events that it
 * decodes. Indexes come from the metadata, these layouts do not. Pure. Sources: polytope-labs/hyperbridge:
 * modules/pallets/{ismp,relayer,state-coprocessor,bandwidth,beefy-consensus-proofs}; keys in `core/ismp/storage_keys.ts`.
 */
import {
  type CallLayout,
  callLayouts,
  type Layout,
  type RuntimeEventLayout,
  stateMachineLayout,
  type StorageHasher,
  type StorageLayout,
} from "./layout.ts";
import type { Runtime } from "./runtime.ts";

/** Assumptions that one purpose needs. */
export interface Assumptions {
  /** What does not work where one of them does not hold. */
  readonly without: string;
  readonly calls?: readonly CallLayout[];
  /** A list holds alternatives: older releases keep the value elsewhere. */
  readonly storage?: readonly (StorageLayout | readonly StorageLayout[])[];
  readonly events?: readonly RuntimeEventLayout[];
  /** True: the rest works without it. */
  readonly isOptional: boolean;
  /** True: what the runtime lacks altogether is no difference: older ones do without. */
  readonly mayLack: boolean;
}

const bytes: Layout = { list: "u8" };
const id4: Layout = { array: "u8", length: 4 };
const hash: Layout = { array: "u8", length: 32 };
const u256: Layout = { array: "u64", length: 4 };
const nothing: Layout = { fields: [] };
const stateMachineId: Layout = { fields: [stateMachineLayout, id4] };
const stateMachineHeight: Layout = { fields: [stateMachineId, "u64"] };
const commitment: Layout = { fields: ["u64", { variants: { 0: [], 1: [hash] } }, hash] };

/** A map of one key. */
function map(item: string, [hasher, key]: readonly [StorageHasher, Layout], value: Layout): StorageLayout {
  return { item, hashers: [hasher], key, value };
}

const timestamp: StorageLayout = { item: "Timestamp.Now", hashers: [], value: "u64" };
const latestHeight = map("Ismp.LatestStateMachineHeight", ["Blake2128Concat", stateMachineId], "u64");
const challengePeriod = map("Ismp.ChallengePeriod", ["Blake2128Concat", stateMachineId], "u64");
const clientOf = map("Ismp.ConsensusStateClient", ["Blake2128Concat", id4], id4);
const frozenClients = map("Ismp.FrozenConsensusClients", ["Blake2128Concat", id4], "bool");

/** Commitments of other chains; releases up to July 2025 have them under other names. */
const commitments: Assumptions["storage"] = [
  [
    {
      item: "Ismp.BoundedStateCommitments",
      hashers: ["Blake2128Concat", "Blake2128Concat"],
      key: { fields: [stateMachineId, "u64"] },
      value: commitment,
    },
    map("Ismp.StateCommitments", ["Blake2128Concat", stateMachineHeight], commitment),
  ],
  [
    {
      item: "Ismp.BoundedStateMachineUpdateTime",
      hashers: ["Blake2128Concat", "Blake2128Concat"],
      key: { fields: [stateMachineId, "u64"] },
      value: "u64",
    },
    map("Ismp.StateMachineUpdateTime", ["Twox64Concat", stateMachineHeight], "u64"),
  ],
];

const handled: Layout = { fields: [hash, bytes] };

/** To tell what an extrinsic did. */
const outcomes: Assumptions = {
  without: "nobody could tell what was delivered to it",
  isOptional: false,
  mayLack: true,
  events: [
    { event: "System.ExtrinsicFailed" },
    { event: "Ismp.PostRequestHandled", fields: [handled] },
    { event: "Ismp.GetRequestHandled", fields: [handled] },
    { event: "Ismp.StateMachineUpdated", fields: [stateMachineId, "u64"] },
  ],
};

/** To deliver messages to any Substrate chain. */
const relaying: Assumptions = {
  without: "no message can be delivered to it",
  isOptional: false,
  mayLack: false,
  calls: [callLayouts.requests],
  storage: [timestamp, latestHeight, challengePeriod, clientOf, frozenClients, ...commitments],
};

/** To answer GET requests, and to be paid. */
const earning: Assumptions = {
  without: "GET requests cannot be answered, or fees not claimed",
  isOptional: false,
  mayLack: false,
  calls: [callLayouts.getRequests, callLayouts.accumulateFees, callLayouts.withdrawFees],
  storage: [
    {
      item: "Relayer.Fees",
      hashers: ["Blake2128Concat", "Blake2128Concat"],
      key: { fields: [stateMachineLayout, bytes] },
      value: u256,
    },
    {
      item: "Relayer.Nonce",
      hashers: ["Blake2128Concat", "Blake2128Concat"],
      key: { fields: [bytes, stateMachineLayout] },
      value: "u64",
    },
    map("Relayer.MinimumWithdrawalAmount", ["Blake2128Concat", stateMachineLayout], u256),
    { item: "Mmr.NumberOfLeaves", hashers: [], value: "u64" },
    { item: "Ismp.Nonce", hashers: [], value: "u64" },
  ],
};

const rewards: Assumptions = {
  without: "rewards of the hub are not claimed",
  isOptional: true,
  mayLack: true,
  calls: [callLayouts.claimRotation, callLayouts.claimRequest],
  storage: [
    map("Relayer.OutboundConsensusDeliveryReward", ["Blake2128Concat", stateMachineLayout], "u128"),
    {
      item: "Relayer.OutboundConsensusRotationsClaimed",
      hashers: ["Blake2128Concat", "Blake2128Concat"],
      key: { fields: [stateMachineLayout, "u64"] },
      value: nothing,
    },
    map("Relayer.OutboundRequestDeliveryReward", ["Blake2128Concat", bytes], "u128"),
    map("Relayer.OutboundRequestsClaimed", ["Blake2128Concat", hash], nothing),
  ],
};

const bandwidth: Assumptions = {
  without: "the bandwidth of senders is not known before their messages are proved",
  isOptional: true,
  mayLack: true,
  storage: [
    map("Bandwidth.BandwidthManager", ["Twox64Concat", stateMachineLayout], { array: "u8", length: 20 }),
    {
      item: "Bandwidth.Allowance",
      hashers: ["Twox64Concat", "Blake2128Concat"],
      key: { fields: [stateMachineLayout, bytes] },
      value: { list: { fields: [{ variants: { 1: [], 2: [], 3: [], 4: [] } }, "u128", "u64", "u64"] } },
    },
    {
      item: "Bandwidth.Allowlist",
      hashers: ["Twox64Concat", "Blake2128Concat"],
      key: { fields: [stateMachineLayout, bytes] },
      value: nothing,
    },
  ],
};

const acceptedProofs: Assumptions = {
  without: "consensus proofs cannot be delivered together with messages",
  isOptional: true,
  mayLack: true,
  storage: [
    { item: "BeefyConsensusProofs.MessagingProofs", hashers: [], value: { list: "u64" } },
    { item: "BeefyConsensusProofs.RotationProofs", hashers: [], value: { list: { fields: ["u64", "u64"] } } },
  ],
};

const hosts: Assumptions = {
  without: "the host contracts of chains are not compared with the hub's list",
  isOptional: true,
  mayLack: true,
  storage: [map("HostExecutive.EvmHosts", ["Twox64Concat", stateMachineLayout], { array: "u8", length: 20 })],
};

/** To submit consensus updates. */
const updating: Assumptions = {
  without: "no consensus update can be submitted to it",
  isOptional: false,
  mayLack: false,
  calls: [callLayouts.consensus],
  storage: [
    timestamp,
    latestHeight,
    clientOf,
    frozenClients,
    map("Ismp.ConsensusStates", ["Twox64Concat", id4], bytes),
    map("Ismp.UnbondingPeriod", ["Blake2128Concat", id4], "u64"),
    map("Ismp.ConsensusClientUpdateTime", ["Twox64Concat", id4], "u64"),
    challengePeriod,
  ],
};

/** To prove the state of EVM contracts as the hub reads it: `core/substrate/contract_state.ts`. */
const contracts: Assumptions = {
  without: "the hub cannot read the state of its contracts",
  isOptional: false,
  mayLack: false,
  storage: [
    timestamp,
    map("Revive.AccountInfoOf", ["Identity", { array: "u8", length: 20 }], {
      startsWith: [{ variants: { 0: [{ startsWith: [bytes] }] } }],
    }),
  ],
};

/**
 * What is done with a chain: messages are relayed from and to the hub or another chain, updates are submitted, or the
 * state of EVM contracts is proved.
 */
export type ChainUse = "hub" | "relayed" | "updated" | "contracts";

/** Assumptions by what is done with the chain. */
export const assumptions: Readonly<Record<ChainUse, readonly Assumptions[]>> = {
  hub: [relaying, outcomes, earning, rewards, bandwidth, acceptedProofs, hosts],
  relayed: [relaying, outcomes],
  updated: [updating, outcomes],
  contracts: [contracts],
};

/** A purpose that a runtime does not serve, with the reason for the operator. */
export interface Unmet {
  readonly isOptional: boolean;
  readonly text: string;
}

/** Lists the purposes that a runtime does not serve. */
export function findUnmet(runtime: Runtime, use: ChainUse): readonly Unmet[] {
  const { specName, specVersion } = runtime.version;
  return assumptions[use].flatMap((each) => {
    const differences = findDifferences(runtime, each);
    if (differences.length === 0) return [];
    const text =
      `runtime ${specName} ${specVersion} is another than this program knows, so ${each.without}: ` +
      `${differences.join("; ")}; update this program`;
    return [{ isOptional: each.isOptional, text }];
  });
}

/** Lists what a runtime does not fit, e.g. `Relayer.Fees: value: expected u128, found list`. */
export function findDifferences(
  runtime: Runtime,
  { calls = [], events = [], storage = [], mayLack }: Assumptions,
): readonly string[] {
  const isLacking = (has: boolean): boolean => mayLack && !has;
  const ofCalls = calls.map((call) =>
    isLacking(runtime.hasCall(call.pallet, call.call)) ? undefined : runtime.findCallMismatch(call)
  );
  const ofStorage = storage.map((item) => {
    const choices: readonly StorageLayout[] = "item" in item ? [item] : item;
    const [known = choices[0]] = choices.filter((each) => runtime.hasStorage(each.item));
    if (known === undefined || isLacking(runtime.hasStorage(known.item))) return undefined;
    return runtime.findStorageMismatch(known);
  });
  const ofEvents = events.map((event) =>
    isLacking(runtime.hasEvent(event.event)) ? undefined : runtime.findEventMismatch(event)
  );
  return [...ofCalls, ...ofStorage, ...ofEvents].filter((text) => text !== undefined);
}
