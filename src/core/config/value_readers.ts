/**
 * Readers of plain values: integers, amounts, booleans, words, lists.
 */
import { isTable, type TomlValue } from "./toml.ts";
import { shownText } from "./redact.ts";
import type { Accepted, Reader } from "./section.ts";
import { nearestWord } from "./spelling.ts";

/** Longest period of a timer in seconds: runtimes count it in milliseconds as a signed 32-bit integer. */
export const MAX_TIMER_SEC = Math.floor((2 ** 31 - 1) / 1000);

/** What kind of thing a value is, in words; shows numbers and booleans but never text. */
export function describeKind(value: TomlValue): string {
  if (typeof value === "string") return "a text";
  if (typeof value === "bigint") return "an integer";
  if (typeof value === "number") return "a number with a decimal point or exponent";
  if (typeof value === "boolean") return `the boolean ${value}`;
  if (Array.isArray(value)) return "an array";
  return isTable(value) ? "a table" : "a date or time";
}

/** Bounds of an integer, both allowed, and its unit for messages. */
export interface IntegerRange {
  readonly min: number;
  readonly max: number;
  readonly unit?: string;
}

/** A TOML integer within safe bounds, as a number. */
export function integer(range: IntegerRange): Reader<number> {
  const expected = integerText(String(range.min), String(range.max), range.unit);
  const reader = boundedInteger(BigInt(range.min), BigInt(range.max), expected);
  return {
    expected,
    read: (value, place) => {
      const accepted = reader.read(value, place);
      return accepted && { value: Number(accepted.value) };
    },
  };
}

/** A period in whole seconds that a timer can hold. */
export const timerSeconds: Reader<number> = integer({ min: 1, max: MAX_TIMER_SEC, unit: "seconds" });

/** A period in whole seconds that is compared, not waited for: up to 64 bits. */
export const wideSeconds: Reader<bigint> = boundedInteger(1n, 2n ** 64n - 1n, "an integer from 1 (seconds)");

/** As {@link timerSeconds}, but longer periods ("never" in old sample files) are cut to what a timer can hold. */
export const cappedSeconds: Reader<number> = {
  expected: "an integer from 1 (seconds)",
  read: (value, place) => {
    const accepted = wideSeconds.read(value, place);
    if (accepted === undefined) return undefined;
    if (accepted.value <= BigInt(MAX_TIMER_SEC)) return { value: Number(accepted.value) };
    place.note(
      `${accepted.value} seconds are more than a timer can hold: ${MAX_TIMER_SEC} (24 days) are used`,
    );
    return { value: MAX_TIMER_SEC };
  },
};

/** A block height: an unsigned 64-bit integer. */
export const blockHeight: Reader<bigint> = boundedInteger(
  0n,
  2n ** 64n - 1n,
  "a block height (an integer from 0)",
);

function boundedInteger(min: bigint, max: bigint, expected: string): Reader<bigint> {
  return {
    expected,
    read: (value, place) => {
      if (typeof value === "bigint" && value >= min && value <= max) return { value };
      place.problem(typeof value === "bigint" ? shownInteger(value) : describeNumber(value), expected);
      return undefined;
    },
  };
}

function integerText(min: string, max: string, unit: string | undefined): string {
  return `an integer from ${min} to ${max}${unit === undefined ? "" : ` (${unit})`}`;
}

/** A misplaced private key may be an integer too (`signer = 0x...`), so long ones are not shown. */
function shownInteger(value: bigint): string {
  return value >= -(2n ** 63n) && value < 2n ** 64n ? String(value) : "an integer of more than 64 bits";
}

function describeNumber(value: TomlValue): string {
  if (typeof value === "number") return `${shownFloat(value)} (not an integer)`;
  if (typeof value === "string" && /^[+-]?[0-9]{1,18}$/.test(value)) {
    return `the text ${shownText(value)} (in quotes)`;
  }
  return describeKind(value);
}

/** With a decimal point, as only floats have it. */
function shownFloat(value: number): string {
  return /^-?[0-9]+$/.test(String(value)) ? `${value}.0` : String(value);
}

