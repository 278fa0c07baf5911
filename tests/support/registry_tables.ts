/** The registries of log events and metrics as the tables of docs/operations/{logs,monitoring}.md. Pure. */
import { consensusGauges } from "../../src/consensus/status/consensus_status.ts";
import { programGauges } from "../../src/core/checks/program_status.ts";
import type { EventText } from "../../src/core/telemetry/events/event_text.ts";
import { eventAreas } from "../../src/core/telemetry/log.ts";
import { metricAreas, type MetricText } from "../../src/core/telemetry/metrics.ts";
import { relayGauges } from "../../src/messaging/status/relay_status.ts";

/** All metrics by who has them. */
export const allMetrics: Readonly<Record<keyof typeof metricAreas, Readonly<Record<string, MetricText>>>> = {
  "Both programs": { ...programGauges, ...metricAreas["Both programs"] },
  "Messaging relayer": { ...relayGauges, ...metricAreas["Messaging relayer"] },
  "Consensus relayer": { ...consensusGauges, ...metricAreas["Consensus relayer"] },
};

type Rows = readonly (readonly string[])[];

/** The document with its tables of events written again. @throws {Error} when it lacks a mark */
export function updateEventTables(document: string): string {
  const areas = Object.entries(eventAreas).map(([area, events]) => [area, eventRows(events)] as const);
  return updateTables(document, "events", ["event", "line", "what to do"], areas);
}

/** The document with its tables of metrics written again. @throws {Error} when it lacks a mark */
export function updateMetricTables(document: string): string {
  const areas = Object.entries(allMetrics).map(([area, metrics]) => [area, metricRows(metrics)] as const);
  return updateTables(document, "metrics", ["metric", "type", "labels", "meaning"], areas);
}

/** Replaces what stands between the marks of that name by a table for each area. */
function updateTables(
  document: string,
  name: string,
  head: readonly string[],
  areas: readonly (readonly [area: string, Rows])[],
): string {
  const mark = `<!-- ${name} -->\n`;
  const begin = document.indexOf(mark);
  const end = document.indexOf(`<!-- /${name} -->`);
  if (begin < 0 || end < begin) throw new Error(`The document has no marks for the tables of ${name}`);
  const lineOf = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const tables = areas.map(([area, rows]) =>
    `### ${area}\n\n${[head, head.map(() => "---"), ...rows].map(lineOf).join("\n")}\n`
  );
  return `${document.slice(0, begin + mark.length)}\n${tables.join("\n")}\n${document.slice(end)}`;
}

/** A row for each event that may need an operator, and one for each of its codes with an action of its own. */
function eventRows(events: Readonly<Record<string, EventText>>): Rows {
  return Object.entries(events).flatMap(([event, { text, meaning, action, codes = {} }]) => {
    if (action === undefined) return [];
    const usual = Object.entries(codes).flatMap(([code, own]) =>
      typeof own === "string" ? [`\`${code}\``] : []
    );
    const said = [text, ...meaning === undefined ? [] : [`. ${meaning}`]].join("");
    const own = Object.entries(codes).flatMap(([code, variant]) =>
      typeof variant === "string" ? [] : [[`\`${event}.${code}\``, variant.text, variant.action ?? action]]
    );
    return [[`\`${event}\`${usual.length === 0 ? "" : `: ${usual.join(", ")}`}`, said, action], ...own];
  });
}

function metricRows(metrics: Readonly<Record<string, MetricText>>): Rows {
  return Object.entries(metrics).map(([name, { type, labels, help }]) => [
    `\`${name}\``,
    type,
    labels.map((label) => `\`${label}\``).join(", "),
    help,
  ]);
}
