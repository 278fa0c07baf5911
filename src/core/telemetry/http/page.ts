/** Parts of the status pages that both programs use: frame, tables, warnings, reasons. Pure. */
import { escapeControls } from "../../config/redact.ts";
import { formatDuration } from "../../runtime/text_table.ts";
import { describeReason, isReady, type NotReadyReason } from "../readiness.ts";
import type { RecentWarning } from "../recent_warnings.ts";

/** Finished markup. Only templates of this file make it. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: text is escaped, lists are joined, `undefined` is left out. */
type HtmlValue = Html | string | number | bigint | undefined | readonly HtmlValue[];

/** Makes markup of a template. */
export function markup(template: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    template.map((text, index) => index === 0 ? text : render(values[index - 1]) + text).join(""),
  );
}

function render(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  return escapeText(String(value));
}

/** Named as in ASCII where they have no picture of their own. */
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for content and attributes; characters that change the direction or are invisible become visible. */
function escapeText(text: string): string {
  return escapeControls(text.replaceAll(/[&<>"']/g, (found) => ENTITIES[found] ?? ""));
}

/** Interval at which the page loads itself again, seconds. */
const RELOAD_SEC = 10;

/** Frame of a page. */
export interface PageFrame {
  /** Name of the program. */
  readonly title: string;
  /** What is said beside the title: version, hub. */
  readonly subtitle: string;
  readonly nowMs: number;
  readonly startedAtMs: number | undefined;
  readonly sections: readonly Html[];
}

/** Makes the whole page. */
export function renderPage({ title, subtitle, nowMs, startedAtMs, sections }: PageFrame): string {
  const running = startedAtMs === undefined
    ? undefined
    : `, running for ${formatDuration(nowMs - startedAtMs)}`;
  const page = markup`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="refresh" content="${RELOAD_SEC}">
<title>${title}</title>
<link rel="stylesheet" href="/style.css">
</head>
<body>
<header><h1>${title}</h1><p>${subtitle}${running}</p></header>
<main>
${sections}
</main>
<footer>${formatTime(nowMs)}, again every ${RELOAD_SEC} s. <a href="/readyz">readiness</a>,
<a href="/metrics">metrics</a>, <a href="/status.json">JSON</a></footer>
</body>
</html>
`;
  return page.text;
}

/** Section with a heading. */
export function renderSection(heading: string, content: HtmlValue): Html {
  return markup`<section>
<h2>${heading}</h2>
${content}
</section>
`;
}

/** Column of a table. */
export interface Column<Row> {
  readonly name: string;
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean;
  readonly cell: (row: Row) => HtmlValue;
}

/**
 * Table of rows, or a sentence when there are none. The first column is the row's heading. On narrow screens, where
 * there are no columns, every value has the name of its column beside it, and so has the heading.
 */
export function renderTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  otherwise: string,
): Html {
  if (rows.length === 0) return markup`<p class="none">${otherwise}</p>`;
  return markup`<table>
<thead><tr>${
    columns.map(({ name, isNumber }) => markup`<th scope="col"${isNumber ? NUMBER : undefined}>${name}</th>`)
  }</tr></thead>
<tbody>
${
    rows.map((row) =>
      markup`<tr>${columns.map((column, index) => renderCell(column, row, index === 0))}</tr>\n`
    )
  }</tbody>
</table>`;
}

const NUMBER = markup` class="number"`;

function renderCell<Row>({ name, isNumber, cell }: Column<Row>, row: Row, isHead: boolean): Html {
  const value = cell(row);
  if (isHead) return markup`<th scope="row" data-name="${name}"><span>${value}</span></th>`;
  const isEmpty = value === undefined || value === "";
  const kind = isEmpty ? "empty" : isNumber ? "number" : "text";
  return markup`<td class="${kind}" data-name="${name}"><span>${value}</span></td>`;
}

/** Text in one of the colours of states. */
export function coloured(colour: "good" | "warn" | "bad" | "faint", text: HtmlValue): Html {
  return markup`<span class="${colour}">${text}</span>`;
}

/** Section about readiness. */
export function renderReasons(reasons: readonly NotReadyReason[], nowMs: number): Html {
  const state = isReady(reasons)
    ? markup`<p class="state good">Ready</p>`
    : markup`<p class="state bad">Not ready</p>`;
  const items = reasons.map((reason) => {
    const { code, chain, leg, sinceMs, isWarning } = reason;
    return markup`<li>${coloured(isWarning ? "warn" : "bad", leg ?? chain ?? "program")}: ${
      describeReason(reason, nowMs)
    }
<span class="faint">${code}, for ${formatDuration(nowMs - sinceMs)}</span></li>\n`;
  });
  return renderSection("State", [
    state,
    items.length === 0 ? undefined : markup`<ul class="plain">${items}</ul>`,
  ]);
}

/** Section with the last warnings and errors, newest first. */
export function renderWarnings(warnings: readonly RecentWarning[], nowMs: number): Html {
  if (warnings.length === 0) return renderSection("Last warnings", markup`<p class="none">None.</p>`);
  const items = warnings.map(({ level, text, event, atMs }) =>
    markup`<li><span class="${level === "error" ? "bad" : "warn"}">${level}</span> ${text}
<span class="faint">${event}, ${formatDuration(nowMs - atMs)} ago</span></li>\n`
  );
  return renderSection("Last warnings", markup`<ul class="plain">${items}</ul>`);
}

/** Formats a time, e.g. `2026-01-02 03:04:05 UTC`. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