/** A finite number, with or without decimals, of at least 0; `unit` is for messages. */
export function amount(unit: string): Reader<number> {
  const expected = `a number of at least 0 (${unit})`;
  return {
    expected,
    read: (value, place) => {
      if (typeof value === "bigint" && value >= 0n && value <= BigInt(Number.MAX_SAFE_INTEGER)) {
        return { value: Number(value) };
      }
      if (typeof value === "number" && Number.isFinite(value) && value >= 0) return { value };
      if (typeof value === "number") place.problem(String(value), expected);
      else place.problem(typeof value === "bigint" ? shownInteger(value) : describeNumber(value), expected);
      return undefined;
    },
  };
}

/** A price or amount above 0 that can be written without an exponent; `unit` is for messages. */
export function positiveAmount(unit: string): Reader<number> {
  const expected = `a number from 0.000001 (${unit})`;
  const reader = amount(unit);
  return {
    expected,
    read: (value, place) => {
      const accepted = reader.read(value, place);
      if (accepted === undefined || accepted.value >= 0.000001) return accepted;
      place.problem(String(accepted.value), expected);
      return undefined;
    },
  };
}

/** `true` or `false`. */
export const boolean: Reader<boolean> = {
  expected: "true or false",
  read: (value, place) => {
    if (typeof value === "boolean") return { value };
    place.problem(typeof value === "string" ? shownText(value) : describeKind(value), "true or false");
    return undefined;
  },
};

/** One of some words, in exactly this spelling. */
export function oneOf<const W extends string>(words: readonly W[]): Reader<W> {
  const expected = words.map((word) => `"${word}"`).join(" or ");
  return {
    expected,
    read: (value, place) => {
      const word = words.find((candidate) => candidate === value);
      if (word !== undefined) return { value: word };
      const meant = typeof value === "string" ? nearestWord(value, words) : undefined;
      place.problem(
        typeof value === "string" ? shownText(value) : describeKind(value),
        expected,
        meant === undefined ? undefined : `did you mean "${meant}"?`,
      );
      return undefined;
    },
  };
}

/** A text that `check` accepts or describes what it found instead. */
export function text<T>(
  expected: string,
  check: (text: string) => { value: T } | { found: string; hint?: string },
): Reader<T> {
  return {
    expected,
    read: (value, place) => {
      if (typeof value !== "string") {
        place.problem(
          describeKind(value),
          expected,
          typeof value === "bigint" ? "put it in quotes" : undefined,
        );
        return undefined;
      }
      const checked = check(value);
      if ("value" in checked) return checked;
      place.problem(checked.found, expected, checked.hint);
      return undefined;
    },
  };
}

/** How a list is read. */
export interface ListTraits<T> {
  /** Name of the list for messages, e.g. `an array of HTTP URLs`. */
  readonly expected: string;
  /** Fewest elements; default 0. */
  readonly atLeast?: number;
  /** Equal identities are the same element: repeats are dropped with a warning. */
  readonly identity: (element: T) => string;
}

/** An array whose elements `element` reads; every bad element is reported. Repeats are dropped with a warning. */
export function listOf<T>(element: Reader<T>, traits: ListTraits<T>): Reader<readonly T[]> {
  return {
    expected: traits.expected,
    read: (value, place): Accepted<readonly T[]> => {
      if (!Array.isArray(value)) {
        const hint = typeof value === "string" ? "put it in square brackets" : undefined;
        place.problem(describeKind(value), traits.expected, hint);
        return undefined;
      }
      if (value.length < (traits.atLeast ?? 0)) {
        place.problem("an empty array", traits.expected);
        return undefined;
      }
      const kept = new Map<string, { index: number; value: T }>();
      let isGood = true;
      value.forEach((item, index) => {
        const accepted = element.read(item, place.child(index));
        if (accepted === undefined) return isGood = false;
        const identity = traits.identity(accepted.value);
        const first = kept.get(identity);
        if (first === undefined) return kept.set(identity, { index, value: accepted.value });
        place.child(index).warning(
          `a repeat of element ${first.index}, which is ignored`,
          "each element once",
        );
      });
      return isGood ? { value: [...kept.values()].map((item) => item.value) } : undefined;
    },
  };
}
