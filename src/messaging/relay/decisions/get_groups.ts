/**
 * Decides which GET requests are answered together. Pure.
 * Rules: docs/protocol/ismp.md sections 5 and 7, docs/protocol/evm-host.md section 5: one block of one chain per
 * answer, and the proof must hold exactly the contracts that each request reads, so requests that read different
 * contracts are answered separately.
 */
import { toHex } from "../../../core/encoding/bytes.ts";
import type { GetRequest } from "../../../core/ismp/message.ts";
import { isEvm } from "../../../core/ismp/state_machine.ts";

/** Length of an EVM key of a contract's slot: 20 bytes of address and 32 of slot. */
const SLOT_KEY_BYTES = 52;

/** Groups requests that the hub accepts in one response, in the order of their first request. */
export function groupGets<Item>(
  items: readonly Item[],
  toRequest: (item: Item) => GetRequest,
  maxCount: number,
): readonly (readonly Item[])[] {
  const groups: { readonly key: string; readonly items: Item[] }[] = [];
  for (const item of items) {
    const key = groupKey(toRequest(item));
    const open = groups.find((group) => group.key === key && group.items.length < maxCount);
    if (open === undefined) groups.push({ key, items: [item] });
    else open.items.push(item);
  }
  return groups.map((group) => group.items);
}

/** Key of a group: chain, block and the contracts whose slots are read. */
function groupKey(request: GetRequest): string {
  const contracts = isEvm(request.dest)
    ? request.keys.filter(({ length }) => length === SLOT_KEY_BYTES).map((key) => toHex(key.subarray(0, 20)))
    : [];
  return [request.dest, request.height, ...[...new Set(contracts)].toSorted()].join(" ");
}

/** Collects the keys of all requests of a group, each once, in order of first appearance. */
export function collectKeys(requests: readonly GetRequest[]): readonly Uint8Array[] {
  const seen = new Map<string, Uint8Array>();
  for (const key of requests.flatMap(({ keys }) => keys)) seen.set(toHex(key), key);
  return [...seen.values()];
}
