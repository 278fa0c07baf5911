/** Long waits with regular log lines (docs/architecture/messaging.md, I11). */
import type { Log, LogFields, WaitEvent } from "../telemetry/log.ts";
import { type Clock, sleepOn } from "./clock.ts";

/** Interval of log lines about a long wait. */
export const waitNoticeMs = 300_000;

/** Description of a wait for the log. */
export interface WaitSubject {
  readonly event: WaitEvent;
  readonly fields?: LogFields;
}

interface Deps {
  readonly clock: Clock;
  readonly log: Log;
}

/** Runs `work` and logs every five minutes what it waits for and for how long. */
export async function awaitLogged<T>(
  deps: Deps,
  awaited: WaitSubject,
  work: () => Promise<T>,
): Promise<T> {
  const notices = new WaitNotices(deps);
  let stop = (): void => {};
  const look = (): void => {
    notices.waiting("", awaited);
    stop = deps.clock.after(waitNoticeMs, look);
  };
  look();
  try {
    return await work();
  } finally {
    stop();
  }
}

/**
 * Log lines for workers that stay idle for many rounds: call {@link WaitNotices.waiting} in each idle round and
 * {@link WaitNotices.done} when the wait is over.
 */
export class WaitNotices {
  readonly #deps: Deps;
  readonly #since = new Map<string, { readonly startMs: number; lastReportedMs: number }>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Records that `key` is still awaited; logs when five minutes have passed since the last line. */
  waiting(key: string, awaited: WaitSubject): void {
    const nowMs = this.#deps.clock.now();
    const entry = this.#since.get(key) ?? { startMs: nowMs, lastReportedMs: nowMs };
    this.#since.set(key, entry);
    if (nowMs - entry.lastReportedMs < waitNoticeMs) return;
    entry.lastReportedMs = nowMs;
    this.#deps.log.info(awaited.event, {
      ...awaited.fields,
      waitedSec: Math.round((nowMs - entry.startMs) / 1000),
    });
  }

  /** Ends the wait for `key`, if there was one. */
  done(key: string): void {
    this.#since.delete(key);
  }
}

/**
 * Coalescing hint for one waiting worker: any number of calls of {@link Wake.wake} end one wait early, even when they
 * came before it began. Hints carry no data; the facts are in the ledger, so a lost hint only costs time.
 */
export class Wake {
  readonly #clock: Clock;
  #isPending = false;
  #end: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the current wait, or the next one. */
  wake(): void {
    this.#isPending = true;
    this.#end?.();
  }

  /**
   * Waits `ms` milliseconds or for a hint, whichever is first; rejects with the signal's reason when aborted.
   * @throws {Error} a defect: two workers wait at the same time.
   */
  async wait(ms: number, signal: AbortSignal): Promise<"woken" | "elapsed"> {
    if (this.#end !== undefined) throw new Error("Two workers wait for the same hint");
    signal.throwIfAborted();
    try {
      if (!this.#isPending) await sleepOn(this.#clock, ms, signal, (end) => this.#end = end);
    } finally {
      this.#end = undefined;
    }
    const wasWoken = this.#isPending;
    this.#isPending = false;
    return wasWoken ? "woken" : "elapsed";
  }
}
