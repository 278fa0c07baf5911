/** Loop of a worker that polls a chain: poll, log the result, wait as long as the result asks for. */
import type { Clock, Randomness } from "../core/runtime/clock.ts";
import { type Backoff, nextDelayMs } from "../core/runtime/retry.ts";
import type { Wake } from "../core/runtime/waiting.ts";
import type { Log } from "../core/telemetry/log.ts";

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

/** Time that a stopping program waits for pending submissions, milliseconds. */
export const SHUTDOWN_GRACE_MS = 5_000;

/**
 * Creates a signal that is aborted `afterMs` later than `signal`, with its reason. Call `end` when it is no longer
 * needed.
 */
export function delayAbort(
  clock: Clock,
  signal: AbortSignal,
  afterMs: number,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const ended = new AbortController();
  const late = new AbortController();
  const onAbort = (): void => {
    const abort = (): void => late.abort(signal.reason);
    clock.sleep(afterMs, ended.signal).then(abort, () => undefined); // ended first: nobody listens
  };
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  const end = (): void => {
    signal.removeEventListener("abort", onAbort);
    ended.abort();
  };
  return { signal: late.signal, end };
}

/** Result of a poll and of the submission of its updates. */
export type PollResult =
  /** The hub already knows everything that can be proved. `againInMs`: the prover's override of the interval. */
  | { readonly kind: "nothing"; readonly againInMs: number | undefined }
  /** The hub accepted the updates, ours or another relayer's. `hasMore`: it is still behind. */
  | { readonly kind: "updated"; readonly hasMore: boolean }
  /** A retry may succeed. `backoff`: pauses of this kind of failure; default 1 s to 1 min. */
  | { readonly kind: "failed"; readonly failure: PollFailure; readonly backoff?: Backoff | undefined }
  /** The operator or governance has to fix something; polling often does not help. */
  | { readonly kind: "suspended"; readonly failure: PollFailure };

/** Why a poll failed, for the operator. */
export interface PollFailure {
  /** A clause without a full stop; without texts of endpoints. */
  readonly text: string;
  /** Host of the endpoint; absent where several took part, or none. */
  readonly host?: string | undefined;
}

/** Poll interval, and the polls before. */
interface Pace {
  readonly intervalMs: number;
  /** Part of the interval that the poll itself took. */
  readonly spentMs: number;
  /** Consecutive failures before this poll. */
  readonly failures: number;
}

/** Pause before the next poll. */
interface Pause {
  readonly delayMs: number;
  /** True: a new L1 height ends it early. False: something must recover first. */
  readonly interruptible: boolean;
  /** Consecutive failures. */
  readonly failures: number;
}

/** Backoff after failures: 1 s to 1 min (docs/protocol/hub-consensus.md section 3.3). */
const pollBackoff: Backoff = { firstMs: 1_000, maxMs: 60_000 };

/** Minimum pause between polls: no busy loop, whatever a prover asks for. */
export const MIN_PAUSE_MS = 1_000;

/** Maximum pause: limit of the runtime's timers. */
export const MAX_PAUSE_MS = 2 ** 31 - 1;

/** Pause of a suspended chain. */
export const SUSPENDED_MS = 10 * 60_000;

/** Returns the pause after a poll. @param fraction chance from [0, 1), for the jitter of backoffs. */
export function planPause(result: PollResult, pace: Pace, fraction: number): Pause {
  const { failures } = pace;
  switch (result.kind) {
    case "nothing": {
      const delayMs = result.againInMs ?? pace.intervalMs - pace.spentMs;
      return { delayMs: bounded(delayMs), interruptible: true, failures: 0 };
    }
    case "updated": {
      const delayMs = result.hasMore ? MIN_PAUSE_MS : pace.intervalMs - pace.spentMs;
      return { delayMs: bounded(delayMs), interruptible: true, failures: 0 };
    }
    case "failed": {
      const delayMs = nextDelayMs(result.backoff ?? pollBackoff, failures + 1, fraction);
      return { delayMs: bounded(delayMs), interruptible: false, failures: failures + 1 };
    }
    case "suspended":
      return { delayMs: SUSPENDED_MS, interruptible: false, failures: failures + 1 };
  }
}

function bounded(delayMs: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, delayMs));
}

/** A light client: of `chain`, on `target`. */
export interface UpdateRoute {
  readonly chain: string;
  readonly target: string;
}

/** One attempt to advance a light client, as it ended. */
export interface ObservedUpdate {
  readonly kind: "update" | "rotation" | "hub_proofs";
  /** `overtaken`: another relayer was first, at no cost; `wasted`: at the cost of gas. */
  readonly result: "accepted" | "overtaken" | "refused" | "lost" | "wasted";
  readonly bytes: number;
  /** Height of the chain that the target knows now, where it was accepted and proves one. */
  readonly height?: number | undefined;
  /** Time of the poll until there was something to submit, milliseconds. */
  readonly findMs: number;
  /** Time from there to the outcome, milliseconds. */
  readonly submitMs: number;
  /** What was proved, or why it failed; may hold text of nodes. */
  readonly detail: string;
}

/** Observer of the workers. Must not throw. */
export interface UpdateObserver {
  noteUpdate(route: UpdateRoute, update: ObservedUpdate): void;
  /** @param reason why there is nothing to prove, where the prover says so. */
  notePoll(route: UpdateRoute, result: PollResult, reason?: string): void;
}
