/** Heights, times and the chain's view of a counterparty: plain reads of storage. */
import { concatBytes, type Hash256, toHex } from "../../encoding/bytes.ts";
import {
  type StateMachineHeight,
  stateMachineHeightCodec,
  type StateMachineId,
} from "../../ismp/state_machine.ts";
import { ismpKeys, otherKeys, storagePrefix, twoxConcat } from "../../ismp/storage_keys.ts";
import { bool, type Codec, decodeStrict, ScaleError, u64 } from "../../encoding/scale.ts";
import { calls, type StorageValues } from "../../rpc/substrate_calls.ts";
import type { CounterpartyView } from "../port.ts";
import type { SubstrateNode } from "./node.ts";

/** Reads several values at the best block, and decodes them. */
export class Values {
  readonly #node: SubstrateNode;
  readonly #values: StorageValues;

  constructor(node: SubstrateNode, values: StorageValues) {
    this.#node = node;
    this.#values = values;
  }

  /** The decoded value, `undefined` when nothing is stored. @throws {RpcFault} `malformed`. */
  read<T>(key: Uint8Array, codec: Codec<T>, name: string): T | undefined {
    return decodeValue(this.#node, this.#values.get(toHex(key)), codec, name);
  }
}

/** A stored value. @throws {RpcFault} `malformed` when it is no value of the type. */
export function decodeValue<T>(
  node: SubstrateNode,
  stored: Uint8Array | undefined,
  codec: Codec<T>,
  name: string,
): T | undefined {
  if (stored === undefined) return undefined;
  try {
    return decodeStrict(codec, stored, name);
  } catch (error) {
    if (error instanceof ScaleError) throw node.client.fault("malformed", "state_getStorage", error.message);
    throw error;
  }
}

/** Best block. */
export async function fetchHeight(node: SubstrateNode, signal: AbortSignal): Promise<bigint> {
  const header = await node.client.call(calls.header(), signal);
  if (header === undefined) throw node.client.fault("malformed", "chain_getHeader", "no best block");
  return header.height;
}

/** Newest finalized block. Two round trips: the node names it by hash only. */
export async function fetchFinalHeight(node: SubstrateNode, signal: AbortSignal): Promise<bigint> {
  const hash = await node.client.call(calls.finalizedHash(), signal);
  const header = await node.client.call(calls.header(hash), signal);
  if (header === undefined) {
    throw node.client.fault("lagging", "chain_getHeader", "no header of the final block");
  }
  return header.height;
}

/** Hash of the block at `height`. @throws {RpcFault} `lagging` when the node has none. */
export async function fetchBlockHash(
  node: SubstrateNode,
  height: bigint,
  signal: AbortSignal,
): Promise<Hash256> {
  const hash = await node.client.call(calls.blockHash(height), signal);
  if (hash === undefined) throw node.client.fault("lagging", "chain_getBlockHash", `no block ${height}`);
  return hash;
}

/** Unix seconds of a block; the genesis block has no time and gives 0. */
export async function fetchBlockTime(
  node: SubstrateNode,
  height: bigint,
  signal: AbortSignal,
): Promise<bigint> {
  const hash = await fetchBlockHash(node, height, signal);
  const stored = await node.client.call(calls.storage(otherKeys.timestampNow(), hash), signal);
  return (decodeValue(node, stored, u64, "Timestamp.Now") ?? 0n) / 1000n;
}

/** Fetches the chain's view of `counterparty`, at one block in one round trip. */
export async function fetchView(
  node: SubstrateNode,
  counterparty: StateMachineId,
  signal: AbortSignal,
): Promise<CounterpartyView> {
  const keys = {
    height: ismpKeys.latestStateMachineHeight(counterparty),
    now: otherKeys.timestampNow(),
    period: ismpKeys.challengePeriod(counterparty),
    frozen: ismpKeys.frozenConsensusClients(counterparty.consensusStateId),
  };
  const stored = await node.client.readStorage(Object.values(keys), undefined, signal);
  const values = new Values(node, stored);
  return {
    height: values.read(keys.height, u64, "LatestStateMachineHeight") ?? 0n,
    nowSec: (values.read(keys.now, u64, "Timestamp.Now") ?? 0n) / 1000n,
    challengePeriodSec: values.read(keys.period, u64, "ChallengePeriod") ?? 0n,
    isFrozen: values.read(keys.frozen, bool, "FrozenConsensusClients") ?? false,
  };
}

/**
 * Key of the time at which a commitment was stored. Releases up to July 2025 keep it in `StateMachineUpdateTime`
 * (Twox64Concat of the height): docs/protocol/hub.md section 6.
 */
export async function updateTimeKey(
  node: SubstrateNode,
  height: StateMachineHeight,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const runtime = await node.runtimes.current(signal);
  if (!runtime.hasStorage("Ismp", "StateMachineUpdateTime")) {
    return ismpKeys.boundedStateMachineUpdateTime(height.id, height.height);
  }
  const key = twoxConcat(stateMachineHeightCodec.enc(height));
  return concatBytes(storagePrefix("Ismp", "StateMachineUpdateTime"), key);
}

/** Fetches when the commitment of `height` was stored, Unix seconds. */
export async function fetchUpdateTime(
  node: SubstrateNode,
  height: StateMachineHeight,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const key = await updateTimeKey(node, height, signal);
  const stored = await node.client.call(calls.storage(key), signal);
  return decodeValue(node, stored, u64, "StateMachineUpdateTime");
}
