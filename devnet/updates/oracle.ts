/**
 * Delivers the final states of one side to the other, by proofs that the receiver verifies: naive BEEFY proofs, GRANDPA
 * votes, heads of parachains. How each is made is not known here. Start reading at {@link Oracle}.
 */
import type { StateMachine } from "../../src/core/ismp/state_machine.ts";
import { Patience, pause } from "../waiting.ts";

/**
 * Updates a receiver beyond height `last`, if there is more.
 * @param isAsked everything that is final now must be proved, without waiting for blocks of the relay chain.
 * @returns the height that the receiver knows afterwards, `last` without an update.
 */
export type UpdateStep = (last: bigint, isAsked: boolean) => Promise<bigint>;

/** One direction of updates, whichever program makes them. */
export interface UpdateFeed {
  readonly direction: Direction;
  /** Newest height that the receiver knows, 0 for none. */
  readonly last: bigint;
  start(): void;
  /** Stops updating; resolves when no update is in progress any more. */
  pause(): Promise<void>;
  resume(): void;
  /** Proves the newest state now, paused or not. @returns the newest height that the receiver knows. */
  step(): Promise<bigint>;
  stop(): Promise<void>;
}

/** One of the ways that the oracle serves; one end is the hub, both are where it proves itself to itself. */
export interface Direction {
  /** Chain whose states are proved. */
  readonly from: StateMachine;
  /** Chain that receives the proofs. */
  readonly to: StateMachine;
}

/** A direction, and how its receiver is updated. */
export interface ServedDirection {
  readonly direction: Direction;
  /** Resolves when the proof is in a block. */
  readonly update: UpdateStep;
}

/** A direction failed for as long as the oracle waits. */
export class OracleFault extends Error {
  override readonly name = "OracleFault";
  readonly code = "oracle_failed";
  constructor(direction: Direction, forMs: number, options: ErrorOptions) {
    super(
      `The oracle could not update ${direction.to} with ${direction.from} for ${forMs / 1000} s: ${
        options.cause instanceof Error ? options.cause.message : options.cause
      }`,
      options,
    );
  }
}

/** How the oracle works. */
export interface OracleOptions {
  /** What it serves itself. */
  readonly served: readonly ServedDirection[];
  /** Directions that others serve, under the same command; given the listener for their faults. */
  readonly others?: (onFault: (fault: Error) => void) => readonly UpdateFeed[];
  /** Time between two polls at a head. Default 500. */
  readonly everyMs?: number;
  /** A direction that fails for longer than this ends the oracle. Default 120,000. */
  readonly patienceMs?: number;
}

/** Follows the heads until it is stopped. Replaceable as a whole: nothing else in the devnet knows how states travel. */
export class Oracle implements AsyncDisposable {
  /** Rejects with an {@link OracleFault} when a direction stays broken; never resolves. */
  readonly failed: Promise<never>;
  readonly #feeds: readonly UpdateFeed[];

  constructor(options: OracleOptions) {
    const failed = Promise.withResolvers<never>();
    this.failed = failed.promise;
    // Callers race with it; without one, a fault must not end the process as an unhandled rejection.
    failed.promise.catch(() => undefined);
    this.#feeds = [
      ...options.served.map((served) => new Feed(served, options, failed.reject)),
      ...options.others?.(failed.reject) ?? [],
    ];
  }

  /** All ways that it serves. */
  get directions(): readonly Direction[] {
    return this.#feeds.map(({ direction }) => direction);
  }

  /** Begins to follow. */
  start(): void {
    for (const feed of this.#feeds) feed.start();
  }

  /** Stops all directions, or the one given. Resolves when no update is in progress any more. */
  async pause(direction?: Direction): Promise<void> {
    await Promise.all(this.#select(direction).map((feed) => feed.pause()));
  }

  /** Undoes {@link pause}. */
  resume(direction?: Direction): void {
    for (const feed of this.#select(direction)) feed.resume();
  }

  /**
   * Proves the newest final state now, paused or not.
   * @returns the newest height that the receiver knows, 0 for none.
   */
  async step(direction: Direction): Promise<bigint> {
    const [feed] = this.#select(direction);
    return feed === undefined ? 0n : await feed.step();
  }

  /** Newest height that the receiver of a direction knows, 0 for none. */
  lastHeight(direction: Direction): bigint {
    return this.#select(direction)[0]?.last ?? 0n;
  }

  /** Ends it; it cannot be started again. */
  async stop(): Promise<void> {
    await Promise.all(this.#feeds.map((feed) => feed.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #select(direction: Direction | undefined): readonly UpdateFeed[] {
    if (direction === undefined) return this.#feeds;
    const found = this.#feeds.filter((feed) =>
      feed.direction.from === direction.from && feed.direction.to === direction.to
    );
    if (found.length === 0) throw new Error(`No direction ${direction.from} -> ${direction.to}`);
    return found;
  }
}

/** Longest wait for an update under way when the oracle stops. */
const MAX_STOPPING_MS = 3_000;

/** One direction. */
class Feed implements UpdateFeed {
  readonly direction: Direction;
  readonly #update: UpdateStep;
  readonly #everyMs: number;
  readonly #patienceMs: number;
  readonly #onFault: (fault: OracleFault) => void;
  readonly #end = new AbortController();
  #last = 0n;
  /** The update under way; updates never overlap. */
  #running: Promise<unknown> = Promise.resolve();
  #isPaused = false;
  #loop: Promise<void> | undefined;

  constructor(
    { direction, update }: ServedDirection,
    { everyMs = 500, patienceMs = 120_000 }: OracleOptions,
    onFault: (fault: OracleFault) => void,
  ) {
    this.direction = direction;
    this.#update = update;
    this.#everyMs = everyMs;
    this.#patienceMs = patienceMs;
    this.#onFault = onFault;
  }

  get last(): bigint {
    return this.#last;
  }

  start(): void {
    this.#loop ??= this.#follow();
  }

  async pause(): Promise<void> {
    this.#isPaused = true;
    await this.#running;
  }

  resume(): void {
    this.#isPaused = false;
  }

  step(): Promise<bigint> {
    return this.#poll(true);
  }

  #poll(isAsked: boolean): Promise<bigint> {
    const mine = this.#running.then(async () => this.#last = await this.#update(this.#last, isAsked));
    this.#running = mine.catch(() => undefined);
    return mine;
  }

  /** An update under way may end first; one that hangs, because its node is gone, is left to itself. */
  async stop(): Promise<void> {
    this.#end.abort();
    const done = new AbortController();
    await Promise.race([this.#loop, pause(MAX_STOPPING_MS, done.signal)]);
    done.abort();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#end;
    let patience = new Patience(this.#patienceMs);
    while (!signal.aborted) {
      try {
        if (!this.#isPaused) await this.#poll(false);
        patience = new Patience(this.#patienceMs);
      } catch (cause) {
        if (signal.aborted) return;
        if (patience.isOver) {
          this.#onFault(new OracleFault(this.direction, this.#patienceMs, { cause }));
          return;
        }
      }
      await pause(this.#everyMs, signal);
    }
  }
}
