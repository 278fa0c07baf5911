/** The one reader of a chain's storage: values as their items say, and what a newer runtime appended is named. */
import { type Hash256, toHex } from "../../encoding/bytes.ts";
import type { Stored } from "../../ismp/storage_keys.ts";
import { calls, type StorageValues, type TypedCall } from "../../rpc/substrate_calls.ts";
import { decodeValue, type SubstrateNode } from "./node.ts";

/** A call for one value, at the best block unless one is named. `undefined`: nothing is stored. */
export function storedCall<Value>(
  node: SubstrateNode,
  { item, key, codec }: Stored<Value>,
  block?: Hash256,
): TypedCall<Value | undefined> {
  const { method, params, read } = calls.storage(key, block);
  return { method, params, read: (json, fail) => decodeValue(node, read(json, fail), codec, item) };
}

/** Fetches one value, at the best block unless one is named; one round trip. @throws {RpcFault} `malformed`. */
export async function fetchStored<Value>(
  node: SubstrateNode,
  wanted: Stored<Value>,
  { block, signal }: { readonly block?: Hash256; readonly signal: AbortSignal },
): Promise<Value | undefined> {
  return await node.client.call(storedCall(node, wanted, block), signal);
}

/** Values to be read, by names for the caller. */
export type Wanted<Values> = { readonly [Name in keyof Values]: Stored<Values[Name]> };

/**
 * Reads several values at one block, at the best unless one is named; one round trip. @throws {RpcFault} `malformed`
 * when one is no value of its type.
 */
export async function fetchManyStored<Values extends object>(
  node: SubstrateNode,
  wanted: Wanted<Values>,
  { block, signal }: { readonly block?: Hash256 | undefined; readonly signal: AbortSignal },
): Promise<Partial<Values>> {
  return pickStored(node, wanted, await node.client.call(calls.storageAt(keysOf(wanted), block), signal));
}

/** Keys of values, to read them together with others. */
export function keysOf<Values extends object>(wanted: Wanted<Values>): readonly Uint8Array[] {
  const keys: Uint8Array[] = [];
  for (const name in wanted) keys.push(wanted[name].key);
  return keys;
}

/** The wanted ones of values that were read together. @throws {RpcFault} as {@link fetchManyStored}. */
export function pickStored<Values extends object>(
  node: SubstrateNode,
  wanted: Wanted<Values>,
  values: StorageValues,
): Partial<Values> {
  const found: Partial<Values> = {};
  for (const name in wanted) {
    const { item, key, codec } = wanted[name];
    const value = decodeValue(node, values.get(toHex(key)), codec, item);
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** Unix seconds of a block's own clock, which is in milliseconds; the genesis block has no time and gives 0. */
export function toSeconds(timestampMs: bigint | undefined): bigint {
  return (timestampMs ?? 0n) / 1000n;
}
