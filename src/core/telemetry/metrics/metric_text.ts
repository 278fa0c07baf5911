/** Declaration of one metric, as Prometheus, the documents and the code see it. */

/** A metric. Docs tables are written from it. */
export interface MetricText {
  readonly type: "counter" | "gauge" | "histogram";
  /** One sentence without a full stop at the end. */
  readonly help: string;
  /** Names of its labels; their values are bounded sets, never ids of messages or transactions. */
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, in the unit of the name. */
  readonly buckets?: readonly number[];
}

/** Bounds for what takes milliseconds to a minute, seconds. */
export const SHORT_SECONDS: readonly number[] = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Bounds for what takes seconds to a day, seconds. */
export const LONG_SECONDS: readonly number[] = [1, 5, 15, 30, 60, 180, 600, 1_800, 3_600, 14_400, 86_400];
