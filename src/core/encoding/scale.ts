/**
 * Strict SCALE: scale-ts codecs with range checks on the way out and {@link decodeStrict} on the way in, and with
 * layouts that can be compared with the metadata of a runtime. Nothing else in the program decodes SCALE bytes from
 * outside. Source of the format: paritytech/parity-scale-codec: README.md.
 */
import {
  _void,
  bool as scaleBool,
  Bytes,
  type Codec,
  compact,
  createCodec,
  createDecoder,
  enhanceCodec as scaleEnhance,
  Enum as scaleEnum,
  Option as scaleOption,
  Struct as scaleStruct,
  Tuple as scaleTuple,
  u128 as scaleU128,
  u256 as scaleU256,
  u32 as scaleU32,
  u64 as scaleU64,
  u8 as scaleU8,
  Vector,
} from "scale-ts";
import { equalBytes, fromHex, type Hash256, type Hex, toHash256, toHex } from "./bytes.ts";

export type { Codec };

/** How the bytes of a type follow each other. Structs and tuples have none of their own: their fields stand in a row. */
export type Layout = readonly LayoutPart[];

/** One part of a {@link Layout}. Variants are by their index, each with its fields. */
export type LayoutPart =
  | "bool"
  | "u8"
  | "u16"
  | "u32"
  | "u64"
  | "u128"
  | { readonly list: Layout }
  | { readonly array: Layout; readonly length: number }
  | { readonly variants: Readonly<Record<number, Layout>> };

const layouts = new WeakMap<object, () => Layout>();

/** Layout of what a codec reads and writes. @throws {Error} for a codec that was not made of those in this file. */
export function layoutOf(codec: object): Layout {
  const layout = layouts.get(codec);
  if (layout === undefined) throw new Error("This codec has no layout");
  return layout();
}

/** The codec, with its layout. */
export function withLayout<C extends object>(codec: C, layout: () => Layout): C {
  layouts.set(codec, layout);
  return codec;
}

/** A function that makes codecs, whose layouts follow from its arguments. */
function laidOut<Make>(make: Make, layout: (...parts: never[]) => Layout): Make {
  const made = (...parts: never[]): object =>
    withLayout((make as (...parts: never[]) => object)(...parts), () => layout(...parts));
  return made as Make;
}

/** Nothing at all: a unit. */
export const nothing: Codec<undefined> = withLayout(_void, () => []);
/** One byte, 0 or 1. */
export const bool: Codec<boolean> = withLayout(scaleBool, () => ["bool"]);
/** Fields in a row, by name. */
export const Struct = laidOut(scaleStruct, (fields: object) => Object.values(fields).flatMap(layoutOf));
/** Fields in a row. */
export const Tuple = laidOut(scaleTuple, (...fields: object[]) => fields.flatMap(layoutOf));
/** A byte, 0 or 1, and the value after 1. */
export const Option = laidOut(scaleOption, (inner: object) => [{ variants: { 0: [], 1: layoutOf(inner) } }]);
/** The index of a variant in one byte, and what the variant holds. */
export const Enum = laidOut(scaleEnum, (variants: object, indexes: readonly number[] = []) => [{
  variants: Object.fromEntries(
    Object.values(variants).map((inner, at) => [indexes[at] ?? at, layoutOf(inner)]),
  ),
}]);
/** The same bytes for another type of values. */
export const enhanceCodec = laidOut(scaleEnhance, layoutOf);

/** Reason why bytes or a value do not fit a SCALE type. */
export type ScaleErrorCode = "truncated" | "trailing" | "non_canonical" | "invalid" | "too_long";

/** Bytes that are not the one encoding of a value of the type, or a value that the type cannot hold. */
export class ScaleError extends Error {
  override readonly name = "ScaleError";
  constructor(
    /** `truncated`: bytes are missing; `trailing`: bytes are left over; `non_canonical`: another encoding of the same value is the right one; `invalid`: no value of the type; `too_long`: more list items than any honest value has. */
    readonly code: ScaleErrorCode,
    /** Name of the outermost type that was being read or written. */
    readonly typeName: string,
    options?: ErrorOptions,
  ) {
    super(`SCALE ${typeName}: ${code}`, options);
  }
}

/**
 * The value of which `bytes` is the complete and only encoding.
 * A decoder of a nested type may throw its own error class: it arrives as `cause` of code `invalid`.
 * @throws {ScaleError}
 */
export function decodeStrict<T>(codec: Codec<T>, bytes: Uint8Array, typeName: string): T {
  return decodePrefix(codec, bytes, typeName, () => {
    throw new ScaleError("trailing", typeName);
  });
}

