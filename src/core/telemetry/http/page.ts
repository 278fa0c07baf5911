/** Status page of both programs: sections as HTML. Pure. */
import { escapeControls } from "../../config/redact.ts";
import { formatDuration } from "../../runtime/text_table.ts";
import { type Cell, isEmpty, type StatusSection } from "../status_sections.ts";

/** Finished markup. Only templates of this file make it. */
class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: text is escaped, lists are joined, `undefined` is left out. */
type HtmlValue = Html | string | number | undefined | readonly HtmlValue[];

/** Makes markup of a template. */
function markup(template: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
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

/** What a page shows. */
export interface Page {
  /** Name of the program. */
  readonly title: string;
  /** What is said beside the title: version, hub. */
  readonly subtitle: string;
  readonly nowMs: number;
  readonly startedAtMs: number | undefined;
  readonly sections: readonly StatusSection[];
}

/** Makes the whole page. */
export function renderPage({ title, subtitle, nowMs, startedAtMs, sections }: Page): string {
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
${sections.map(renderSection)}
</main>
<footer>${formatTime(nowMs)}, again every ${RELOAD_SEC} s. <a href="/readyz">readiness</a>,
<a href="/metrics">metrics</a>, <a href="/status.json">JSON</a></footer>
</body>
</html>
`;
  return page.text;
}

/**
 * A section: its table, or a sentence without rows. The first column is the row's heading. On narrow screens, where there
 * are no columns, every value has the name of its column beside it, and so has the heading.
 */
function renderSection({ title, head, columns, rows, otherwise }: StatusSection): Html {
  const none = otherwise === undefined ? undefined : markup`<p class="none">${otherwise}</p>`;
  return markup`<section>
<h2>${title}</h2>
${head && markup`<p class="state ${head.colour}">${head.text}</p>`}${
    rows.length === 0 ? none : markup`<table>
<thead><tr>${
      columns.map(({ name, isNumber }) =>
        markup`<th scope="col"${isNumber ? NUMBER : undefined}>${name}</th>`
      )
    }</tr></thead>
<tbody>
${
      rows.map((row) => markup`<tr>${row.map((cell, at) => renderField(cell, columns[at], at === 0))}</tr>\n`)
    }</tbody>
</table>`
  }
</section>
`;
}

const NUMBER = markup` class="number"`;

function renderField(
  cell: Cell,
  column: StatusSection["columns"][number] | undefined,
  isHead: boolean,
): Html {
  const { name = "", isNumber = false } = column ?? {};
  const value = renderCell(cell);
  if (isHead) return markup`<th scope="row" data-name="${name}"><span>${value}</span></th>`;
  const kind = isEmpty(cell) ? "empty" : isNumber ? "number" : "text";
  return markup`<td class="${kind}" data-name="${name}"><span>${value}</span></td>`;
}

function renderCell(cell: Cell): HtmlValue {
  if (cell === undefined) return undefined;
  if (typeof cell !== "object") return String(cell);
  if (!("text" in cell)) return cell.map((each) => markup`<div>${renderCell(each)}</div>`);
  const { text, colour, note } = cell;
  const value = colour === undefined ? text : markup`<span class="${colour}">${text}</span>`;
  return note === undefined ? value : markup`${value} <span class="faint">${note}</span>`;
}

/** Formats a time, e.g. `2026-01-02 03:04:05 UTC`. */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}
