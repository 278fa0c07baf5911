/** Progress of long work for people at a terminal: one line that is overwritten, with rate and time left. */
import type { Clock } from "../runtime/clock.ts";

/** Progress of one piece of work. */
export interface WorkProgress {
  /** Name of the work, e.g. a leg. */
  readonly task: string;
  /** Finished when `done` has reached `total`. */
  readonly done: number;
  readonly total: number;
  /** What is counted, in the plural: `blocks`. */
  readonly unit: string;
}

/** Work that ends sooner is not shown, ms. */
const SHOWN_AFTER_MS = 2_000;

/** Minimum interval between two changes of the line, ms. */
const REDRAW_MS = 250;

/** Work that was not reported for this long has paused, ms. */
const STALE_MS = 10_000;

interface Task {
  readonly startMs: number;
  readonly startDone: number;
  readonly seenMs: number;
  readonly progress: WorkProgress;
}

/** Keeps the line: of several pieces of work that run at the same time it shows the one that takes longest. */
export class ProgressLine {
  readonly #clock: Pick<Clock, "now">;
  readonly #show: (line: string | undefined) => void;
  readonly #tasks = new Map<string, Task>();
  #drawnMs = -Infinity;

  /** @param show receives the line to show, or `undefined` when there is none. */
  constructor(clock: Pick<Clock, "now">, show: (line: string | undefined) => void) {
    this.#clock = clock;
    this.#show = show;
  }

  /** Takes the state of a piece of work. */
  report(progress: WorkProgress): void {
    const nowMs = this.#clock.now();
    const before = this.#tasks.get(progress.task);
    const isFinished = progress.done >= progress.total;
    if (isFinished) this.#tasks.delete(progress.task);
    else {
      const isSame = before !== undefined && before.progress.done <= progress.done;
      const { startMs, startDone } = isSame ? before : { startMs: nowMs, startDone: progress.done };
      this.#tasks.set(progress.task, { startMs, startDone, seenMs: nowMs, progress });
    }
    if (!isFinished && nowMs - this.#drawnMs < REDRAW_MS) return;
    this.#drawnMs = nowMs;
    this.#show(this.#longest(nowMs));
  }

  #longest(nowMs: number): string | undefined {
    let longest: { readonly leftSec: number; readonly line: string } | undefined;
    for (const [name, task] of this.#tasks) {
      if (nowMs - task.seenMs > STALE_MS) this.#tasks.delete(name);
      else if (nowMs - task.startMs >= SHOWN_AFTER_MS) {
        const { done, total } = task.progress;
        const perSec = (done - task.startDone) * 1_000 / (nowMs - task.startMs);
        const leftSec = perSec > 0 ? (total - done) / perSec : Infinity;
        if (longest === undefined || leftSec > longest.leftSec) {
          longest = { leftSec, line: formatProgress(task.progress, { perSec, leftSec }) };
        }
      }
    }
    return longest?.line;
  }
}

function formatProgress(
  { task, done, total, unit }: WorkProgress,
  { perSec, leftSec }: { readonly perSec: number; readonly leftSec: number },
): string {
  const rate = perSec >= 10 ? grouped(perSec) : perSec.toFixed(1);
  const left = Number.isFinite(leftSec) ? `${formatLeft(leftSec)} left` : "time left unknown";
  return `${task}: ${grouped(done)} of ${grouped(total)} ${unit}, ${rate} per second, ${left}`;
}

function formatLeft(seconds: number): string {
  if (seconds < 120) return `${Math.ceil(seconds)} s`;
  if (seconds < 7_200) return `${Math.ceil(seconds / 60)} min`;
  return `${Math.ceil(seconds / 3_600)} h`;
}

/** Whole number with groups of three digits. */
function grouped(value: number): string {
  return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}
