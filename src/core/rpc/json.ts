/**
 * JSON without loss: integers that a double cannot hold become bigints instead of other integers.
 * Used for everything that nodes send, over HTTP and sockets alike.
 */

/** What {@link parseJson} gives: like JSON, with bigints for integers beyond 2^53 - 1. */
export type Json =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Json[]
  | { readonly [name: string]: Json };

// An integer of 16 digits or more where a JSON value can begin. Text inside of strings may match too, which
// costs time only.
const longInteger = /(?:^|[:,[\s])-?\d{16}/;

/**
 * Reads a JSON text. Integers outside of the safe range are bigints, all other numbers are numbers.
 * @throws {SyntaxError} as `JSON.parse`.
 */
export function parseJson(text: string): Json {
  return longInteger.test(text) ? JSON.parse(text, reviveLongInteger) : JSON.parse(text);
}

function reviveLongInteger(_name: string, value: unknown, ...rest: readonly unknown[]): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  const source = sourceOf(rest[0]);
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

function sourceOf(context: unknown): string | undefined {
  if (typeof context !== "object" || context === null || !("source" in context)) return undefined;
  return typeof context.source === "string" ? context.source : undefined;
}

/** True for JSON objects: neither null nor an array. */
export function isJsonObject(value: unknown): value is { readonly [name: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
