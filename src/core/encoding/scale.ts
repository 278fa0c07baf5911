/**
 * Strict SCALE: scale-ts codecs with range checks on the way out and {@link decodeStrict} on the way in. Nothing else
 * in the program decodes SCALE bytes from outside. Source of the format: paritytech/parity-scale-codec: README.md.
 */
import {
  Bytes,
  type Codec,
  compact,
  createCodec,
  createDecoder,
  enhanceCodec,
  Tuple,
  u128 as scaleU128,
  u256 as scaleU256,
  u32 as scaleU32,
  u64 as scaleU64,
  u8 as scaleU8,
  Vector,
} from "scale-ts";
import { fromHex, toHash256, toHex } from "./bytes.ts";
import type { Hash256, Hex } from "./bytes.ts";

export { _void as nothing, bool, type Codec, Enum, Option, Struct, Tuple } from "scale-ts";

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
  const value = decodeLoose(codec, bytes, typeName);
  const canonical = codec.enc(value);
  if (startsWith(bytes, canonical)) {
    if (bytes.length === canonical.length) return value;
    throw new ScaleError("trailing", typeName);
  }
  throw new ScaleError("non_canonical", typeName);
}

/**
 * The value whose only encoding is a prefix of `bytes`: the rest is ignored, as the runtimes' `Decode::decode` does.
 * @throws {ScaleError}
 */
export function decodePrefix<T>(codec: Codec<T>, bytes: Uint8Array, typeName: string): T {
  const value = decodeLoose(codec, bytes, typeName);
  if (!startsWith(bytes, codec.enc(value))) throw new ScaleError("non_canonical", typeName);
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

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (prefix.length > bytes.length) return false;
  for (let index = 0; index < prefix.length; index++) {
    if (bytes[index] !== prefix[index]) return false;
  }
  return true;
}

function checkedNumber(codec: Codec<number>, bits: number, name: string): Codec<number> {
  return createCodec((value) => {
    if (!Number.isInteger(value) || value < 0 || value >= 2 ** bits) throw new ScaleError("invalid", name);
    return codec.enc(value);
  }, codec.dec);
}

function checkedBigint(codec: Codec<bigint>, bits: bigint, name: string): Codec<bigint> {
  return createCodec((value) => {
    if (typeof value !== "bigint" || value < 0n || value >> bits !== 0n) {
      throw new ScaleError("invalid", name);
    }
    return codec.enc(value);
  }, codec.dec);
}

/** One byte. Encoding throws {@link ScaleError} `invalid` out of range, as all integers here do. */
export const u8: Codec<number> = checkedNumber(scaleU8, 8, "u8");
/** Four bytes, little endian. */
export const u32: Codec<number> = checkedNumber(scaleU32, 32, "u32");
/** Eight bytes, little endian. */
export const u64: Codec<bigint> = checkedBigint(scaleU64, 64n, "u64");
/** Sixteen bytes, little endian. */
export const u128: Codec<bigint> = checkedBigint(scaleU128, 128n, "u128");
/** Thirty-two bytes, little endian (`U256`). */
export const u256: Codec<bigint> = checkedBigint(scaleU256, 256n, "u256");

/** Exactly `length` bytes without a prefix (`[u8; N]`, `H160`). */
export function fixedBytes(length: number): Codec<Uint8Array> {
  const inner = Bytes(length);
  return createCodec(
    (value) => {
      if (value.length !== length) throw new ScaleError("invalid", `[u8; ${length}]`);
      return value;
    },
    createDecoder((input) => {
      const value = inner.dec(input);
      if (value.length !== length) throw new ScaleError("truncated", `[u8; ${length}]`);
      return value;
    }),
  );
}

/** Bytes with a compact length (`Vec<u8>`). */
export const bytes: Codec<Uint8Array> = createCodec(
  Bytes().enc,
  createDecoder((input) => bytesOfLength(Number(compact.dec(input))).dec(input)),
);

/** Codecs of the lengths of identifiers and short bodies, which come again and again. */
const shortBytes = new Map<number, Codec<Uint8Array>>();
const MAX_SHORT = 256;

function bytesOfLength(length: number): Codec<Uint8Array> {
  if (length > MAX_SHORT) return fixedBytes(length);
  const codec = shortBytes.get(length) ?? fixedBytes(length);
  shortBytes.set(length, codec);
  return codec;
}

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
  return createCodec<readonly T[]>(
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
}

/** Two values in order (a tuple). */
export function pair<A, B>(first: Codec<A>, second: Codec<B>): Codec<readonly [A, B]> {
  const inner = Tuple(first, second);
  return createCodec<readonly [A, B]>(([a, b]) => inner.enc([a, b]), inner.dec);
}

/** A number as one byte that selects one of `names` (an enum whose variants carry nothing). */
export function unitEnum<const Name extends string>(
  names: readonly Name[],
  firstIndex = 0,
): Codec<Name> {
  return enhanceCodec(scaleU8, (name) => names.indexOf(name) + firstIndex, (index) => {
    const name = names[index - firstIndex];
    if (name === undefined) throw new ScaleError("invalid", names.join("|"));
    return name;
  });
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
  return createCodec<ReadonlyMap<K, V>>(
    (map) => entries.enc([...map].sort(([a], [b]) => compare(a, b))),
    createDecoder((input) => new Map(entries.dec(input))),
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
