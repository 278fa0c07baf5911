/**
 * Decides which messages are sent together, and which GET requests are answered together. Pure.
 * Rules: docs/protocol/messaging.md section 8.3: one kind per step, 100 messages for EVM chains and 200 for others, and
 * never more call data than the chain's nodes accept; docs/protocol/ismp.md sections 5 and 7 and
 * docs/protocol/evm-host.md section 5: one block of one chain per answer, and the proof must hold exactly the contracts
 * that each request reads, so requests that read different contracts are answered separately.
 */
import { toHex } from "../../../core/encoding/bytes.ts";
import type { GetRequest } from "../../../core/ismp/message.ts";
import { isEvm } from "../../../core/ismp/state_machine.ts";

/** Computes the bytes that a message adds to call data: its parts, rounded up to ABI words. */
export function countCallBytes({ row }: { readonly row: { readonly encoded: Uint8Array } }): number {
  return row.encoded.length + 640;
}

/** Packed batches, and items that fit into no batch. */
export interface Packing<Item> {
  readonly batches: readonly (readonly Item[])[];
  /** Items that exceed the byte limit alone. */
  readonly tooLarge: readonly Item[];
}

/** Packs items in order; a batch is closed by count or bytes, whichever is reached first. */
export function pack<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  limits: { readonly maxCount: number; readonly maxBytes: number },
): Packing<Item> {
  const batches: Item[][] = [];
  const tooLarge: Item[] = [];
  let open: Item[] = [];
  let openBytes = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (bytes > limits.maxBytes) {
      tooLarge.push(item);
      continue;
    }
    if (open.length === limits.maxCount || openBytes + bytes > limits.maxBytes) {
      batches.push(open);
      open = [];
      openBytes = 0;
    }
    open.push(item);
    openBytes += bytes;
  }
  if (open.length > 0) batches.push(open);
  return { batches, tooLarge };
}

/**
 * Packs items of which some may only be sent in small batches, or with their like, apart from the others: members of
 * batches that failed, and strangers. The batches are in the order of their first items, those of strangers and of
 * single items last.
 */
export function packApart<Item>(
  items: readonly Item[],
  measure: {
    readonly bytesOf: (item: Item) => number;
    /** Maximum number of items of a batch with that item; `undefined`: as many as fit. */
    readonly limitOf: (item: Item) => number | undefined;
    /** Items with a name share batches with items of the same name only. */
    readonly apartOf?: (item: Item) => string | undefined;
  },
  limits: { readonly maxCount: number; readonly maxBytes: number },
): Packing<Item> {
  const { bytesOf, limitOf, apartOf } = measure;
  const groups = Map.groupBy(items, (item) => `${limitOf(item) ?? ""} ${apartOf?.(item) ?? ""}`);
  const packings = [...groups.values()].map((members) => {
    const limit = members.map(limitOf).find((each) => each !== undefined) ?? Infinity;
    return pack(members, bytesOf, { ...limits, maxCount: Math.min(limits.maxCount, limit) });
  });
  const place = new Map(items.map((item, index) => [item, index]));
  const placeOf = ([first]: readonly Item[]): number => {
    if (first === undefined) return 0;
    const isLast = limitOf(first) === 1 || apartOf?.(first) !== undefined;
    return (place.get(first) ?? 0) + (isLast ? items.length : 0);
  };
  return {
    batches: packings.flatMap(({ batches }) => batches).sort((a, b) => placeOf(a) - placeOf(b)),
    tooLarge: packings.flatMap(({ tooLarge }) => tooLarge),
  };
}

/** Splits a refused batch into two halves, to find the bad part. */
export function bisect<Item>(items: readonly Item[]): readonly [readonly Item[], readonly Item[]] {
  const middle = Math.ceil(items.length / 2);
  return [items.slice(0, middle), items.slice(middle)];
}

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
