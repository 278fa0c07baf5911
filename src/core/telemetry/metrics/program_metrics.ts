/** Metrics of a program itself, of the requests that it makes, and of the updates of the consensus relayer. */
import { type MetricText, SHORT_SECONDS } from "./metric_text.ts";

/** See {@link MetricText}. */
export const programMetrics = {
  causeway_build_info: {
    type: "gauge",
    help: "Always 1; the labels name what runs",
    labels: ["program", "version"],
  },
  causeway_start_time_seconds: {
    type: "gauge",
    help: "Start of the program, Unix seconds",
    labels: [],
  },
  causeway_memory_resident_bytes: {
    type: "gauge",
    help: "Memory of the process",
    labels: [],
  },
  causeway_event_loop_lag_seconds: {
    type: "histogram",
    help: "Delay of a timer of one second: how long other work had to wait",
    labels: [],
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
  },
  causeway_worker_restarts_total: {
    type: "counter",
    help: "Restarts of a worker after a fault that it could not handle",
    labels: ["worker"],
  },
  causeway_log_lines_total: {
    type: "counter",
    help: "Warnings and errors that were logged, repeated ones counted when they are summed up",
    labels: ["level"],
  },
  causeway_ready: {
    type: "gauge",
    help: "1 when /readyz answers 200",
    labels: [],
  },
  causeway_not_ready_reasons: {
    type: "gauge",
    help: "Reasons for which /readyz answers 503, by their code",
    labels: ["chain", "code"],
  },
} as const satisfies Record<string, MetricText>;

/** See {@link MetricText}. */
export const endpointMetrics = {
  causeway_rpc_requests_total: {
    type: "counter",
    help: "Calls to endpoints; `outcome` is `ok`, or the code of the fault, for example `throttled`",
    labels: ["chain", "endpoint", "method", "outcome"],
  },
  causeway_rpc_request_seconds: {
    type: "histogram",
    help: "Time until an endpoint had answered a request, which may be a batch of calls",
    labels: ["chain", "endpoint"],
    buckets: SHORT_SECONDS,
  },
  causeway_endpoint_up: {
    type: "gauge",
    help: "1 when the last request to the endpoint had a usable answer, or was refused for its own sake",
    labels: ["chain", "endpoint"],
  },
  causeway_endpoint_state: {
    type: "gauge",
    help:
      "1 for the state of the endpoint: ready, behind, throttled, unauthorized, wrong_chain or down; only ready and " +
      "behind ones are used while others are",
    labels: ["chain", "endpoint", "state"],
  },
  causeway_signer_up: {
    type: "gauge",
    help:
      "1 when the last request to the remote signer of the chain's account had the signature that was asked for",
    labels: ["chain", "endpoint"],
  },
  causeway_chain_head_height: {
    type: "gauge",
    help: "Newest block as last read; the checks read it at least every ten minutes",
    labels: ["chain"],
  },
  causeway_chain_final_height: {
    type: "gauge",
    help: "Newest final block as last read; the checks read it at least every ten minutes",
    labels: ["chain"],
  },
  causeway_endpoint_lag_blocks: {
    type: "gauge",
    help:
      "Blocks that the endpoint is behind another one of its chain; 0 while it is not in the state behind",
    labels: ["chain", "endpoint"],
  },
} as const satisfies Record<string, MetricText>;

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
