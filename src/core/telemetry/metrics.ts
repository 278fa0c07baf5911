/**
 * All metrics of both programs: type, help and labels. A name never changes its meaning. The tables of
 * docs/operations/monitoring.md are written from this file (`deno task docs:metrics`).
 */
import type { MetricText } from "./metrics/metric_text.ts";
import { endpointMetrics, programMetrics, updateMetrics } from "./metrics/program_metrics.ts";
import { chainMetrics, databaseMetrics, messageMetrics, moneyMetrics } from "./metrics/relay_metrics.ts";

/** Metrics by area, in the order of the documents. */
export const metricAreas = {
  "Both programs": programMetrics,
  "Endpoints and heights (both programs)": endpointMetrics,
  "Light clients and wallets": chainMetrics,
  "Messages and transactions": messageMetrics,
  "Money": moneyMetrics,
  "Database": databaseMetrics,
  "Updates (consensus relayer)": updateMetrics,
} as const satisfies Record<string, Record<string, MetricText>>;

const declared = {
  ...programMetrics,
  ...endpointMetrics,
  ...chainMetrics,
  ...messageMetrics,
  ...moneyMetrics,
  ...databaseMetrics,
  ...updateMetrics,
} as const;

type Declared = typeof declared;

/** Name of a metric, e.g. `causeway_ready`. */
export type MetricName = keyof Declared;

/** Names of the metrics of one type. */
export type MetricNameOf<Type extends MetricText["type"]> = {
  [Name in MetricName]: Declared[Name]["type"] extends Type ? Name : never;
}[MetricName];

/** Values of the labels of a metric. */
export type MetricLabels<Name extends MetricName> = Readonly<
  Record<Declared[Name]["labels"][number], string>
>;

/** Declaration of each metric by its name. */
export const metrics: Readonly<Record<MetricName, MetricText>> = declared;
