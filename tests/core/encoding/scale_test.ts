import { deepStrictEqual as equal, throws } from "node:assert/strict";
import fc from "fast-check";
import { compact } from "scale-ts";
import { fromHex, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  bool,
  bytes,
  bytesAsHex,
  type Codec,
  compareBytes,
  compareHex,
  compareIntegers,
  decodePrefix,
  decodeStrict,
  fixedBytes,
  hash256,
  list,
  Option,
  orderedMap,
  pair,
  ScaleError,
  type ScaleErrorCode,
  Struct,
  u128,
  u256,
  u32,
  u64,
  u8,
  unitEnum,
} from "../../../src/core/encoding/scale.ts";

function refuses(run: () => unknown, code: ScaleErrorCode): void {
  throws(run, (error) => error instanceof ScaleError && error.code === code);
}

function refusesBytes<T>(codec: Codec<T>, hex: string, code: ScaleErrorCode): void {
  refuses(() => decodeStrict(codec, fromHex(hex), "Sample"), code);
}

function bits(count: number): fc.Arbitrary<bigint> {
  return fc.bigInt({ min: 0n, max: (1n << BigInt(count)) - 1n });
}

const sample = Struct({
  flag: bool,
  small: u8,
  number: u32,
  height: u64,
  amount: u128,
  wide: u256,
  hash: hash256,
  data: bytes,
  maybe: Option(bytes),
  items: list(pair(u8, bytes)),
  map: orderedMap(bytesAsHex, u32, compareHex),
  name: unitEnum(["one", "two"], 1),
});

const anySample = fc.record({
  flag: fc.boolean(),
  small: fc.nat(255),
  number: fc.nat(0xffffffff),
  height: bits(64),
  amount: bits(128),
  wide: bits(256),
  hash: fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex),
  data: fc.uint8Array({ maxLength: 300 }),
  maybe: fc.option(fc.uint8Array(), { nil: undefined }),
  items: fc.array(fc.tuple(fc.nat(255), fc.uint8Array()), { maxLength: 5 }),
  map: fc.dictionary(fc.uint8Array({ maxLength: 4 }).map(toHex), fc.nat(0xffffffff), { maxKeys: 5 })
    .map((object) =>
      new Map(Object.entries(object).map(([key, value]) => [toHex(fromHex(key)), value] as const))
    ),
  name: fc.constantFrom("one" as const, "two" as const),
}, { noNullPrototype: true });

Deno.test("SCALE: any value survives, every proper prefix is truncated, a further byte is trailing", () => {
  fc.assert(
    fc.property(anySample, (value) => {
      const encoded = sample.enc(value);
      const decoded = decodeStrict(sample, encoded, "Sample");
      equal([...decoded.map].sort(), [...value.map].sort());
      equal({ ...decoded, map: 0 }, { ...value, map: 0 });
      for (let length = 0; length < encoded.length; length++) {
        refuses(() => decodeStrict(sample, encoded.subarray(0, length), "Sample"), "truncated");
      }
      refuses(() => decodeStrict(sample, new Uint8Array([...encoded, 7]), "Sample"), "trailing");
    }),
    { numRuns: 30 },
  );
});

Deno.test("SCALE: arbitrary bytes either are the encoding of what they decode to, or a ScaleError", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (input) => {
    const codec = pair(list(bytes), Option(u64));
    try {
      equal(codec.enc(decodeStrict(codec, input, "Sample")), input);
    } catch (error) {
      if (!(error instanceof ScaleError)) throw error;
    }
  }));
});

Deno.test("SCALE: other encodings of the same value are not canonical", () => {
  refusesBytes(bytes, "0x0100", "non_canonical"); // length 0 in two bytes
  refusesBytes(bytes, "0x02000000", "non_canonical"); // length 0 in four bytes
  refusesBytes(bytes, "0x0300000000", "non_canonical"); // length 0 in big-integer mode
  refusesBytes(list(u8), "0x0300000000", "non_canonical");
  refusesBytes(bool, "0x02", "non_canonical");
  refusesBytes(Option(u8), "0x0205", "non_canonical");
  refusesBytes(orderedMap(u8, u8, compareIntegers), "0x0802000100", "non_canonical");
  refusesBytes(orderedMap(u8, u8, compareIntegers), "0x0801000100", "non_canonical");
});

Deno.test("SCALE: what follows a value may be ignored, but the value itself must be its one encoding", () => {
  equal(decodePrefix(u32, fromHex("0x0700000001"), "Sample"), 7);
  equal(decodePrefix(bytes, fromHex("0x040509"), "Sample"), Uint8Array.of(5));
  refuses(() => decodePrefix(u32, fromHex("0x070000"), "Sample"), "truncated");
  refuses(() => decodePrefix(bytes, fromHex("0x01000509"), "Sample"), "non_canonical");
});

Deno.test("SCALE: lengths far beyond the input are truncated, without allocating them", () => {
  refusesBytes(bytes, "0xfeffffff", "truncated");
  refusesBytes(bytes, "0x33ffffffffffffffffffffffffffffffff", "truncated");
  refusesBytes(list(u8), `0x${toHex(compact.enc(100_000)).slice(2)}00`, "truncated");
});

Deno.test("SCALE: lists with more items than honest values have are refused before they are decoded", () => {
  refusesBytes(list(bytes), "0xfeffffff00", "too_long");
  refusesBytes(list(u8), toHex(list(u8).enc(new Array<number>(100_001).fill(1))), "too_long");
  const inner = new Array<number>(40_000).fill(1);
  const codec = list(Struct({ items: list(u8) }));
  const nested = (count: number): Uint8Array =>
    codec.enc(Array.from({ length: count }, () => ({ items: inner })));
  equal(decodeStrict(codec, nested(2), "Sample").length, 2);
  equal(decodeStrict(codec, nested(2), "Sample").length, 2, "each value is counted by itself");
  refusesBytes(codec, toHex(nested(3)), "too_long");
});

Deno.test("SCALE: values outside of the type are not encoded", () => {
  refuses(() => u8.enc(256), "invalid");
  refuses(() => u32.enc(-1), "invalid");
  refuses(() => u32.enc(1.5), "invalid");
  refuses(() => u64.enc(1n << 64n), "invalid");
  refuses(() => u64.enc(-1n), "invalid");
  refuses(() => u128.enc(1n << 128n), "invalid");
  refuses(() => u256.enc(1n << 256n), "invalid");
  refuses(() => fixedBytes(4).enc(new Uint8Array(5)), "invalid");
  refuses(() => hash256.enc("0x00"), "invalid");
  refusesBytes(unitEnum(["one"], 1), "0x00", "invalid");
});

Deno.test("SCALE: a view into a larger buffer decodes as what the view shows", () => {
  const buffer = fromHex("0xffff2a000000ff");
  equal(decodeStrict(u32, buffer.subarray(2, 6), "u32"), 42);
});

Deno.test("SCALE: the error names the outermost type and never the bytes", () => {
  throws(
    () => decodeStrict(list(u64), fromHex("0x04deadbeef"), "Vec<u64>"),
    /^ScaleError: SCALE Vec<u64>: truncated$/,
  );
});

Deno.test("SCALE: byte strings are ordered by content, then by length", () => {
  const sorted = ["0x", "0x00", "0x0001", "0x01", "0xff"];
  equal([...sorted].reverse().map((hex) => fromHex(hex)).sort(compareBytes).map(toHex), sorted);
});
