/** Writes configuration files of tests as TOML. */
import {
  inlineToml,
  isWritableTable,
  plainKey,
  type WritableTable,
} from "../../src/core/config/toml_text.ts";

/** The TOML text of a document: tables become sections, tables in arrays inline ones. */
export function stringifyToml(table: WritableTable, path: readonly string[] = []): string {
  const entries = Object.entries(table);
  const pairs = entries.flatMap(([key, value]) =>
    isWritableTable(value) ? [] : [`${plainKey(key)} = ${inlineToml(value)}`]
  );
  const sections = entries.flatMap(([key, value]) =>
    isWritableTable(value) ? [stringifyToml(value, [...path, key])] : []
  );
  const header = path.length === 0 ? [] : [`[${path.map(plainKey).join(".")}]`];
  return [[...header, ...pairs].join("\n"), ...sections].filter((part) => part !== "").join("\n\n")
    .trimEnd() +
    "\n";
}
