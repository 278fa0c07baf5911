/** Metrics of the consensus relayer. */
import { type MetricText, SHORT_SECONDS } from "./metric_text.ts";

/** See {@link MetricText}. */
export const updateMetrics = {
  causeway_updates_total: {
    type: "counter",
    help:
      "Attempts to advance the light client of `chain` on `target`; `overtaken`: another relayer was first",
    labels: ["chain", "target", "kind", "result"],
  },
  causeway_update_bytes: {
    type: "histogram",
    help: "Size of the proofs of one attempt",
    labels: ["chain", "target"],
    buckets: [1_000, 5_000, 20_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000],
  },
  causeway_update_seconds: {
    type: "histogram",
    help: "`find`: of a poll that found something to prove; `submit`: from there to the outcome",
    labels: ["chain", "target", "stage"],
    buckets: SHORT_SECONDS,
  },
  causeway_update_age_seconds: {
    type: "gauge",
    help: "Time since the light client of `chain` on `target` last accepted an update, whoever sent it",
    labels: ["chain", "target"],
  },
} as const satisfies Record<string, MetricText>;