/**
 * The value whose only encoding is a prefix of `bytes`: the rest is ignored, as the runtimes' `Decode::decode` does.
 * @param onRest called with the number of bytes that follow, if any: later versions of a type append fields
 * @throws {ScaleError}
 */
export function decodePrefix<T>(
  codec: Codec<T>,
  bytes: Uint8Array,
  typeName: string,
  onRest?: (bytes: number) => void,
): T {
  const value = decodeLoose(codec, bytes, typeName);
  const canonical = codec.enc(value);
  if (!equalBytes(bytes.subarray(0, canonical.length), canonical)) {
    throw new ScaleError("non_canonical", typeName);
  }
  if (bytes.length > canonical.length) onRest?.(bytes.length - canonical.length);
  return value;
}

/** scale-ts reads the whole buffer behind a view, so a part of one must be copied first. */
function wholeBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);
}

/**
 * The value that `bytes` begin with, in whatever encoding: for what is identified otherwise, for example by its hash.
 * @throws {ScaleError}
 */
export function decodeLoose<T>(codec: Codec<T>, bytes: Uint8Array, typeName: string): T {
  try {
    return codec.dec(wholeBuffer(bytes));
  } catch (cause) {
    if (cause instanceof ScaleError) throw new ScaleError(cause.code, typeName, { cause });
    // DataView reports reads past the end as RangeError; an unknown enum index is a TypeError in scale-ts.
    throw new ScaleError(cause instanceof RangeError ? "truncated" : "invalid", typeName, { cause });
  }
}

function checkedNumber(codec: Codec<number>, bits: 8 | 32): Codec<number> {
  const checked = createCodec<number>((value) => {
    const isInside = Number.isInteger(value) && value >= 0 && value < 2 ** bits;
    if (!isInside) throw new ScaleError("invalid", `u${bits}`);
    return codec.enc(value);
  }, codec.dec);
  return withLayout(checked, () => [`u${bits}`]);
}

function checkedBigint(codec: Codec<bigint>, bits: 64 | 128 | 256): Codec<bigint> {
  const checked = createCodec<bigint>((value) => {
    const isInside = typeof value === "bigint" && value >= 0n && value >> BigInt(bits) === 0n;
    if (!isInside) throw new ScaleError("invalid", `u${bits}`);
    return codec.enc(value);
  }, codec.dec);
  return withLayout(checked, () => bits === 256 ? [{ array: ["u64"], length: 4 }] : [`u${bits}`]);
}

/** One byte. Encoding throws {@link ScaleError} `invalid` out of range, as all integers here do. */
export const u8: Codec<number> = checkedNumber(scaleU8, 8);
/** Four bytes, little endian. */
export const u32: Codec<number> = checkedNumber(scaleU32, 32);
/** Eight bytes, little endian. */
export const u64: Codec<bigint> = checkedBigint(scaleU64, 64);
/** Sixteen bytes, little endian. */
export const u128: Codec<bigint> = checkedBigint(scaleU128, 128);
/** Thirty-two bytes, little endian (`U256`). */
export const u256: Codec<bigint> = checkedBigint(scaleU256, 256);

function requireLength(value: Uint8Array, length: number, code: ScaleErrorCode): Uint8Array {
  if (value.length !== length) throw new ScaleError(code, `[u8; ${length}]`);
  return value;
}

/** Exactly `length` bytes without a prefix (`[u8; N]`, `H160`). */
export function fixedBytes(length: number): Codec<Uint8Array> {
  const inner = Bytes(length);
  const codec = createCodec<Uint8Array>(
    (value) => requireLength(value, length, "invalid"),
    createDecoder((input) => requireLength(inner.dec(input), length, "truncated")),
  );
  return withLayout(codec, () => [{ array: ["u8"], length }]);
}

/** Bytes with a compact length (`Vec<u8>`). */
export const bytes: Codec<Uint8Array> = withLayout(
  createCodec(
    Bytes().enc,
    createDecoder((input) => {
      const length = Number(compact.dec(input));
      return requireLength(Bytes(length).dec(input), length, "truncated");
    }),
  ),
  () => [{ list: ["u8"] }],
);

const utf8 = {
  encoder: new TextEncoder(),
  decoder: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }),
};

/** UTF-8 text with a compact length (`String`). */
export const utf8Text: Codec<string> = enhanceCodec(
  bytes,
  (value: string) => utf8.encoder.encode(value),
  (value) => utf8.decoder.decode(value),
);

