/**
 * JSON-RPC calls by method and purpose, as providers bill them: a batch of a hundred is a hundred. Pure. Start reading
 * at {@link countCalls}.
 */
import { type Hex, isHex, toFunctionSelector } from "viem";
import { HOST_ABI } from "../../devnet/evm/abi.ts";
import { fromHex, toHex } from "../../src/core/encoding/bytes.ts";
import { storagePrefix } from "../../src/core/ismp/storage_keys.ts";
import type { ProxiedCall, ProxiedRequest } from "../scenario/support/rpc_proxy.ts";
import { readsOf } from "../support/bundle_runner.ts";

/** What an endpoint was asked. */
export interface CallCounts {
  readonly requests: number;
  readonly calls: number;
  /** Number of calls by purpose, the most frequent ones first. */
  readonly byPurpose: readonly (readonly [purpose: string, calls: number])[];
}

/** Counts the calls of some requests. */
export function countCalls(requests: readonly ProxiedRequest[]): CallCounts {
  const counts = new Map<string, number>();
  for (const call of requests.flatMap(({ calls }) => calls)) {
    const purpose = purposeOf(call);
    counts.set(purpose, (counts.get(purpose) ?? 0) + 1);
  }
  return {
    requests: requests.length,
    calls: requests.reduce((sum, { calls }) => sum + calls.length, 0),
    byPurpose: [...counts].sort(([one, a], [other, b]) => b - a || one.localeCompare(other)),
  };
}

/** Lines for people: what was asked, how often. */
export function linesOf(name: string, { requests, calls, byPurpose }: CallCounts): readonly string[] {
  const lines = byPurpose.map(([purpose, count]) => `   ${`${count}`.padStart(5)}  ${purpose}`);
  return [`-- ${name}: ${requests} requests, ${calls} calls`, ...lines];
}

/** Getters of the host by selector, without those of the same name in the overloads of other contracts. */
const getters: ReadonlyMap<string, string> = new Map(
  HOST_ABI.flatMap((item) => item.type === "function" ? [[toFunctionSelector(item), item.name]] : []),
);

/** Method of a call, with what it is about where a method serves many purposes. */
function purposeOf({ method, params }: ProxiedCall): string {
  const [first, second]: readonly unknown[] = Array.isArray(params) ? params : [];
  switch (method) {
    case "eth_call":
      return `${method} ${targetOf(first)}${tagOf(second)}`;
    case "eth_getBlockByNumber":
      return `${method}${tagOf(first)}`;
    case "state_getStorage":
      return `${method} ${itemOf(first)}${second === undefined ? "" : " at a block"}`;
    case "state_queryStorageAt":
      return `${method} ${itemsOf(first)}`;
    case "state_call":
      return `${method} ${first}`;
    case "chain_getHeader":
    case "chain_getBlockHash":
      return first === undefined ? `${method} of the best block` : method;
    default:
      return method;
  }
}

function targetOf(call: unknown): string {
  if (typeof call !== "object" || call === null || !("data" in call) || !isHex(call.data)) return "?";
  const reads = readsOf(call);
  if (reads !== undefined) {
    return `${reads.length} reads: ${[...new Set(reads.map(({ data }) => getterOf(data)))].join(", ")}`;
  }
  return "to" in call ? getterOf(call.data) : "without an address";
}

function getterOf(data: Hex): string {
  const selector = data.slice(0, 10);
  return getters.get(selector) ?? selector;
}

/** Suffix for a block that is not the newest one. */
function tagOf(tag: unknown): string {
  if (tag === undefined || tag === "latest") return "";
  return isHex(tag) ? " at a block" : ` at ${tag}`;
}

/** Items of the hub's storage that are read often. */
const items: ReadonlyMap<string, string> = new Map(
  ([
    ["BeefyConsensusProofs", "MessagingProofs"],
    ["BeefyConsensusProofs", "RotationProofs"],
    ["Ismp", "BoundedStateCommitments"],
    ["Ismp", "BoundedStateMachineUpdateTime"],
    ["Ismp", "ChallengePeriod"],
    ["Ismp", "ConsensusStateClient"],
    ["Ismp", "FrozenConsensusClients"],
    ["Ismp", "LatestStateMachineHeight"],
    ["Mmr", "NumberOfLeaves"],
    ["System", "Events"],
    ["Timestamp", "Now"],
  ] as const).map(([pallet, item]) => [toHex(storagePrefix(pallet, item)), `${pallet}.${item}`]),
);

/** Name of a storage item, or the first bytes of pallet and item, by which keys are told apart. */
function itemOf(key: unknown): string {
  if (!isHex(key)) return "?";
  const bytes = fromHex(key);
  if (bytes.length < 32) return new TextDecoder().decode(bytes);
  return items.get(toHex(bytes.subarray(0, 32))) ?? `${key.slice(2, 10)}.${key.slice(34, 42)}`;
}

function itemsOf(keys: unknown): string {
  const list: readonly unknown[] = Array.isArray(keys) ? keys : [];
  const names = new Set(list.filter((key): key is Hex => isHex(key)).map(itemOf));
  return `${list.length} keys: ${[...names].join(", ")}`;
}
