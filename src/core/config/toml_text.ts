/** Values as TOML text. Pure. */

/** A value that can be written. Numbers are written as they print, so whole ones are integers. */
export type WritableValue = string | number | bigint | boolean | readonly WritableValue[] | WritableTable;

/** A section. */
export interface WritableTable {
  [key: string]: WritableValue;
}

/** A value as it stands behind a key. */
export function inlineToml(value: WritableValue): string {
  if (isArray(value)) return `[${value.map(inlineToml).join(", ")}]`;
  if (!isWritableTable(value)) return typeof value === "bigint" ? String(value) : JSON.stringify(value);
  return `{ ${
    Object.entries(value).map(([key, inner]) => `${plainKey(key)} = ${inlineToml(inner)}`).join(", ")
  } }`;
}

function isArray(value: WritableValue): value is readonly WritableValue[] {
  return Array.isArray(value);
}

/** True for a section or an inline table. */
export function isWritableTable(value: WritableValue): value is WritableTable {
  return typeof value === "object" && !isArray(value);
}

/** A key, in quotes where it needs them. */
export function plainKey(key: string): string {
  return /^[A-Za-z0-9_-]+$/.test(key) ? key : JSON.stringify(key);
}

/** A value of unknown origin as one that can be written. */
export function toWritable(value: unknown): WritableValue {
  if (Array.isArray(value)) return value.map(toWritable);
  if (typeof value === "string" || typeof value === "number" || typeof value === "bigint") return value;
  if (typeof value === "boolean") return value;
  if (typeof value !== "object" || value === null) throw new Error("a value that TOML does not have");
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toWritable(inner)]));
}
