/**
 * Fields of Protobuf messages. The library that reads them (`cosmjs-types` 0.11.0) writes integers of 64 bits from 2^31
 * to 2^32 - 1 wrongly, so everything that is hashed or signed is written here. Source: protobuf.dev:
 * programming-guides/encoding.
 */
import { concatBytes } from "../../../../core/encoding/bytes.ts";

/** Numbers of the ways in which the value of a field is written. */
const WIRE_TYPES = { varint: 0, fixed64: 1, bytes: 2 } as const;

const NOTHING = new Uint8Array(0);

/** Tag before the value of a field. */
export function fieldTag(field: number, type: keyof typeof WIRE_TYPES): number {
  return field << 3 | WIRE_TYPES[type];
}

/** Integer in groups of seven bits, lowest first; a negative one as the 64 bits of its two's complement. */
function encodeVarint(value: bigint | number): Uint8Array {
  const groups: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  for (; rest > 0x7fn; rest >>= 7n) groups.push(Number(rest & 0x7fn) | 0x80);
  return Uint8Array.of(...groups, Number(rest));
}

/** Integer field of type `int32`, `int64`, `uint32`, `uint64` or an enum; nothing for zero. */
export function integerField(field: number, value: bigint | number): Uint8Array {
  return BigInt(value) === 0n
    ? NOTHING
    : concatBytes(encodeVarint(fieldTag(field, "varint")), encodeVarint(value));
}

/** Field of type `sfixed64`; nothing for zero. */
export function fixed64Field(field: number, value: bigint): Uint8Array {
  if (value === 0n) return NOTHING;
  const eight = new Uint8Array(8);
  new DataView(eight.buffer).setBigInt64(0, value, true);
  return concatBytes(encodeVarint(fieldTag(field, "fixed64")), eight);
}

/** Bytes after their length. */
export function lengthPrefixed(value: Uint8Array): Uint8Array {
  return concatBytes(encodeVarint(value.length), value);
}

/** Message inside a message, from its fields; also one without fields. */
export function messageField(field: number, ...fields: readonly Uint8Array[]): Uint8Array {
  return concatBytes(encodeVarint(fieldTag(field, "bytes")), lengthPrefixed(concatBytes(...fields)));
}

/** Field of type `bytes`, or a text in UTF-8; nothing for an empty one. */
export function dataField(field: number, value: Uint8Array | string): Uint8Array {
  const written = typeof value === "string" ? new TextEncoder().encode(value) : value;
  return written.length === 0 ? NOTHING : messageField(field, written);
}
