/** The declarations of metrics as the tables of docs/operations/monitoring.md. Pure. */
import { consensusGauges } from "../../src/consensus/status/consensus_status.ts";
import { programGauges } from "../../src/core/checks/program_status.ts";
import { metricAreas, type MetricText } from "../../src/core/telemetry/metrics.ts";
import { relayGauges } from "../../src/messaging/status/relay_status.ts";

/** All metrics by who has them. */
export const allMetrics: Readonly<Record<keyof typeof metricAreas, Readonly<Record<string, MetricText>>>> = {
  "Both programs": { ...programGauges, ...metricAreas["Both programs"] },
  "Messaging relayer": { ...relayGauges, ...metricAreas["Messaging relayer"] },
  "Consensus relayer": { ...consensusGauges, ...metricAreas["Consensus relayer"] },
};

/** Between these stands what is generated. */
const BEGIN = "<!-- metrics -->\n";
const END = "<!-- /metrics -->";

/**
 * The document with its tables of metrics written again.
 * @throws {Error} when it lacks one of the two marks
 */
export function updateMetricTables(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin) throw new Error("The document has no marks for the tables of metrics");
  return `${document.slice(0, begin + BEGIN.length)}\n${metricTables()}\n${document.slice(end)}`;
}

function metricTables(): string {
  return Object.entries(allMetrics).map(([area, metrics]) => `### ${area}\n\n${tableOf(metrics)}\n`).join(
    "\n",
  );
}

function tableOf(metrics: Readonly<Record<string, MetricText>>): string {
  const head = ["metric", "type", "labels", "meaning"];
  const rows = Object.entries(metrics).map(([name, { type, labels, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}
