/**
 * The Grafana dashboard for operators, organised by their questions: source of `packaging/monitoring/dashboard.json`.
 */
import {
  type Dashboard,
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from "@grafana/grafana-foundation-sdk/dashboard";
import { DataqueryBuilder } from "@grafana/grafana-foundation-sdk/prometheus";
import { PanelBuilder as StatBuilder } from "@grafana/grafana-foundation-sdk/stat";
import { PanelBuilder as TimeseriesBuilder } from "@grafana/grafana-foundation-sdk/timeseries";

/** Data source that the viewer chooses when the dashboard is imported. */
const SOURCE = { type: "prometheus", uid: "${source}" };

/** A panel: a question in a few words, and the queries that answer it. */
interface Panel {
  readonly title: string;
  readonly description: string;
  /** Unit of Grafana, e.g. `s`. */
  readonly unit: string;
  /** Query to legend. */
  readonly queries: Readonly<Record<string, string>>;
  /** Bad values: at least this, or at most. */
  readonly badFrom?: number;
  readonly badBelow?: number;
}

/** A row of panels. */
interface Question {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const LEG = "{{source}} -> {{target}}";
const INSTANCE = 'instance=~"$instance"';

/** Questions in the order of the dashboard. */
const QUESTIONS: readonly Question[] = [
  {
    title: "Does it deliver?",
    panels: [
      {
        title: "Messages delivered",
        description: "By us, per minute",
        unit: "short",
        queries: {
          [`60 * sum by (source, target) (rate(causeway_messages_ended_total{status="delivered", ${INSTANCE}}[5m]))`]:
            LEG,
        },
      },
      {
        title: "How messages end",
        description: "delivered_by_other: competitors were first",
        unit: "short",
        queries: {
          [`60 * sum by (status) (rate(causeway_messages_ended_total{${INSTANCE}}[5m]))`]: "{{status}}",
        },
      },
      {
        title: "Age of the oldest message that is due",
        description: "It only waits for this program and its nodes",
        unit: "s",
        badFrom: 900,
        queries: { [`causeway_message_oldest_age_seconds{kind="due", ${INSTANCE}}`]: LEG },
      },
      {
        title: "What open messages wait for",
        description: "Without a reason: their turn",
        unit: "short",
        queries: { [`sum by (reason) (causeway_messages_open{${INSTANCE}})`]: "{{reason}}" },
      },
      {
        title: "Time of each stage",
        description: "Median",
        unit: "s",
        queries: {
          [`histogram_quantile(0.5, sum by (le, stage) (rate(causeway_message_stage_seconds_bucket{${INSTANCE}}[15m])))`]:
            "{{stage}}",
        },
      },
      {
        title: "Messages of a transaction",
        description: "Mean",
        unit: "short",
        queries: {
          [`rate(causeway_batch_messages_sum{${INSTANCE}}[15m]) / rate(causeway_batch_messages_count{${INSTANCE}}[15m])`]:
            "{{target}}",
        },
      },
    ],
  },
  {
    title: "Does it pay?",
    panels: [
      {
        title: "Earned and spent, dollars per day",
        description: "Fees that deliveries earned against their gas",
        unit: "currencyUSD",
        queries: {
          [`sum(increase(causeway_revenue_dollars_total{${INSTANCE}}[1d]))`]: "earned",
          [`sum(increase(causeway_gas_spent_dollars_total{${INSTANCE}}[1d]))`]: "spent",
        },
      },
      {
        title: "Share of gas that earned nothing",
        description: "Of the last 24 hours, by chain",
        unit: "percentunit",
        badFrom: 0.05,
        queries: {
          [`sum by (chain) (increase(causeway_gas_spent_total{result=~"already_known|lost_race|reverted|not_executed|cancelled", ${INSTANCE}}[1d])) / sum by (chain) (increase(causeway_gas_spent_total{${INSTANCE}}[1d]))`]:
            "{{chain}}",
        },
      },
      {
        title: "Hours until a wallet is empty",
        description: "At the rate of the last 24 hours",
        unit: "h",
        badBelow: 24,
        queries: { [`causeway_wallet_runway_hours{${INSTANCE}}`]: "{{chain}}" },
      },
      {
        title: "Fees not claimed yet",
        description: "Whole fee tokens of each source",
        unit: "short",
        queries: { [`causeway_fees_unclaimed{${INSTANCE}}`]: "{{source}}" },
      },
    ],
  },
  {
    title: "Do the light clients move?",
    panels: [
      {
        title: "Time since a light client learned a height",
        description: "As the messaging relayer sees them",
        unit: "s",
        badFrom: 14_400,
        queries: { [`causeway_light_client_age_seconds{${INSTANCE}}`]: "{{counterparty}} on {{chain}}" },
      },
      {
        title: "Time since the last update",
        description: "As the consensus relayer sees them, whoever sent it",
        unit: "s",
        badFrom: 14_400,
        queries: { [`causeway_update_age_seconds{${INSTANCE}}`]: "{{chain}} on {{target}}" },
      },
      {
        title: "Updates by result",
        description: "Per hour",
        unit: "short",
        queries: {
          [`3600 * sum by (chain, target, result) (rate(causeway_updates_total{${INSTANCE}}[1h]))`]:
            "{{chain}} on {{target}} {{result}}",
        },
      },
      {
        title: "Size of an update",
        description: "Mean",
        unit: "bytes",
        queries: {
          [`rate(causeway_update_bytes_sum{${INSTANCE}}[1h]) / rate(causeway_update_bytes_count{${INSTANCE}}[1h])`]:
            "{{chain}} on {{target}}",
        },
      },
    ],
  },
  {
    title: "Are transactions stuck?",
    panels: [
      {
        title: "Transactions in no block",
        description: "Signed or sent",
        unit: "short",
        queries: { [`causeway_transactions_in_flight{${INSTANCE}}`]: "{{chain}}" },
      },
      {
        title: "Age of the oldest",
        description: "",
        unit: "s",
        badFrom: 600,
        queries: { [`causeway_transaction_oldest_age_seconds{${INSTANCE}}`]: "{{chain}}" },
      },
      {
        title: "Replacements and missing nonces",
        description: "Both should stay low",
        unit: "short",
        badFrom: 3,
        queries: {
          [`causeway_transaction_replacements{${INSTANCE}}`]: "replacements on {{chain}}",
          [`causeway_nonce_gap{${INSTANCE}}`]: "missing nonces on {{chain}}",
        },
      },
      {
        title: "Gas price",
        description: "As last read, without buffer",
        unit: "short",
        queries: { [`causeway_gas_price_wei{${INSTANCE}} / 1e9`]: "{{chain}} (gwei)" },
      },
    ],
  },
  {
    title: "Are the nodes well?",
    panels: [
      {
        title: "Endpoints that answer",
        description: "By chain",
        unit: "short",
        badBelow: 1,
        queries: { [`sum by (chain) (causeway_endpoint_up{${INSTANCE}})`]: "{{chain}}" },
      },
      {
        title: "Calls that fail",
        description: "Per second, by outcome; throttled: the endpoint limits the rate",
        unit: "short",
        queries: {
          [`sum by (endpoint, outcome) (rate(causeway_rpc_requests_total{outcome!="ok", ${INSTANCE}}[5m]))`]:
            "{{endpoint}} {{outcome}}",
        },
      },
      {
        title: "Time of an answer",
        description: "95 % are faster",
        unit: "s",
        queries: {
          [`histogram_quantile(0.95, sum by (le, endpoint) (rate(causeway_rpc_request_seconds_bucket{${INSTANCE}}[5m])))`]:
            "{{endpoint}}",
        },
      },
      {
        title: "Calls by method",
        description: "Per second: what a provider charges for",
        unit: "short",
        queries: {
          [`sum by (chain, method) (rate(causeway_rpc_requests_total{${INSTANCE}}[5m]))`]:
            "{{chain}} {{method}}",
        },
      },
    ],
  },
  {
    title: "Is the program well?",
    panels: [
      {
        title: "Memory",
        description: "Of the process",
        unit: "bytes",
        queries: { [`causeway_memory_resident_bytes{${INSTANCE}}`]: "{{instance}}" },
      },
      {
        title: "Delay of the event loop",
        description: "99 % are shorter",
        unit: "s",
        badFrom: 1,
        queries: {
          [`histogram_quantile(0.99, sum by (le, instance) (rate(causeway_event_loop_lag_seconds_bucket{${INSTANCE}}[5m])))`]:
            "{{instance}}",
        },
      },
      {
        title: "Time of a database transaction",
        description: "95 % are shorter",
        unit: "s",
        queries: {
          [`histogram_quantile(0.95, sum by (le, instance) (rate(causeway_database_transaction_seconds_bucket{${INSTANCE}}[5m])))`]:
            "{{instance}}",
        },
      },
      {
        title: "Warnings, errors and restarts",
        description: "Per hour",
        unit: "short",
        queries: {
          [`sum by (level) (increase(causeway_log_lines_total{${INSTANCE}}[1h]))`]: "{{level}}",
          [`sum by (instance) (increase(causeway_worker_restarts_total{${INSTANCE}}[1h]))`]: "restarts",
        },
      },
    ],
  },
];

const WIDTH = 12;
const HEIGHT = 8;

/** Makes the dashboard. */
export function makeDashboard(): Dashboard {
  const builder = new DashboardBuilder("Causeway")
    .uid("causeway")
    .tags(["causeway", "relayer"])
    .refresh("30s")
    .time({ from: "now-6h", to: "now" })
    .timezone("browser")
    .link(new DashboardLinkBuilder("Alerts").type(DashboardLinkType.Link).url("/alerting/list"))
    .withVariable(new DatasourceVariableBuilder("source").label("Data source").type("prometheus"))
    .withVariable(
      new QueryVariableBuilder("instance").label("Instance").datasource(SOURCE)
        .query("label_values(causeway_build_info, instance)").multi(true).includeAll(true),
    )
    .withRow(new RowBuilder("Is something the matter?"))
    .withPanel(stat("Ready", `causeway_ready{${INSTANCE}}`, "{{instance}}"))
    .withPanel(
      stat("Reasons", `sum by (chain, code) (causeway_not_ready_reasons{${INSTANCE}})`, "{{chain}} {{code}}"),
    );
  for (const { title, panels } of QUESTIONS) {
    builder.withRow(new RowBuilder(title));
    for (const panel of panels) builder.withPanel(chart(panel));
  }
  return builder.build();
}

function stat(title: string, query: string, legend: string): StatBuilder {
  return new StatBuilder().title(title).datasource(SOURCE).span(WIDTH).height(5)
    .withTarget(new DataqueryBuilder().expr(query).legendFormat(legend).instant());
}

function chart({ title, description, unit, queries, badFrom, badBelow }: Panel): TimeseriesBuilder {
  const panel = new TimeseriesBuilder().title(title).description(description).unit(unit)
    .datasource(SOURCE).span(WIDTH).height(HEIGHT).fillOpacity(8).thresholds(limits(badFrom, badBelow));
  for (const [query, legend] of Object.entries(queries)) {
    panel.withTarget(new DataqueryBuilder().expr(query).legendFormat(legend));
  }
  return panel;
}

function limits(badFrom: number | undefined, badBelow: number | undefined): ThresholdsConfigBuilder {
  const steps = badFrom !== undefined
    ? [{ value: null, color: "green" }, { value: badFrom, color: "red" }]
    : badBelow !== undefined
    ? [{ value: null, color: "red" }, { value: badBelow, color: "green" }]
    : [{ value: null, color: "green" }];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}
