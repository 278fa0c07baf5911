/** Limits of how much runs at once. */
import { linkedAbort, orAbort } from "./linked_abort.ts";

/** Runs at most `max` tasks at once; the others wait in order of arrival. */
export class Limit {
  readonly #max: number;
  #running = 0;
  readonly #queue: (() => void)[] = [];

  /** @throws {RangeError} unless `max` is a positive integer. */
  constructor(max: number) {
    if (!Number.isSafeInteger(max) || max < 1) throw new RangeError(`Not a positive integer: ${max}`);
    this.#max = max;
  }

  /** Runs `work` when a slot is free; work that is aborted while waiting never starts. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    if (this.#running < this.#max) this.#running++;
    else await this.#room(signal);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  async #room(signal: AbortSignal): Promise<void> {
    const free = Promise.withResolvers<void>();
    this.#queue.push(free.resolve);
    try {
      await orAbort(free.promise, signal);
    } catch (error) {
      const at = this.#queue.indexOf(free.resolve);
      if (at < 0) this.#release(); // it came in the same moment
      else this.#queue.splice(at, 1);
      throw error;
    }
  }

  /** Passes the slot to the next in line, so that the queue keeps its order. */
  #release(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

/**
 * Applies `work` to every item, at most `max` at once; results are in the order of the items; the first fault ends
 * it.
 */
export async function mapLimited<A, B>(
  items: readonly A[],
  { max, signal }: { readonly max: number; readonly signal: AbortSignal },
  work: (item: A, signal: AbortSignal) => Promise<B>,
): Promise<B[]> {
  const limit = new Limit(max);
  const stop = linkedAbort(signal);
  const runs = items.map((item) => limit.run(() => work(item, stop.signal), stop.signal));
  try {
    return await Promise.all(runs);
  } catch (error) {
    stop.abort(error);
    await Promise.allSettled(runs);
    throw error;
  } finally {
    stop.unlink();
  }
}

/**
 * Yields the result of `work` for each item in order, while the next `ahead` items are under way. Ends, early or not,
 * when nothing is under way any more.
 */
export async function* workAhead<A, B>(
  items: readonly A[],
  ahead: number,
  work: (item: A) => Promise<B>,
): AsyncGenerator<B, void> {
  const underWay: Promise<B>[] = [];
  let begun = 0;
  try {
    for (;;) {
      for (; begun < items.length && underWay.length <= ahead; begun++) {
        underWay.push(handledLater(work(items[begun] as A)));
      }
      const first = underWay.shift();
      if (first === undefined) return;
      yield await first;
    }
  } finally {
    await Promise.allSettled(underWay);
  }
}

/** Keeps a fault that shows before somebody waits for it from counting as unhandled. */
function handledLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
