/**
 * All metrics of both programs: type, help and labels. A name never changes its meaning. The tables of
 * docs/operations/monitoring.md are written from this file (`deno task docs:metrics`).
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
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

/** Content type of {@link MetricRegistry.expose}. */
export const EXPOSITION_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** Metrics of one program. A metric is exposed from its first value on. */
export class MetricRegistry {
  readonly #registry = new Registry();

  /** Adds to a counter; 0 exposes it before anything happens. */
  add<Name extends MetricNameOf<"counter">>(name: Name, labels: MetricLabels<Name>, by = 1): void {
    this.#find(name, () => new Counter(this.#describe(name))).inc(labels, by);
  }

  /** Sets a gauge. */
  set<Name extends MetricNameOf<"gauge">>(name: Name, labels: MetricLabels<Name>, value: number): void {
    this.#gauge(name).set(labels, value);
  }

  /** Forgets the values of a gauge, so that what is gone is not exposed any longer. */
  clear(name: MetricNameOf<"gauge">): void {
    this.#gauge(name).reset();
  }

  /** Adds a value to a histogram. */
  observe<Name extends MetricNameOf<"histogram">>(
    name: Name,
    labels: MetricLabels<Name>,
    value: number,
  ): void {
    const buckets = [...metrics[name].buckets ?? []];
    this.#find(name, () => new Histogram({ ...this.#describe(name), buckets })).observe(labels, value);
  }

  /** All values in the text format. */
  expose(): Promise<string> {
    return this.#registry.metrics();
  }

  #gauge(name: MetricNameOf<"gauge">): Gauge {
    return this.#find(name, () => new Gauge(this.#describe(name)));
  }

  /** A metric of a name has one type, which its declaration says. */
  #find<Kind extends Counter | Gauge | Histogram>(name: MetricName, create: () => Kind): Kind {
    return this.#registry.getSingleMetric(name) as Kind | undefined ?? create();
  }

  #describe(name: MetricName): { name: string; help: string; labelNames: string[]; registers: Registry[] } {
    const { help, labels } = metrics[name];
    return { name, help, labelNames: [...labels], registers: [this.#registry] };
  }
}
