/** Loop of a worker that polls a chain: poll, log the result, wait as long as the result asks for. */
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import type { Wake } from "../core/runtime/waiting.ts";
import type { Log } from "../core/telemetry/log.ts";
import type { UpdateObserver } from "./update_observer.ts";
import { planPause, type PollResult } from "./schedule.ts";

/** Dependencies of the loop. */
export interface PollDeps {
  readonly clock: Clock;
  readonly random: Randomness;
  readonly log: Log;
  /** Notified of polls and updates; absent: nobody observes. */
  readonly observer?: UpdateObserver | undefined;
}

/** Subject of a poll loop. */
export interface Pollable {
  /** Default poll interval, milliseconds; it may change. */
  readonly intervalMs: number;
  /** Polls once and acts on the result. @param failures consecutive failures before this poll. */
  poll(failures: number, signal: AbortSignal): Promise<PollResult>;
}

/**
 * Polls until `signal` is aborted, and throws its reason. @param wake ends interruptible pauses early; absent: nothing
 * does.
 */
export async function runPollLoop(
  { clock, random, log }: PollDeps,
  pollable: Pollable,
  { wake, signal }: { readonly wake?: Wake; readonly signal: AbortSignal },
): Promise<never> {
  for (let failures = 0;;) {
    const startMs = clock.now();
    const result = await pollable.poll(failures, signal);
    const pace = { intervalMs: pollable.intervalMs, spentMs: clock.now() - startMs, failures };
    const pause = planPause(result, pace, random.fraction());
    failures = pause.failures;
    log.debug("poll_finished", { result: result.kind, nextInMs: Math.round(pause.delayMs) });
    if (wake !== undefined && pause.interruptible) await wake.wait(pause.delayMs, signal);
    else await clock.sleep(pause.delayMs, signal);
  }
}
