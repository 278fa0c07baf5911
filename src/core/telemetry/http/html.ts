/** HTML made of templates whose values are escaped, so that no text from a chain can become markup. Pure. */
import { escapeControls } from "../../config/redact.ts";

/** Finished markup. Only templates of this file make it. */
export class Html {
  constructor(readonly text: string) {}
}

/** A value in a template: text is escaped, lists are joined, `undefined` is left out. */
export type HtmlValue = Html | string | number | bigint | undefined | readonly HtmlValue[];

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
