/** Plain data as text for people, for commands whose output needs no words of its own. Pure. */
import { formatTable, shownTime } from "../runtime/text_table.ts";

/** Maximum number of columns of a table; a list of larger items is a block for each. */
const MAX_COLUMNS = 7;

/**
 * Formats an object: single values below each other, then every list and object under its name. Members without a value are
 * left out. The name of a member is its label: `gasPriceGwei` becomes `gas price gwei`, and `costUsd` becomes `cost $`.
 */
export function formatData(data: object): string {
  const members = Object.entries(data).filter(([, value]) => hasValue(value));
  const single = members.filter(([, value]) => isSingle(value));
  const several = members.filter(([, value]) => !isSingle(value));
  const values = formatTable(single.map(([name, value]) => [toLabel(name), toText(value)]));
  return [
    ...single.length === 0 ? [] : [values],
    ...several.map(([name, value]) => {
      const text = Array.isArray(value) ? formatList(value) : formatData(value);
      return `${toLabel(name)}\n${text.replace(/^(?=.)/gm, "  ")}`;
    }),
  ].join("\n");
}

/** Formats a list as a table, or as blocks. */
export function formatList(items: readonly object[]): string {
  const names = [...new Set(items.flatMap((item) => Object.keys(item)))]
    .filter((name) => items.some((item) => hasValue(Reflect.get(item, name))));
  const cells = items.map((item) => names.map((name): unknown => Reflect.get(item, name)));
  if (names.length > MAX_COLUMNS || !cells.flat().every(isSingle)) return items.map(formatData).join("\n\n");
  return formatTable([names.map(toLabel), ...cells.map((row) => row.map(toText))]);
}

function hasValue(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "" &&
    !(Array.isArray(value) && value.length === 0);
}

function isSingle(value: unknown): boolean {
  return typeof value !== "object" || value === null || (Array.isArray(value) && value.every(isSingle));
}

/** Units of members whose names do not say them. */
const UNITS: Readonly<Record<string, string>> = {
  cost: "native tokens",
  fee: "units of the fee token",
  bandwidthLeft: "bytes",
};

function toLabel(name: string): string {
  const label = name.replace(/Usd$/, " $").replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return name in UNITS ? `${label} (${UNITS[name]})` : label;
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(toText).join(", ");
  const text = String(value);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? shownTime(text) ?? text : text;
}
