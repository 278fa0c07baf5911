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

/** A row for each event that may need an operator, and one for each of its codes with an action of its own. */
function tableOf(events: Readonly<Record<string, EventText>>): string {
  const rows = Object.entries(events).flatMap(([event, { text, meaning, action, codes = {} }]) => {
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
  const head = ["event", "line", "what to do"];
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`).join("\n");
}
