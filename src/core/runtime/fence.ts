/**
 * The fence of a program: a file by which the script that started it allows it to work. Two machines that share a lock
 * keep it while they hold the lock, so that a machine which has lost it, or is cut off, stops before the other one
 * starts. It is looked at all the time, and again right before anything is sent: a program that was paused may continue
 * when its time is long over. Nothing is finished then: the machine that works next settles what was journalled.
 */
import { readOrUndefined } from "../encoding/coded_error.ts";
import type { Log } from "../telemetry/log.ts";
import type { Clock } from "./clock.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/** Time between two looks at the file, ms. */
const LOOK_EVERY_MS = 250;

/** What the clocks of the machine say at one moment. */
export interface FenceTime {
  /** Unix time, ms, as the machine has it: the writer of the file reads the same clock. */
  readonly wallMs: number;
  /** Monotonic milliseconds. */
  readonly timerMs: number;
}

/** What was seen at one look. */
export interface FenceView {
  /** Text of the file; `undefined`: it was gone or could not be read. */
  readonly text: string | undefined;
  /** For how long it allowed to work, ms. */
  readonly leftMs: number;
  /** {@link FenceTime.timerMs} of the look. */
  readonly timerMs: number;
}

/**
 * Time for which a fence with this text allows to work, ms: without an end in an empty file, else up to the time in it,
 * Unix seconds with or without decimals. 0: not any more.
 */
export function remainingMs(text: string | undefined, nowMs: number): number {
  if (text === undefined) return 0;
  const until = text.trim();
  if (until === "") return Infinity;
  return /^\d+(?:\.\d+)?$/.test(until) ? Math.max(0, Number(until) * 1_000 - nowMs) : 0;
}

/**
 * What a look finds. Moving the clock back does not extend the lease: time allowed by the text before is counted down.
 * @param before the look before this one
 */
export function lookAtFence(
  before: FenceView | undefined,
  text: string | undefined,
  { wallMs, timerMs }: FenceTime,
): FenceView {
  const allowedMs = remainingMs(text, wallMs);
  if (before === undefined || before.text !== text) return { text, leftMs: allowedMs, timerMs };
  const restMs = Math.max(0, before.leftMs - (timerMs - before.timerMs));
  return { text, leftMs: Math.min(restMs, allowedMs), timerMs };
}

/** Says whether the program may work at this moment; ends it where it may not. */
export type MayWork = () => boolean;

/** What a program with a fence needs. */
export interface FenceDeps {
  readonly time: () => FenceTime;
  /** Content of the file; throws when it is gone. */
  readonly read: () => Uint8Array;
  readonly clock: Pick<Clock, "sleep">;
  readonly log: Pick<Log, "error">;
  /** Ends the program at once. */
  readonly exitNow: (code: ExitCode) => void;
}

/**
 * Has the program end when the fence at `path` closes.
 * @returns what is to be asked right before anything is sent; `undefined` when the fence is closed already, which is
 * logged.
 */
export function obeyFence(path: string, { clock, log, exitNow, time, read }: FenceDeps): MayWork | undefined {
  let seen: FenceView | undefined;
  // A file that cannot be read allows nothing, whatever the reason.
  const readText = (): string | undefined => readOrUndefined(() => new TextDecoder().decode(read()));
  const look = (): number => (seen = lookAtFence(seen, readText(), time())).leftMs;
  let leftMs = look();
  let isOpen = leftMs > 0;
  if (!isOpen) {
    log.error("fence_gone", { fence: path });
    return undefined;
  }
  const end = (): void => {
    // Once for all: a file that is there again allows nothing to a program that is about to end.
    if (!isOpen) return;
    isOpen = false;
    log.error("fence_gone", { fence: path });
    exitNow(exitCodes.fenced);
  };
  // It is watched to the end of the process, also while that is stopping.
  const { signal } = new AbortController();
  const watch = async (): Promise<void> => {
    for (; isOpen && leftMs > 0; leftMs = look()) await clock.sleep(Math.min(LOOK_EVERY_MS, leftMs), signal);
  };
  watch().then(end, end);
  return () => {
    if (isOpen && look() === 0) end();
    return isOpen;
  };
}
