/**
 * Lossless JSON: integers that a double cannot represent become bigints. Used for all answers of nodes, over HTTP and
 * sockets.
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

// An integer of 16 digits or more where a JSON value can begin. Text inside strings may match too, which only costs
// time.
const longInteger = /(?:^|[:,[\s])-?\d{16}/;

/**
 * Parses a JSON text. Integers outside the safe range are bigints, all other numbers are numbers.
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
