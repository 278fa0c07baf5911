/**
 * All counters and histograms of both programs, and how gauges are made of a snapshot. A name never changes its meaning.
 * The tables of docs/operations/monitoring.md are written from here and from the gauges beside each snapshot
 * (`deno task docs:metrics`).
 */
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { ChainNames } from "../config/chain_names.ts";

/** A metric, as Prometheus, the documents and the code see it. */
export interface MetricText {
  readonly type: "counter" | "gauge" | "histogram";
  /** One sentence without a full stop at the end. */
  readonly help: string;
  /** Names of its labels; their values are bounded sets, never ids of messages or transactions. */
  readonly labels: readonly string[];
  /** Upper bounds of a histogram, in the unit of the name. */
  readonly buckets?: readonly number[];
}

const counter = <const Labels extends readonly string[]>(labels: Labels, help: string) =>
  ({ type: "counter", help, labels }) as const;

const histogram = <const Labels extends readonly string[]>(
  buckets: readonly number[],
  labels: Labels,
  help: string,
) => ({ type: "histogram", help, labels, buckets }) as const;

/** Bounds for delays of a timer, seconds. */
const LAG_SECONDS = [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Bounds for what takes milliseconds to a minute, seconds. */
const SHORT_SECONDS = [...LAG_SECONDS, 10, 30, 60];

/** Bounds for what takes seconds to a day, seconds. */
const LONG_SECONDS = [1, 5, 15, 30, 60, 180, 600, 1_800, 3_600, 14_400, 86_400];

const MESSAGES = [1, 2, 5, 10, 25, 50, 100, 200];
const BYTES = [1_000, 5_000, 20_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

const ENDPOINT = ["chain", "endpoint"] as const;
const SPENT = ["chain", "purpose", "result"] as const;
const ROUTE = ["chain", "target"] as const;

/** Counters and histograms by who has them. */
export const metricAreas = {
  "Both programs": {
    causeway_event_loop_lag_seconds: histogram(
      LAG_SECONDS,
      [],
      "Delay of a timer of one second by other work",
    ),
    causeway_worker_restarts_total: counter(
      ["worker"],
      "Restarts of a worker after a fault it could not handle",
    ),
    causeway_log_lines_total: counter(
      ["level"],
      "Logged warnings and errors; equal ones once in five minutes",
    ),
    causeway_rpc_requests_total: counter(
      [...ENDPOINT, "method", "outcome"],
      "Calls to endpoints; `outcome` is `ok`, or the code of the fault, for example `throttled`",
    ),
    causeway_rpc_request_seconds: histogram(
      SHORT_SECONDS,
      ENDPOINT,
      "Time of a request, which may hold many calls",
    ),
  },
  "Messaging relayer": {
    causeway_messages_ended_total: counter(
      ["source", "target", "status"],
      "Messages that ended; `delivered` by us, `delivered_by_other` by a competitor",
    ),
    causeway_message_stage_seconds: histogram(
      LONG_SECONDS,
      ["target", "stage"],
      "`sent`: from seen to our transaction, per message; `proven`, `simulated`: of one batch; `included`: " +
        "from our transaction to its block; `final`: from its block to finality",
    ),
    causeway_batch_messages: histogram(MESSAGES, ["target"], "Messages of a transaction that was mined"),
    causeway_transactions_total: counter(
      SPENT,
      "Mined transactions; `lost_race`, `already_known`, `reverted` and `not_executed` earned nothing",
    ),
    causeway_gas_spent_total: counter(SPENT, "Cost of mined transactions in whole native tokens"),
    causeway_gas_spent_dollars_total: counter(
      SPENT,
      "The same in dollars at the price of that time, where known",
    ),
    causeway_revenue_dollars_total: counter(["chain"], "Fees that mined transactions earned, dollars"),
    causeway_fees_offered_dollars_total: counter(
      ["chain"],
      "Fees that they expected when they were sent, dollars",
    ),
    causeway_fees_claimed_total: counter(["source"], "Claimed fees, whole fee tokens of the source"),
    causeway_fees_withdrawn_total: counter(["chain"], "Received withdrawals, whole fee tokens of the chain"),
    causeway_database_transaction_seconds: histogram(
      SHORT_SECONDS,
      [],
      "Time of write transactions, to the disk",
    ),
  },
  "Consensus relayer": {
    causeway_updates_total: counter(
      [...ROUTE, "kind", "result"],
      "Attempts to advance the light client of `chain` on `target`; `overtaken`: another relayer was first",
    ),
    causeway_update_bytes: histogram(BYTES, ROUTE, "Size of the proofs of one attempt"),
    causeway_update_seconds: histogram(
      SHORT_SECONDS,
      [...ROUTE, "stage"],
      "`find`: of a poll that found something to prove; `submit`: from there to the outcome",
    ),
  },
} as const satisfies Record<string, Record<string, MetricText>>;

const declared = {
  ...metricAreas["Both programs"],
  ...metricAreas["Messaging relayer"],
  ...metricAreas["Consensus relayer"],
};

type Declared = typeof declared;

/** Names of the metrics of one type. */
type NameOf<Type extends MetricText["type"]> = {
  [Name in keyof Declared]: Declared[Name]["type"] extends Type ? Name : never;
}[keyof Declared];

/** Values of the labels of a metric. */
type LabelsOf<Name extends keyof Declared> = Readonly<Record<Declared[Name]["labels"][number], string>>;

/** A gauge, and how it is read in a snapshot: a value for each row, which has the labels as members. */
export interface SnapshotGauge<Snapshot> extends MetricText {
  readonly type: "gauge";
  readonly read: (snapshot: Snapshot) => readonly GaugeRow[];
}

/** A value, `undefined` where it is not known, and the values of its labels in their order. */
type GaugeRow = readonly [value: number | string | undefined, labels: readonly string[]];

/** Gauges by their names. */
export type SnapshotGauges<Snapshot> = Readonly<Record<string, SnapshotGauge<Snapshot>>>;

/** Declares gauges of the rows of one list: name to help and value. The labels are members of the rows. */
export function gaugesOf<Snapshot, Row extends object>(
  list: (snapshot: Snapshot) => readonly Row[],
  labels: readonly (keyof Row & string)[],
  gauges: Readonly<
    Record<string, readonly [help: string, (row: Row, snapshot: Snapshot) => number | string | undefined]>
  >,
): SnapshotGauges<Snapshot> {
  const read = (value: (row: Row, snapshot: Snapshot) => GaugeRow[0]) => (snapshot: Snapshot): GaugeRow[] =>
    list(snapshot).map((row) => [value(row, snapshot), labels.map((label) => String(row[label] ?? ""))]);
  return Object.fromEntries(
    Object.entries(gauges).map(([name, [help, value]]) =>
      [name, { type: "gauge", help, labels, read: read(value) }] as const
    ),
  );
}

/** Content type of {@link MetricRegistry.expose}. */
export const EXPOSITION_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

/** Metrics of one program. A metric is exposed from its first value on. */
export class MetricRegistry {
  readonly #registry = new Registry();
  readonly #names: Pick<ChainNames, "short">;

  /** @param names of chains in labels */
  constructor(names: Pick<ChainNames, "short"> = new ChainNames()) {
    this.#names = names;
  }

  /** Adds to a counter; 0 exposes it before anything happens. */
  add<Name extends NameOf<"counter">>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    this.#find(name, () => new Counter(this.#describe(name, declared[name]))).inc(this.#named(labels), by);
  }

  /** Adds a value to a histogram. */
  observe<Name extends NameOf<"histogram">>(name: Name, labels: LabelsOf<Name>, value: number): void {
    this.#find(name, () => new Histogram(this.#describe(name, declared[name])))
      .observe(this.#named(labels), value);
  }

  /** Sets the gauges of a snapshot; what is gone since the last one is not exposed any longer. */
  write<Snapshot>(gauges: SnapshotGauges<Snapshot>, snapshot: Snapshot): void {
    for (const [name, text] of Object.entries(gauges)) {
      this.#registry.removeSingleMetric(name);
      const made = new Gauge(this.#describe(name, text));
      for (const [value, labels] of text.read(snapshot)) {
        if (value === undefined) continue;
        made.labels(...labels.map((label) => this.#names.short(label))).set(Number(value));
      }
    }
  }

  /** All values in the text format. */
  expose(): Promise<string> {
    return this.#registry.metrics();
  }

  /** A metric of a name has one type, which its declaration says. */
  #find<Kind extends Counter | Histogram>(name: string, create: () => Kind): Kind {
    return this.#registry.getSingleMetric(name) as Kind | undefined ?? create();
  }

  #named(labels: Readonly<Record<string, string>>): Record<string, string> {
    return Object.fromEntries(
      Object.entries(labels).map(([name, value]) => [name, this.#names.short(value)]),
    );
  }

  #describe(
    name: string,
    { help, labels, buckets }: Omit<MetricText, "type">,
  ): { name: string; help: string; labelNames: string[]; registers: Registry[]; buckets?: number[] } {
    const of = { name, help, labelNames: [...labels], registers: [this.#registry] };
    return buckets === undefined ? of : { ...of, buckets: [...buckets] };
  }
}
