/** Status page of both programs: sections as HTML. Pure. */
import { escapeControls } from "../../config/redact.ts";
import { shownTime } from "../../runtime/text_table.ts";
import {
  type Cell,
  type Drawing,
  isDrawing,
  isEmpty,
  rangeOf,
  type StatusSection,
} from "../status_sections.ts";

/** Finished markup. Only templates of this file make it. */
class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: text is escaped, lists are joined, `undefined` and `false` are left out. */
type HtmlValue = Html | string | number | false | undefined | readonly HtmlValue[];

/** Makes markup of a template. */
function markup(template: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    template.map((text, index) => index === 0 ? text : render(values[index - 1]) + text).join(""),
  );
}

function render(value: HtmlValue): string {
  if (value === undefined || value === false) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(render).join("");
  // Characters that change the direction or are invisible become visible.
  return escapeControls(String(value).replaceAll(/[&<>"']/g, (found) => ENTITIES[found] ?? ""));
}

/** Named as in ASCII where they have no picture of their own. */
const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Interval at which the page loads itself again, seconds. */
const RELOAD_SEC = 10;

/** Makes the whole page. @param title name of the program @param subtitle what is said beside it: version, hub, age */
export function renderPage(
  title: string,
  subtitle: string,
  { nowMs, sections }: { readonly nowMs: number; readonly sections: readonly StatusSection[] },
): string {
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
<header><h1>${title}</h1><p>${subtitle}</p></header>
<main>
${sections.map(renderSection)}
</main>
<footer>${
    shownTime(new Date(nowMs).toISOString())
  }, again every ${RELOAD_SEC} s. <a href="/readyz">readiness</a>,
<a href="/metrics">metrics</a>, <a href="/status.json">JSON</a></footer>
</body>
</html>
`;
  return page.text;
}

/**
 * A section; nothing while there is nothing to say. The first column is the row's heading. On narrow screens, where there
 * are no columns, every other value has the name of its column in front of it.
 */
function renderSection({ title, head, facts = [], columns, rows }: StatusSection): Html | undefined {
  if (head === undefined && rows.length === 0) return undefined;
  return markup`<section>
<h2>${title}</h2>
${head && markup`<p class="state ${head.colour}">${head.text}</p>`}${
    facts.length > 0 && markup`<p class="facts">${facts.map((fact) => markup`<span>${fact}</span> `)}</p>`
  }${
    rows.length > 0 && markup`<table>
<thead><tr>${
      columns.map(({ name, isNumber }) => markup`<th scope="col"${isNumber === true && NUMBER}>${name}</th>`)
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
  if (isHead) {
    return markup`<th scope="row" class="${
      isShort(cell, 2 * SHORT) ? "short" : "text"
    }"><span>${value}</span></th>`;
  }
  const kind = isEmpty(cell) ? "empty" : isNumber ? "number" : isShort(cell) ? "short" : "text";
  return markup`<td class="${kind}" data-name="${name}"><span>${value}</span></td>`;
}

/** Characters of a text that is never broken. */
const SHORT = 16;

function isShort(cell: Cell, length = SHORT): boolean {
  if (typeof cell === "object" && "text" in cell) {
    return cell.note === undefined && isShort(cell.text, length);
  }
  return typeof cell === "string" ? cell.length <= length : isDrawing(cell);
}

function renderCell(cell: Cell): HtmlValue {
  if (cell === undefined) return undefined;
  if (typeof cell !== "object") return renderText(String(cell));
  if (isDrawing(cell)) return isEmpty(cell) ? undefined : renderDrawing(cell);
  if (!("text" in cell)) return cell.map((each) => markup`<div>${renderCell(each)}</div>`);
  const { text, colour, note, href } = cell;
  const said = renderText(text);
  const linked = href === undefined ? said : markup`<a href="${href}" rel="noreferrer">${said}</a>`;
  const value = colour === undefined ? linked : markup`<span class="${colour}">${linked}</span>`;
  return note === undefined ? value : markup`${value} <span class="faint">${note}</span>`;
}

/** Hashes and addresses are long: they are set smaller. */
function renderText(text: string): HtmlValue {
  return /^0x[0-9a-f]{40,}$/i.test(text) ? markup`<code>${text}</code>` : text;
}

/** Size of a drawing, CSS pixels. */
const DRAWN = { width: 120, height: 24 } as const;

/** Draws values as lines from one to the next; a value without neighbours is a dot. */
function renderDrawing({ line, of }: Drawing): Html {
  const { width, height } = DRAWN;
  const { low, high, span } = rangeOf(line);
  const step = width / line.length;
  const points = line.map((value, at) => {
    if (value === null) return "";
    const y = 1 + (high - value) / span * (height - 2);
    const isJoined = at > 0 && line[at - 1] !== null;
    return `${isJoined ? "L" : "M"}${((at + 0.5) * step).toFixed(1)} ${y.toFixed(1)}${isJoined ? "" : "h.1"}`;
  });
  const said = `${of}, 24 h: from ${toText(low)} to ${toText(high)}`;
  return markup`<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"><title>${said}</title><path d="${
    points.join("")
  }"/></svg>`;
}

function toText(value: number): string {
  return String(Number(value.toPrecision(4)));
}
