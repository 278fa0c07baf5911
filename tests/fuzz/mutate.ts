/** Inputs that nearly are what a decoder expects, made of ones that are. */
import type { Draw } from "../support/draw.ts";

/** Bytes at which decoders turn: bounds of compact integers, of RLP's forms, of signed numbers. */
const TELLING_BYTES = [0, 1, 2, 3, 0x7f, 0x80, 0x81, 0xb7, 0xb8, 0xbf, 0xc0, 0xf7, 0xf8, 0xfc, 0xfe, 0xff];
const MAX_EDITS = 4;
const MAX_RANDOM_BYTES = 96;
/** Samples beyond this are cut: the ends of long ones are lists of what stands at their begin. */
const MAX_SAMPLE_BYTES = 16_384;

/** Changes a few places of a sample, or puts parts of two together; now and then bytes of chance alone. */
export function mutateBytes(draw: Draw, samples: readonly Uint8Array[]): Uint8Array {
  const sample = pick(draw, samples);
  if (sample === undefined || draw.chance(5)) return randomBytes(draw, draw.between(0, MAX_RANDOM_BYTES));
  let bytes: Uint8Array = sample.slice(0, MAX_SAMPLE_BYTES);
  for (let left = draw.between(1, MAX_EDITS); left > 0; left--) bytes = editBytes(draw, bytes, samples);
  return bytes;
}

function editBytes(draw: Draw, bytes: Uint8Array, samples: readonly Uint8Array[]): Uint8Array {
  const at = draw.between(0, Math.max(0, bytes.length - 1));
  const [before, after] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (draw.between(0, 6)) {
    case 0:
      return joined(before, Uint8Array.of((after[0] ?? 0) ^ (1 << draw.between(0, 7))), after.subarray(1));
    case 1:
      return joined(before, Uint8Array.of(pick(draw, TELLING_BYTES) ?? 0), after.subarray(1));
    case 2:
      return bytes.slice(0, at);
    case 3:
      return joined(before, randomBytes(draw, draw.between(1, 8)), after);
    case 4:
      return joined(before, after.subarray(draw.between(1, 8)));
    case 5: {
      const part = after.subarray(0, draw.between(1, 64));
      return joined(before, part, after);
    }
    default: {
      const other = pick(draw, samples) ?? bytes;
      return joined(before, other.subarray(draw.between(0, other.length)).subarray(0, MAX_SAMPLE_BYTES));
    }
  }
}

/** Changes a few values anywhere in a JSON: other types, missing and doubled parts, bounds of numbers and texts. */
export function mutateJson(draw: Draw, samples: readonly unknown[]): unknown {
  let value: unknown = structuredClone(pick(draw, samples));
  for (let left = draw.between(1, MAX_EDITS); left > 0; left--) value = editJson(draw, value);
  return value;
}

const TELLING_VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e308,
  "",
  "0x",
  "0x0",
  "0x00",
  `0x${"f".repeat(64)}`,
  `0x${"f".repeat(130)}`,
  "0xg1",
  "-1",
  "18446744073709551616",
  "\u0000",
  [],
  {},
  [[[[[[]]]]]],
  { __proto__: null, constructor: 1 },
];

function editJson(draw: Draw, value: unknown): unknown {
  if (draw.chance(12)) return draw.chance(50) ? pick(draw, TELLING_VALUES) : editLeaf(draw, value);
  if (Array.isArray(value) && value.length > 0) {
    const at = draw.between(0, value.length - 1);
    if (draw.chance(10)) return value.toSpliced(at, 1);
    if (draw.chance(10)) return value.toSpliced(at, 0, value[at]);
    return value.with(at, editJson(draw, value[at]));
  }
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    const entry = pick(draw, entries);
    if (entry === undefined) return pick(draw, TELLING_VALUES);
    const [name, inner] = entry;
    if (draw.chance(10)) return Object.fromEntries(entries.filter(([each]) => each !== name));
    return { ...value, [name]: editJson(draw, inner) };
  }
  return editLeaf(draw, value);
}

function editLeaf(draw: Draw, value: unknown): unknown {
  if (typeof value !== "string") return pick(draw, TELLING_VALUES);
  return draw.chance(30) ? pick(draw, TELLING_VALUES) : mutateText(draw, [value]);
}

/** Changes a few characters of a text, or puts parts of two together. */
export function mutateText(draw: Draw, samples: readonly string[]): string {
  const bytes = samples.map((sample) => new TextEncoder().encode(sample));
  return new TextDecoder().decode(mutateBytes(draw, bytes));
}

function randomBytes(draw: Draw, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => draw.between(0, 255));
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function pick<T>(draw: Draw, values: readonly T[]): T | undefined {
  return values[draw.between(0, Math.max(0, values.length - 1))];
}
