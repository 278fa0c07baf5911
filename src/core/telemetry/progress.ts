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

/** When a piece of work was reported first, and how much of it was done then. */
interface WorkStart {
  readonly atMs: number;
  readonly done: number;
}

/** Keeps the line: it shows the piece of work that was reported last. */
export class ProgressLine {
  readonly #starts = new Map<string, WorkStart>();
  #drawnMs = -Infinity;

  /** @param show receives the line to show, or `undefined` when there is none. */
  constructor(
    readonly clock: Pick<Clock, "now">,
    readonly show: (line: string | undefined) => void,
  ) {}

  /** Takes the state of a piece of work. */
  report(progress: WorkProgress): void {
    const { task, done, total } = progress;
    const nowMs = this.clock.now();
    const known = this.#starts.get(task);
    const start = known !== undefined && known.done <= done ? known : { atMs: nowMs, done };
    this.#starts.set(task, start);
    if (done >= total) {
      this.#starts.delete(task);
      this.show(undefined);
    } else if (nowMs - start.atMs >= SHOWN_AFTER_MS && nowMs - this.#drawnMs >= REDRAW_MS) {
      this.#drawnMs = nowMs;
      const perSec = (done - start.done) * 1_000 / (nowMs - start.atMs);
      this.show(formatProgress(progress, perSec, perSec > 0 ? (total - done) / perSec : Infinity));
    }
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
