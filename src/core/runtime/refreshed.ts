/** Values that are made again at most once in a while, and the ages of what is met again and again. */
import type { Clock } from "./clock.ts";
import { orAbort } from "./linked_abort.ts";
import { dropOldest } from "./slices.ts";

/** Keeps a value for some time. */
export class Refreshed<T> {
  readonly #clock: Pick<Clock, "now">;
  readonly #options: { readonly everyMs: number; readonly make: () => T };
  #kept: { readonly value: T; readonly atMs: number } | undefined;

  constructor(clock: Pick<Clock, "now">, options: { readonly everyMs: number; readonly make: () => T }) {
    this.#clock = clock;
    this.#options = options;
  }

  /** The value, at most `everyMs` old. What `make` throws is thrown, and not kept. */
  get(): T {
    const nowMs = this.#clock.now();
    if (this.#kept !== undefined && nowMs - this.#kept.atMs < this.#options.everyMs) return this.#kept.value;
    const value = this.#options.make();
    this.#kept = { value, atMs: nowMs };
    return value;
  }

  /** Has the value made again when it is asked for next: something has changed. */
  drop(): void {
    this.#kept = undefined;
  }
}

/** A read whose result, or fault, is shared by all who ask within a moment. It ends by its own limits, not with one of them. */
export class SharedRead<T> {
  readonly #shared: Refreshed<Promise<T>>;

  constructor(
    clock: Pick<Clock, "now">,
    { forMs, read }: { readonly forMs: number; readonly read: (signal: AbortSignal) => Promise<T> },
  ) {
    const { signal } = new AbortController();
    this.#shared = new Refreshed(clock, { everyMs: forMs, make: () => read(signal) });
  }

  /** The result that is at most `forMs` old, or still to come. */
  get(signal: AbortSignal): Promise<T> {
    return orAbort(this.#shared.get(), signal);
  }

  /** Has it read again when it is asked for next. */
  drop(): void {
    this.#shared.drop();
  }
}

/** Maximum number of sights remembered; the oldest is forgotten first. */
const MAX_SIGHTS = 1000;

/** Times at which things, e.g. messages or doubts, were first seen. */
export class Sightings {
  readonly #firstSeenMs = new Map<string, number>();

  constructor(readonly clock: Pick<Clock, "now">) {}

  /** Records what is seen now, and returns since when it has been, ms. */
  ageMs(what: string): number {
    const nowMs = this.clock.now();
    const firstMs = this.#firstSeenMs.get(what) ?? nowMs;
    this.#firstSeenMs.set(what, firstMs);
    dropOldest(this.#firstSeenMs, MAX_SIGHTS);
    return nowMs - firstMs;
  }

  /** What is seen next is seen for the first time. */
  forget(what: string): void {
    this.#firstSeenMs.delete(what);
  }
}