/** Bytes with a compact length, as lower-case hex (for keys of maps). */
export const bytesAsHex: Codec<Hex> = enhanceCodec(bytes, fromHex, toHex);

/** 32 raw bytes as a hex string (`H256`, `AccountId32`, `[u8; 32]`). */
export const hash256: Codec<Hash256> = enhanceCodec(fixedBytes(32), fromHex, toHash256);

/**
 * Maximum number of items of all lists in one value: the largest honest ones have some ten thousand, and a megabyte of
 * one-byte items takes seconds to decode.
 */
const MAX_ITEMS = 100_000;

/** List items announced so far, by the stream that all decoders of one value share. */
const announcedItems = new WeakMap<Uint8Array, number>();

/** Compact length and items (`Vec<T>`, `BoundedVec<T>`). Decoding throws {@link ScaleError} `too_long`. */
export function list<T>(item: Codec<T>): Codec<readonly T[]> {
  const encode = Vector(item).enc;
  const codec = createCodec<readonly T[]>(
    (values) => encode([...values]),
    // scale-ts allocates the announced length at once and mistakes big-integer lengths.
    createDecoder((input) => {
      const count = Number(compact.dec(input));
      const announced = (announcedItems.get(input) ?? 0) + count;
      if (announced > MAX_ITEMS) throw new ScaleError("too_long", "list");
      announcedItems.set(input, announced);
      const values: T[] = [];
      while (values.length < count) values.push(item.dec(input));
      return values;
    }),
  );
  return withLayout(codec, () => [{ list: layoutOf(item) }]);
}

/** Two values in order (a tuple). */
export function pair<A, B>(first: Codec<A>, second: Codec<B>): Codec<readonly [A, B]> {
  return enhanceCodec<[A, B], readonly [A, B]>(Tuple(first, second), ([a, b]) => [a, b], (both) => both);
}

/** A number as one byte that selects one of `names` (an enum whose variants carry nothing). */
export function unitEnum<const Name extends string>(
  names: readonly Name[],
  firstIndex = 0,
): Codec<Name> {
  return enhanceCodec(openEnum(names, firstIndex), (name) => name, (name) => {
    if (isUnknown(name)) throw new ScaleError("invalid", names.join("|"));
    return name;
  });
}

/** Variant that this program does not know, by its index. */
export type UnknownVariant = `unknown(${number})`;

/** As {@link unitEnum}, of an enum that a runtime or a contract may extend. */
export function openEnum<const Name extends string>(
  names: readonly Name[],
  firstIndex = 0,
): Codec<Name | UnknownVariant> {
  const codec = scaleEnhance<number, Name | UnknownVariant>(
    scaleU8,
    (name) => isUnknown(name) ? Number(name.slice("unknown(".length, -1)) : names.indexOf(name) + firstIndex,
    (index) => nameVariant(names, index - firstIndex, index),
  );
  return withLayout(
    codec,
    () => [{ variants: Object.fromEntries(names.map((_, at) => [at + firstIndex, []])) }],
  );
}

/** Name of a variant, or its index in words. */
export function nameVariant<const Name extends string>(
  names: readonly Name[],
  position: number,
  index = position,
): Name | UnknownVariant {
  return names[position] ?? `unknown(${index})`;
}

/** True for a variant that this program does not know. */
export function isUnknown<Name extends string>(name: Name | UnknownVariant): name is UnknownVariant {
  return /^unknown\(\d+\)$/.test(name);
}

/**
 * A map written in ascending key order (`BTreeMap`). Keys must be primitives, so that `Map` finds them.
 * @param compare order of Rust's `Ord` for the key type.
 */
export function orderedMap<K extends string | number | bigint, V>(
  key: Codec<K>,
  value: Codec<V>,
  compare: (a: K, b: K) => number,
): Codec<ReadonlyMap<K, V>> {
  const entries = list(pair(key, value));
  return enhanceCodec<readonly (readonly [K, V])[], ReadonlyMap<K, V>>(
    entries,
    (map) => [...map].sort(([a], [b]) => compare(a, b)),
    (found) => new Map(found),
  );
}

/** Order of byte strings: first differing byte, then length (Rust's `Ord` for `Vec<u8>`). */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let index = 0; index < common; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Order of two hex strings of bytes, the same as {@link compareBytes} of the bytes. */
export function compareHex(a: Hex, b: Hex): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Order of numbers or of bigints. */
export function compareIntegers<T extends number | bigint>(a: T, b: T): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
