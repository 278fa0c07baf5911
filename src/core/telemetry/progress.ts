/** Progress of long work for people at a terminal: one line that is overwritten, with rate and time left. */
import type { Clock } from "../runtime/clock.ts";
import { formatDuration } from "../runtime/text_table.ts";

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
    for (const [name, { seenMs }] of this.#tasks) {
      if (nowMs - seenMs > STALE_MS) this.#tasks.delete(name);
    }
    return [...this.#tasks.values()].filter(({ startMs }) => nowMs - startMs >= SHOWN_AFTER_MS)
      .map(({ startMs, startDone, progress }) => {
        const perSec = (progress.done - startDone) * 1_000 / (nowMs - startMs);
        const leftSec = perSec > 0 ? (progress.total - progress.done) / perSec : Infinity;
        return { leftSec, line: formatProgress(progress, perSec, leftSec) };
      })
      .sort((a, b) => a.leftSec < b.leftSec ? 1 : -1)[0]?.line;
  }
}

function formatProgress({ task, done, total, unit }: WorkProgress, perSec: number, leftSec: number): string {
  const rate = perSec >= 10 ? grouped(perSec) : perSec.toFixed(1);
  const left = Number.isFinite(leftSec) ? `${formatDuration(leftSec * 1_000)} left` : "time left unknown";
  return `${task}: ${grouped(done)} of ${grouped(total)} ${unit}, ${rate} per second, ${left}`;
}

/** Whole number with groups of three digits. */
function grouped(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}
