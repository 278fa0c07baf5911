/**
 * The `state_*` methods that only need a chain with tries.
 */
import { type Hex, toHex } from "../../../src/core/encoding/bytes.ts";
import { compareBytes } from "../../../src/core/encoding/scale.ts";
import type { SimulatedBlock } from "../block_history.ts";
import type { ServedNode } from "../node.ts";
import type { Snapshot } from "../storage.ts";
import { RpcError } from "./json_rpc.ts";
import { blockParam, clientErrors, type RpcMethods, RpcSubscription } from "./method.ts";
import { hexParam, listParam, u32Param } from "./params.ts";

/** Most keys of one `state_getKeysPaged`. */
const maxPageKeys = 1000;

/** The methods. */
export function storageMethods(node: ServedNode): RpcMethods {
  const { chain } = node;
  const stateAt = (at: unknown): Snapshot => {
    const block = blockParam(node, at);
    return clientErrors(() => chain.stateOf(block));
  };
  const getStorage = ([key, at]: readonly unknown[]): Hex | null =>
    hexOrNull(stateAt(at).main.get(hexParam(key, "key")));
  return {
    state_getStorage: getStorage,
    state_getStorageAt: getStorage,
    state_getKeysPaged: ([prefix, count, start, at]) => keysPaged(stateAt(at), prefix, count, start),
    state_getKeysPagedAt: ([prefix, count, start, at]) => keysPaged(stateAt(at), prefix, count, start),
    state_queryStorage: ([keys, from, to]) => queryStorage(node, keys, from, to),
    state_queryStorageAt: ([keys, at]) => {
      const block = blockParam(node, at);
      const { main } = clientErrors(() => chain.stateOf(block));
      const changes = listParam(keys, "keys", hexParam).map((key) => [toHex(key), hexOrNull(main.get(key))]);
      return [{ block: block.hash, changes }];
    },
    state_subscribeStorage: ([keys]) => subscribeStorage(node, listParam(keys, "keys", hexParam)),
    state_getReadProof: ([keys, at]) => {
      const block = blockParam(node, at);
      const { main } = clientErrors(() => chain.stateOf(block));
      return { at: block.hash, proof: main.prove(listParam(keys, "keys", hexParam)).map(toHex) };
    },
  };
}

/** A storage value as JSON-RPC shows it. */
export function hexOrNull(value: Uint8Array | undefined): Hex | null {
  return value === undefined ? null : toHex(value);
}

function keysPaged(state: Snapshot, prefix: unknown, count: unknown, start: unknown): Hex[] {
  const limit = u32Param(count, "count");
  if (limit > maxPageKeys) {
    throw new RpcError(4002, `count exceeds maximum value. value: ${limit}, max: ${maxPageKeys}`);
  }
  const wanted = typeof prefix === "string" ? hexParam(prefix, "prefix") : new Uint8Array();
  const after = typeof start === "string" ? hexParam(start, "startKey") : undefined;
  const keys: Hex[] = [];
  for (const [key] of state.main.entries(wanted)) {
    if (keys.length >= limit) break;
    if (after === undefined || compareBytes(key, after) > 0) keys.push(toHex(key));
  }
  return keys;
}

/** Values at the first block and then every change, oldest block first. */
function queryStorage(node: ServedNode, keys: unknown, from: unknown, to: unknown): unknown[] {
  const wanted = listParam(keys, "keys", hexParam);
  const first = blockParam(node, from).header.number;
  const last = blockParam(node, to).header.number;
  if (first > last) throw new RpcError(4001, `Cannot resolve a block range ['${first}' ... '${last}]`);
  const known = new Map<Hex, Hex | null>();
  const answer: unknown[] = [];
  for (let number = first; number <= last; number++) {
    const block = node.chain.blockAt(number);
    const changes = changesAt(node, block, wanted, known);
    if (changes.length > 0) answer.push({ block: block.hash, changes });
  }
  return answer;
}

function changesAt(
  node: ServedNode,
  block: SimulatedBlock,
  keys: readonly Uint8Array[],
  known: Map<Hex, Hex | null>,
): [Hex, Hex | null][] {
  const { main } = clientErrors(() => node.chain.stateOf(block));
  const changes: [Hex, Hex | null][] = [];
  for (const key of keys) {
    const name = toHex(key);
    const value = hexOrNull(main.get(key));
    if (known.get(name) !== value || !known.has(name)) changes.push([name, value]);
    known.set(name, value);
  }
  return changes;
}

function subscribeStorage(node: ServedNode, keys: readonly Uint8Array[]): RpcSubscription {
  return new RpcSubscription("state_storage", (send) => {
    const known = new Map<Hex, Hex | null>();
    const report = (block: SimulatedBlock): void => {
      const changes = changesAt(node, block, keys, known);
      if (changes.length > 0) send({ block: block.hash, changes });
    };
    report(node.chain.best);
    return node.follow(({ best }) => report(best));
  });
}
