/**
 * Decides which messages are sent together. Pure.
 * Rules: docs/protocol/messaging.md section 8.3: one kind per step, 100 messages for EVM chains and 200 for others, and
 * never more call data than the chain's nodes accept.
 */

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
 * Packs items of which some may only be sent in small batches, apart from the others: members of batches that reverted.
 * The batches are in the order of their first items.
 * @param limitOf most items of a batch with that item; `undefined`: as many as fit
 */
export function packApart<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  limitOf: (item: Item) => number | undefined,
  limits: { readonly maxCount: number; readonly maxBytes: number },
): Packing<Item> {
  const groups = new Map<number | undefined, Item[]>();
  for (const item of items) groups.set(limitOf(item), [...groups.get(limitOf(item)) ?? [], item]);
  const packings = [...groups].map(([limit, members]) =>
    pack(members, bytesOf, { ...limits, maxCount: Math.min(limits.maxCount, limit ?? Infinity) })
  );
  const place = new Map(items.map((item, index) => [item, index]));
  const placeOf = ([first]: readonly Item[]): number => first === undefined ? 0 : place.get(first) ?? 0;
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
