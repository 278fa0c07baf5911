/**
 * The fence of a program: a file by which whoever has started it says that it may work. Two machines that share a lock
 * keep it while they hold the lock, so that a machine which has lost it, or is cut off, stops before the other one
 * starts. Nothing is finished then: what was journalled is settled by whoever works next.
 */
import type { Log } from "../telemetry/log.ts";
import type { Clock } from "./clock.ts";
import { type ExitCode, exitCodes } from "./exit_codes.ts";

/** Time between two looks at the file, ms. */
const LOOK_EVERY_MS = 250;

/** Where a fence is, and how it is read. */
export interface FenceDeps {
  readonly clock: Clock;
  /** Text of the file; `undefined`: it is gone or cannot be read. */
  readonly read: () => string | undefined;
}

/**
 * Time for which a fence with this text still allows to work, ms: without an end in an empty file, else up to the time
 * in it, Unix seconds with or without decimals. 0: not any more.
 */
export function remainingMs(text: string | undefined, nowMs: number): number {
  if (text === undefined) return 0;
  const until = text.trim();
  if (until === "") return Infinity;
  return /^\d+(?:\.\d+)?$/.test(until) ? Math.max(0, Number(until) * 1_000 - nowMs) : 0;
}

/**
 * Returns when the fence does not allow to work any more; rejects when `signal` is aborted. A clock that is set back
 * meanwhile prolongs nothing: what a text allowed when it was first seen is counted down.
 */
export async function untilFenced({ clock, read }: FenceDeps, signal: AbortSignal): Promise<void> {
  let text = read();
  let leftMs = remainingMs(text, clock.now());
  while (leftMs > 0) {
    const pauseMs = Math.min(LOOK_EVERY_MS, leftMs);
    await clock.sleep(pauseMs, signal);
    const found = read();
    const allowedMs = remainingMs(found, clock.now());
    leftMs = found === text ? Math.min(leftMs - pauseMs, allowedMs) : allowedMs;
    text = found;
  }
}

/** What a program with a fence needs. */
export interface FencedDeps {
  readonly clock: Clock;
  readonly log: Pick<Log, "error">;
  /** Content of the file; throws when it is gone. */
  readonly read: () => Uint8Array;
  /** Ends the program at once. */
  readonly exitNow: (code: ExitCode) => void;
}

/** Has the program ended when the fence at `path` closes. @returns false when it is closed already, which is logged. */
export function obeyFence(path: string, { clock, log, read, exitNow }: FencedDeps): boolean {
  const deps = { clock, read: () => readTextOrUndefined(read) };
  const isClosed = remainingMs(deps.read(), clock.now()) === 0;
  if (isClosed) log.error("fence_gone", { fence: path });
  else {
    const end = (): void => {
      log.error("fence_gone", { fence: path });
      exitNow(exitCodes.fenced);
    };
    // It is watched to the end of the process, also while that is stopping.
    untilFenced(deps, new AbortController().signal).then(end, end);
  }
  return !isClosed;
}

/** A file that cannot be read allows nothing, whatever the reason. */
function readTextOrUndefined(read: () => Uint8Array): string | undefined {
  try {
    return new TextDecoder().decode(read());
  } catch {
    return undefined;
  }
}
