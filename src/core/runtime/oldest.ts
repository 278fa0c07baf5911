/** Sets and maps that keep what came last. */

/** What of a set or a map is needed: its keys are in the order in which they came. */
interface Ordered<Key> {
  readonly size: number;
  keys(): Iterable<Key>;
  delete(key: Key): boolean;
}

/** Removes those that came first until at most `max` are left. */
export function dropOldest<Key>(entries: Ordered<Key>, max: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(key);
  }
}
