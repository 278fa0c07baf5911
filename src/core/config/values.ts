/**
 * Types of plain values: integers, amounts, booleans, words, lists. The message of a type's errors is what stands
 * behind "expected ...", in messages and in the reference.
 */
import * as z from "zod";
import { refusal, type Remark, remarksOn, withRemarks } from "./schema.ts";

/** Longest period of a timer in seconds: runtimes count it in milliseconds as a signed 32-bit integer. */
const MAX_TIMER_SEC = Math.floor((2 ** 31 - 1) / 1000);
/** Largest unsigned integer of 32 bits. */
export const UINT32_MAX = 2 ** 32 - 1;
const UINT64_MAX = 2n ** 64n - 1n;

/** A TOML integer within safe bounds, both allowed, as a number. `unit` is for messages. */
export function integer(min: number, max: number, unit?: string): z.ZodType<number> {
  const expected = `an integer from ${min} to ${max}${unit === undefined ? "" : ` (${unit})`}`;
  return boundedInteger(BigInt(min), BigInt(max), expected).transform(Number);
}

/** Percent; the network's own relayer counts basis points, so that more than 100 may be meant as such. */
export function percent(max: number): z.ZodType<number> {
  return withRemarks(integer(0, max, "percent"), (given) => {
    const hint = `the network's own relayer counts basis points here: if they are meant, write ${
      Number(given) / 100
    }`;
    return Number(given) > 100
      ? [{ kind: "warning", path: [], found: `${given} percent`, expected: "at most 100 percent", hint }]
      : [];
  });
}

/** A period in whole seconds that a timer can hold. */
export const timerSeconds: z.ZodType<number> = integer(1, MAX_TIMER_SEC, "seconds");

/** A period in whole seconds that is compared, not waited for: up to 64 bits. */
export const wideSeconds: z.ZodType<bigint> = boundedInteger(1n, UINT64_MAX, "an integer from 1 (seconds)");

/** As {@link timerSeconds}, but longer periods ("never" in old sample files) are cut to what a timer can hold. */
export const cappedSeconds: z.ZodType<number> = withRemarks(
  wideSeconds.transform((seconds) => seconds <= BigInt(MAX_TIMER_SEC) ? Number(seconds) : MAX_TIMER_SEC),
  (given) => {
    if (typeof given !== "bigint" || given <= BigInt(MAX_TIMER_SEC)) return [];
    const text = `${given} seconds are more than a timer can hold: ${MAX_TIMER_SEC} (24 days) are used`;
    return [{ kind: "note", path: [], text }];
  },
);

/** A block height: an unsigned 64-bit integer. */
export const blockHeight: z.ZodType<bigint> = boundedInteger(
  0n,
  UINT64_MAX,
  "a block height (an integer from 0)",
);

function boundedInteger(min: bigint, max: bigint, expected: string): z.ZodType<bigint> {
  const upper = max <= BigInt(Number.MAX_SAFE_INTEGER) ? { maximum: Number(max) } : {};
  return z.bigint(expected).min(min, expected).max(max, expected)
    .meta({ type: "integer", minimum: Number(min), ...upper });
}

/** A finite number of at least 0, with or without decimals; `unit` is for messages. */
export function amount(unit: string): z.ZodType<number> {
  return boundedNumber(0, `a number of at least 0 (${unit})`);
}

/** A price or amount above 0 that can be written without an exponent; `unit` is for messages. */
export function positiveAmount(unit: string): z.ZodType<number> {
  return boundedNumber(0.000001, `a number from 0.000001 (${unit})`);
}

/** Integers stay apart from numbers in TOML; here either will do. */
function boundedNumber(min: number, expected: string): z.ZodType<number> {
  const isSafe = (value: bigint): boolean =>
    value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER;
  return z.preprocess(
    (given) => typeof given === "bigint" && isSafe(given) ? Number(given) : given,
    z.number(expected).min(min, expected),
  );
}

/** `true` or `false`. */
export const boolean: z.ZodType<boolean> = z.boolean("true or false");

/** One of some words, in exactly this spelling. */
export function oneOf<const W extends string>(words: readonly W[]): z.ZodType<W> {
  const quoted = words.map((word) => `"${word}"`);
  return z.enum(words, [quoted.slice(0, -1).join(", "), ...quoted.slice(-1)].filter(Boolean).join(" or "));
}

/** A text that `check` accepts or describes what it found instead. */
export function text<T>(
  expected: string,
  check: (text: string) => { readonly value: T } | { readonly found: string; readonly hint?: string },
): z.ZodType<T> {
  return z.string(expected).transform((given, context) => {
    const checked = check(given);
    if ("value" in checked) return checked.value;
    context.issues.push(refusal(given, expected, checked));
    return z.NEVER;
  });
}

/** How a list is read. */
export interface ListTraits<T> {
  /** Name of the list for messages, e.g. `an array of HTTP URLs`. */
  readonly expected: string;
  /** Minimum number of elements; default 0. */
  readonly min?: number;
  /** Equal identities are the same element: repeats are dropped with a warning. */
  readonly identity: (element: T) => string;
}

/** An array of `element`s; every bad one is a problem, and repeats are dropped with a warning. */
export function listOf<T>(element: z.ZodType<T>, traits: ListTraits<T>): z.ZodType<readonly T[]> {
  const { expected, min = 0, identity } = traits;
  const list = z.array(element, expected).min(min, expected).transform((elements) => {
    const kept = new Map<string, T>();
    for (const value of elements) if (!kept.has(identity(value))) kept.set(identity(value), value);
    return [...kept.values()];
  });
  return withRemarks(list, (given) => {
    if (!Array.isArray(given)) return [];
    const first = new Map<string, number>();
    return given.flatMap((item, index): readonly Remark[] => {
      const own = remarksOn(element, item).map((remark) => ({ ...remark, path: [index, ...remark.path] }));
      const name = identity(element.parse(item));
      const at = first.get(name);
      if (at === undefined) {
        first.set(name, index);
        return own;
      }
      const found = `a repeat of element ${at}, which is ignored`;
      return [...own, { kind: "warning", path: [index], found, expected: "each element once" }];
    });
  });
}
