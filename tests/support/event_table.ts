/** The registry of log events as the tables of docs/operations/logs.md. Pure. */
import { eventAreas } from "../../src/core/telemetry/log.ts";
import type { EventText } from "../../src/core/telemetry/events/event_text.ts";

/** Between these stands what is generated. */
const BEGIN = "<!-- events -->\n";
const END = "<!-- /events -->";

/**
 * The document with its tables of events written again.
 * @throws {Error} when it lacks one of the two marks
 */
export function updateEventTables(document: string): string {
  const begin = document.indexOf(BEGIN);
  const end = document.indexOf(END);
  if (begin < 0 || end < begin) throw new Error("The document has no marks for the tables of events");
  return `${document.slice(0, begin + BEGIN.length)}\n${eventTables()}\n${document.slice(end)}`;
}

function eventTables(): string {
  return Object.entries(eventAreas).map(([area, events]) => `### ${area}\n\n${tableOf(events)}\n`).join("\n");
}

function tableOf(events: Readonly<Record<string, EventText>>): string {
  const head = ["event", "line", "meaning", "what to do"];
  const rows = Object.entries(events).map(([code, { text, meaning, action = "Nothing." }]) => [
    `\`${code}\``,
    text,
    meaning,
    action,
  ]);
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}
