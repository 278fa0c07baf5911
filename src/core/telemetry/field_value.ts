/** Converts any value to plain JSON data for a log line. */
import { bytesToHex } from "@noble/hashes/utils.js";

/** Values that survive JSON. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [name: string]: Plain };

/** Maximum length of a byte string that is shown completely. */
const shownBytes = 64;

/** Maximum length of a list that is shown completely. */
const shownItems = 50;

/** Maximum depth of objects and causes. */
const shownDepth = 4;

/**
 * Converts a value: bigints become decimal text, bytes `0x` hex (cut after 64), errors their name, code, message and
 * causes; `stack` only on request. Objects with a `toJSON` (secrets, URLs) decide for themselves. `undefined`: omit
 * it.
 */
export function toPlain(
  value: unknown,
  options: { readonly withStack: boolean },
  depth = 0,
): Plain | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
    case "symbol":
      return String(value);
    case "undefined":
      return undefined;
    case "function":
      return "[function]";
    case "object":
      if (value === null) return null;
      return depth >= shownDepth ? "[...]" : objectToPlain(value, options, depth);
  }
}

function objectToPlain(
  value: object,
  options: { readonly withStack: boolean },
  depth: number,
): Plain | undefined {
  if (value instanceof Uint8Array) return bytesText(value);
  if (value instanceof Error) return errorToPlain(value, options, depth);
  if ("toJSON" in value && typeof value.toJSON === "function") {
    return toPlain(value.toJSON(), options, depth + 1);
  }
  if (Array.isArray(value)) {
    const shown = value.slice(0, shownItems).map((item) => toPlain(item, options, depth + 1) ?? null);
    return value.length > shownItems ? [...shown, `[${value.length - shownItems} more]`] : shown;
  }
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return fromEntries(entries.slice(0, shownItems), options, depth);
}

function fromEntries(
  entries: readonly (readonly [unknown, unknown])[],
  options: { readonly withStack: boolean },
  depth: number,
): Plain {
  const plain: Record<string, Plain> = {};
  for (const [name, item] of entries) {
    const shown = toPlain(item, options, depth + 1);
    if (shown !== undefined) plain[String(name)] = shown;
  }
  return plain;
}

function bytesText(bytes: Uint8Array): string {
  if (bytes.length <= shownBytes) return `0x${bytesToHex(bytes)}`;
  return `0x${bytesToHex(bytes.subarray(0, shownBytes))}... (${bytes.length} bytes)`;
}

function errorToPlain(error: Error, options: { readonly withStack: boolean }, depth: number): Plain {
  const plain: Record<string, Plain> = { name: error.name };
  const code = errorCode(error);
  if (code !== undefined) plain.code = code;
  plain.message = error.message;
  if (error.cause !== undefined) plain.cause = toPlain(error.cause, options, depth + 1) ?? null;
  if (options.withStack && error.stack !== undefined) plain.stack = error.stack;
  return plain;
}

/** Returns the `code` of an error, if it has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
