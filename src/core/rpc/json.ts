/**
 * Lossless JSON: integers that a double cannot represent become bigints. Used for all answers of nodes, over HTTP and
 * sockets. The structure is counted before anything is parsed: one character of text can become a hundred bytes.
 */

/** Result of {@link parseJson}: JSON with bigints for integers beyond 2^53 - 1. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

/** Limit of a text's structure. */
export interface JsonLimit {
  /** Arrays and objects, and their elements. */
  readonly values: number;
  /** Arrays and objects in each other. */
  readonly depth: number;
}

/** Thrown for a text with more values or levels than allowed. It was not parsed. */
export class JsonLimitError extends Error {
  override readonly name = "JsonLimitError";
  readonly code = "json_limit";
}

/** For texts that are short anyway. */
const SHORT_TEXT: JsonLimit = { values: 50_000, depth: 32 };

/** Digits from which on a double may not represent an integer. */
const LONG_DIGITS = 16;

/**
 * Parses a JSON text. Integers outside the safe range, up to 78 digits, are bigints, all other numbers are numbers.
 * @throws {SyntaxError} as `JSON.parse`; {@link JsonLimitError} beyond the limit.
 */
export function parseJson(text: string, limit: JsonLimit = SHORT_TEXT): Json {
  return hasLongInteger(text, limit) ? JSON.parse(text, toLossless) : JSON.parse(text);
}

/** Keeps the digits of integers that a double cannot represent (ECMAScript: JSON.parse source text access). */
function toLossless(_key: string, value: unknown, { source }: { readonly source?: string } = {}): unknown {
  const isInteger = typeof value === "number" && /^-?[1-9][0-9]{15,77}$/.test(source ?? "");
  return isInteger && !Number.isSafeInteger(value) ? BigInt(source ?? "") : value;
}

/** Counts values and levels; true for a text with numbers of as many digits as a double may not represent. */
function hasLongInteger(text: string, { values, depth }: JsonLimit): boolean {
  let isLong = false;
  let count = 0;
  let level = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at);
        continue;
      case "[":
      case "{":
        level++;
        break;
      case "]":
      case "}":
        level--;
        continue;
      case ",":
        break;
      default: {
        const to = endOfNumber(text, at);
        isLong ||= to - at >= LONG_DIGITS;
        at = Math.max(at, to - 1);
        continue;
      }
    }
    if (++count > values) throw new JsonLimitError(`more than ${values} values`);
    if (level > depth) throw new JsonLimitError(`more than ${depth} levels`);
  }
  return isLong;
}

/** Index of the quotation mark that ends a string; the text's length without one. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === "\\") escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** Index behind a number; `start` where none begins. */
function endOfNumber(text: string, start: number): number {
  let end = start;
  for (let code = text.charCodeAt(end); isOfNumber(code); code = text.charCodeAt(end)) end++;
  return end;
}

/** True for digits, signs, the point, and the letters of exponents. */
function isOfNumber(code: number): boolean {
  return (code >= 48 && code <= 57) || code === 43 || code === 45 || code === 46 || code === 69 ||
    code === 101;
}

/** True for JSON objects: neither null nor an array. */
export function isJsonObject(value: unknown): value is { readonly [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
