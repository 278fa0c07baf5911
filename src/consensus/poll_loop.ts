/** The life of a worker that looks at a chain again and again: look, say so, wait as long as the result asks for. */
import type { Clock } from "../core/runtime/clock.ts";
import type { Randomness } from "../core/runtime/randomness.ts";
import type { Wake } from "../core/runtime/wake.ts";
import type { Log } from "../core/telemetry/log.ts";
import { pauseAfter, type PollResult } from "./schedule.ts";

/** What looking takes from outside. */
export interface PollDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
}

/** What is looked at. */
export interface Pollable {
  /** Pause between two looks when there is nothing special to wait for, milliseconds; it may change. */
  readonly intervalMs: number;
  /** One look, with what follows from it. @param failures in a row before it. */
  poll(failures: number, signal: AbortSignal): Promise<PollResult>;
}

/**
 * Looks until `signal` is aborted, with whose reason it ends.
 * @param wake ends pauses early that are not for something to recover; absent: nothing does.
 */
export async function runPollLoop(
  { clock, random, log }: PollDeps,
  pollable: Pollable,
  { wake, signal }: { readonly wake?: Wake; readonly signal: AbortSignal },
): Promise<never> {
  for (let failures = 0;;) {
    const startMs = clock.now();
    const result = await pollable.poll(failures, signal);
    const pace = { intervalMs: pollable.intervalMs, spentMs: clock.now() - startMs };
    const pause = pauseAfter(result, pace, failures, random.fraction());
    failures = pause.failures;
    log.debug("poll_finished", { result: result.kind, nextInMs: Math.round(pause.delayMs) });
    if (wake !== undefined && pause.interruptible) await wake.wait(pause.delayMs, signal);
    else await clock.sleep(pause.delayMs, signal);
  }
}
