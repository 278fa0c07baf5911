/** Lists in parts, for what takes only so many at once. Pure. */

/** The items in their order, at most `size` in a part, which is at least 1; without items no part. */
export function partsOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const parts: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) parts.push(items.slice(start, start + size));
  return parts;
}
