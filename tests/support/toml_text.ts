/** Writes configuration files of tests as TOML. */
import { inlineToml, quotedKey } from "../../src/core/config/toml.ts";

/** A value that can be written. */
export type WritableValue = string | number | bigint | boolean | readonly WritableValue[] | WritableTable;

/** A section. */
export interface WritableTable {
  [key: string]: WritableValue;
}

function isTable(value: WritableValue): value is WritableTable {
  return typeof value === "object" && !Array.isArray(value);
}

/** The TOML text of a document: tables become sections, tables in arrays inline ones. */
export function stringifyToml(table: WritableTable, path: readonly string[] = []): string {
  const entries = Object.entries(table);
  const pairs = entries.flatMap(([key, value]) =>
    isTable(value) ? [] : [`${quotedKey(key)} = ${inlineToml(value)}`]
  );
  const sections = entries.flatMap(([key, value]) =>
    isTable(value) ? [stringifyToml(value, [...path, key])] : []
  );
  const header = path.length === 0 ? [] : [`[${path.map(quotedKey).join(".")}]`];
  return [[...header, ...pairs].join("\n"), ...sections].filter((part) => part !== "").join("\n\n")
    .trimEnd() +
    "\n";
}
