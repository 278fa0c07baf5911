/** Sets and maps that keep what came last. */

/** Removes those that came first until at most `max` are left. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(key);
  }
}
