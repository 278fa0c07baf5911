/** Waits of the devnet and of tests for what happens elsewhere: look again and again, give up when it is hopeless. */

/**
 * Longest wait for anything, milliseconds. It ends waits that are hopeless and decides nothing else: what is awaited
 * takes seconds on an idle machine, and may take minutes on a crowded one.
 */
export const DEADLINE_MS = 240_000;

/** No wait takes more than so many times its limit, whatever progress there is. */
const MAX_EXTENSION = 5;

/** Longest wait for what shows no progress while it works, milliseconds. */
export const MAX_WORK_MS = MAX_EXTENSION * DEADLINE_MS;

/** More than one look takes on a machine that has time for us. */
const MAX_LOOK_MS = 500;

/**
 * How long something is waited for that is looked at again and again. Looks take longer on a crowded machine, where
 * everything else takes longer, too: each counts {@link MAX_LOOK_MS} at most.
 */
export class Patience {
  readonly limitMs: number;
  readonly #endsAtMs: number;
  readonly #now: () => number;
  #spentMs = 0;
  #lookedAtMs: number;

  constructor(limitMs = DEADLINE_MS, now = (): number => performance.now()) {
    this.limitMs = limitMs;
    this.#now = now;
    this.#lookedAtMs = now();
    this.#endsAtMs = this.#lookedAtMs + MAX_EXTENSION * limitMs;
  }

  /** What is awaited has come nearer. */
  renew(): void {
    this.#spentMs = 0;
  }

  /** To be asked at each look. */
  get isOver(): boolean {
    const nowMs = this.#now();
    this.#spentMs += Math.min(nowMs - this.#lookedAtMs, MAX_LOOK_MS);
    this.#lookedAtMs = nowMs;
    return this.#spentMs >= this.limitMs || nowMs >= this.#endsAtMs;
  }
}

/** What was awaited did not happen. */
export class WaitFault extends Error {
  override readonly name = "WaitFault";

  /** @param what a sentence of what was to happen */
  constructor(what: string, { limitMs }: Pick<Patience, "limitMs"> = { limitMs: DEADLINE_MS }) {
    super(`Not after ${limitMs / 1000} s: ${what}`);
  }
}

/**
 * Waits until `holds` does, looking again and again.
 * @throws {WaitFault} with `what` when the {@link Patience} (default {@link DEADLINE_MS}) is over.
 */
export async function waitUntil(
  what: string,
  holds: () => boolean | Promise<boolean>,
  { deadlineMs = DEADLINE_MS, everyMs = 100 }: { readonly deadlineMs?: number; readonly everyMs?: number } =
    {},
): Promise<void> {
  const patience = new Patience(deadlineMs);
  while (!await holds()) {
    if (patience.isOver) throw new WaitFault(what, patience);
    await pause(everyMs);
  }
}

/** Resolves after `ms`, or at once when `signal` is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish, { once: true });
  });
}

/** Resolves when `signal` is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
