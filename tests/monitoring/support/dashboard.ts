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

const INSTANCE = 'instance=~"$instance"';

/**
 * The rows of the dashboard, each a question. Below it stand its panels (title, description, unit of Grafana, and which values
 * are bad), and below each its queries behind their legends.
 */
const QUESTIONS = `
Does it deliver?
  Messages delivered | By us, per minute | short
    {{source}} -> {{target}}: 60 * sum by (source, target) (rate(causeway_messages_ended_total{status="delivered", INSTANCE}[5m]))
  How messages end | delivered_by_other: competitors were first | short
    {{status}}: 60 * sum by (status) (rate(causeway_messages_ended_total{INSTANCE}[5m]))
  Age of the oldest message that is due | It only waits for this program and its nodes | s | bad from 900
    {{source}} -> {{target}}: causeway_message_oldest_age_seconds{kind="due", INSTANCE}
  What open messages wait for | Without a reason: their turn | short
    {{reason}}: sum by (reason) (causeway_messages_open{INSTANCE})
  Time of each stage | Median | s
    {{stage}}: histogram_quantile(0.5, sum by (le, stage) (rate(causeway_message_stage_seconds_bucket{INSTANCE}[15m])))
  Messages of a transaction | Mean | short
    {{target}}: rate(causeway_batch_messages_sum{INSTANCE}[15m]) / rate(causeway_batch_messages_count{INSTANCE}[15m])
Does it pay?
  Earned and spent, dollars per day | Fees that deliveries earned against their gas | currencyUSD
    earned: sum(increase(causeway_revenue_dollars_total{INSTANCE}[1d]))
    spent: sum(increase(causeway_gas_spent_dollars_total{INSTANCE}[1d]))
  Share of gas that earned nothing | Of the last 24 hours, by chain | percentunit | bad from 0.05
    {{chain}}: sum by (chain) (increase(causeway_gas_spent_total{result=~"already_known|lost_race|reverted|not_executed|cancelled", INSTANCE}[1d])) / sum by (chain) (increase(causeway_gas_spent_total{INSTANCE}[1d]))
  Hours until a wallet is empty | At the rate of the last 24 hours | h | bad below 24
    {{chain}}: causeway_wallet_runway_hours{INSTANCE}
  Fees not claimed yet | Whole fee tokens of each source | short
    {{source}}: causeway_fees_unclaimed{INSTANCE}
Do the light clients move?
  Time since a light client learned a height | As the messaging relayer sees them | s | bad from 14400
    {{counterparty}} on {{chain}}: causeway_light_client_age_seconds{INSTANCE}
  Time since the last update | As the consensus relayer sees them, whoever sent it | s | bad from 14400
    {{chain}} on {{target}}: causeway_update_age_seconds{INSTANCE}
  Updates by result | Per hour | short
    {{chain}} on {{target}} {{result}}: 3600 * sum by (chain, target, result) (rate(causeway_updates_total{INSTANCE}[1h]))
  Size of an update | Mean | bytes
    {{chain}} on {{target}}: rate(causeway_update_bytes_sum{INSTANCE}[1h]) / rate(causeway_update_bytes_count{INSTANCE}[1h])
Are transactions stuck?
  Transactions in no block | Signed or sent | short
    {{chain}}: causeway_transactions_in_flight{INSTANCE}
  Age of the oldest |  | s | bad from 600
    {{chain}}: causeway_transaction_oldest_age_seconds{INSTANCE}
  Replacements and missing nonces | Both should stay low | short | bad from 3
    replacements on {{chain}}: causeway_transaction_replacements{INSTANCE}
    missing nonces on {{chain}}: causeway_nonce_gap{INSTANCE}
  Gas price | As last read, without buffer | short
    {{chain}} (gwei): causeway_gas_price_wei{INSTANCE} / 1e9
Are the nodes well?
  Endpoints that answer | By chain | short | bad below 1
    {{chain}}: sum by (chain) (causeway_endpoint_up{INSTANCE})
  Calls that fail | Per second, by outcome; throttled: the endpoint limits the rate | short
    {{endpoint}} {{outcome}}: sum by (endpoint, outcome) (rate(causeway_rpc_requests_total{outcome!="ok", INSTANCE}[5m]))
  Time of an answer | 95 % are faster | s
    {{endpoint}}: histogram_quantile(0.95, sum by (le, endpoint) (rate(causeway_rpc_request_seconds_bucket{INSTANCE}[5m])))
  Calls by method | Per second: what a provider charges for | short
    {{chain}} {{method}}: sum by (chain, method) (rate(causeway_rpc_requests_total{INSTANCE}[5m]))
Is the program well?
  Memory | Of the process | bytes
    {{instance}}: causeway_memory_resident_bytes{INSTANCE}
  Delay of the event loop | 99 % are shorter | s | bad from 1
    {{instance}}: histogram_quantile(0.99, sum by (le, instance) (rate(causeway_event_loop_lag_seconds_bucket{INSTANCE}[5m])))
  Time of a database transaction | 95 % are shorter | s
    {{instance}}: histogram_quantile(0.95, sum by (le, instance) (rate(causeway_database_transaction_seconds_bucket{INSTANCE}[5m])))
  Warnings, errors and restarts | Per hour | short
    {{level}}: sum by (level) (increase(causeway_log_lines_total{INSTANCE}[1h]))
    restarts: sum by (instance) (increase(causeway_worker_restarts_total{INSTANCE}[1h]))
`;

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
  let panel: TimeseriesBuilder | undefined;
  for (const line of QUESTIONS.trim().split("\n")) {
    const [, legend = "", query = ""] = /^ {4}(.*?): (.*)$/.exec(line) ?? [];
    if (query !== "") {
      panel?.withTarget(
        new DataqueryBuilder().expr(query.replaceAll("INSTANCE", INSTANCE)).legendFormat(legend),
      );
    } else if (line.startsWith("  ")) {
      panel = chart(line.trim().split(" | "));
      builder.withPanel(panel);
    } else builder.withRow(new RowBuilder(line));
  }
  return builder.build();
}

function stat(title: string, query: string, legend: string): StatBuilder {
  return new StatBuilder().title(title).datasource(SOURCE).span(WIDTH).height(5)
    .withTarget(new DataqueryBuilder().expr(query).legendFormat(legend).instant());
}

function chart([title = "", description = "", unit = "", bad = ""]: readonly string[]): TimeseriesBuilder {
  return new TimeseriesBuilder().title(title).description(description).unit(unit)
    .datasource(SOURCE).span(WIDTH).height(HEIGHT).fillOpacity(8).thresholds(limits(bad));
}

/** @param bad `bad from 3`, `bad below 3`, or empty: nothing is */
function limits(bad: string): ThresholdsConfigBuilder {
  const value = Number(bad.split(" ").at(-1));
  const [low, high] = bad.startsWith("bad below") ? ["red", "green"] : ["green", "red"];
  const steps = [{ value: null, color: low }, ...bad === "" ? [] : [{ value, color: high }]];
  return new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(steps);
}
