/**
 * Long calculations in slices: between two of them the event loop serves whatever waits for it.
 */
import { setImmediate } from "node:timers/promises";

/** Duration of a slice, milliseconds. A step begins only within it, so that the loop stands still little longer. */
const SLICE_MS = 10;

/**
 * Runs a calculation to its end, in slices. @param steps `yield`s wherever it may be interrupted, at least every few
 * milliseconds @returns what it returns; throws what it throws
 */
export async function runInSlices<T>(steps: Generator<undefined, T, undefined>): Promise<T> {
  for (let startMs = performance.now();;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - startMs < SLICE_MS) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    startMs = performance.now();
  }
}

/** Lets timers and I/O have their turn. */
export const giveTurn = (): Promise<void> => setImmediate();

/**
 * Converts every item, in order; after each `size` of them others have a turn. Counted, not timed, so that the same
 * items always take the same course. Items that fit into one slice are converted without a pause.
 */
export async function mapInSlices<T, R>(
  items: readonly T[],
  size: number,
  convert: (item: T) => R,
): Promise<R[]> {
  const converted: R[] = [];
  for (const [index, item] of items.entries()) {
    if (index > 0 && index % size === 0) await giveTurn();
    converted.push(convert(item));
  }
  return converted;
}

/** The items in their order, at most `size` in a part, which is at least 1; without items no part. */
export function partsOf<T>(items: readonly T[], size: number): readonly (readonly T[])[] {
  const parts: (readonly T[])[] = [];
  for (let start = 0; start < items.length; start += size) parts.push(items.slice(start, start + size));
  return parts;
}

/** Removes those that came first until at most `max` are left. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  for (const key of entries.keys()) {
    if (entries.size <= max) return;
    entries.delete(key);
  }
}
