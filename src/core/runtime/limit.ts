/** A bound on how much happens at the same time. */
import { linkedAbort } from "./linked_abort.ts";

/** Lets at most `max` pieces of work run at once; the others wait in the order in which they came. */
export class Limit {
  readonly #max: number;
  #running = 0;
  readonly #queue: (() => void)[] = [];

  /** @throws {RangeError} unless `max` is a positive integer. */
  constructor(max: number) {
    if (!Number.isSafeInteger(max) || max < 1) throw new RangeError(`Not a positive integer: ${max}`);
    this.#max = max;
  }

  /** Pieces of work that run now. */
  get running(): number {
    return this.#running;
  }

  /** Pieces of work that wait. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Runs `work` when there is room; work that is aborted while it waits never starts. */
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

  #room(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = (): void => {
        this.#queue.splice(this.#queue.indexOf(enter), 1);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      this.#queue.push(enter);
    });
  }

  /** Hands the place to the next in line, so that nobody overtakes the queue. */
  #release(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#running--;
    else next();
  }
}

/** Applies `work` to every item, at most `max` at once; results in the order of the items; the first fault ends it. */
export async function mapLimited<A, B>(
  items: readonly A[],
  max: number,
  work: (item: A, signal: AbortSignal) => Promise<B>,
  signal: AbortSignal,
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
