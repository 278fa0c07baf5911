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

/**
 * Parses a JSON text. Integers outside the safe range are bigints, all other numbers are numbers.
 * @throws {SyntaxError} as `JSON.parse`.
 */
export function parseJson(text: string): Json {
  const value: Json = JSON.parse(text);
  // Hardly any answer has one, and to look at its values takes less than to search its text.
  return hasRoundedInteger(value) ? JSON.parse(text, reviveLongInteger) : value;
}

/** True when some number may stand for an integer that a double cannot represent. */
function hasRoundedInteger(whole: Json): boolean {
  const pending: Json[] = [whole];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value)) return true;
    if (typeof value !== "object" || value === null) continue;
    for (const item of Array.isArray(value) ? value : Object.values(value)) {
      if (typeof item === "number" || typeof item === "object") pending.push(item);
    }
  }
  return false;
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
