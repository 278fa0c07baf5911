import assert from "node:assert/strict";
import { BinaryReader } from "cosmjs-types/binary";
import fc from "fast-check";
import { toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  dataField,
  fixed64Field,
  integerField,
} from "../../../../../src/consensus/clients/polygon/spec/protobuf.ts";
import { fixedField, numberField, octets, textField } from "../../../../../devnet/heimdall/wire.ts";

/** Values around each width of an encoding, on both sides of zero. */
const boundaries = [0, 7, 14, 21, 28, 31, 32, 35, 42, 49, 53, 56, 63, 64]
  .flatMap((bits) => [-1n, 0n, 1n].map((step) => 2n ** BigInt(bits) + step))
  .flatMap((value) => [value, -value])
  .filter((value) => value >= -(2n ** 63n) && value < 2n ** 64n);

function assertInteger(value: bigint): void {
  const written = integerField(5, value);
  assert.equal(toHex(written), toHex(numberField(5, value)), `${value}`);
  const reader = new BinaryReader(written);
  if (value === 0n) return assert.equal(written.length, 0);
  assert.equal(reader.uint32(), 5 << 3);
  assert.equal(value < 0n ? reader.int64() : reader.uint64(), value);
  assert.equal(reader.pos, written.length);
  if (value < 2n ** 63n) assert.equal(toHex(fixed64Field(3, value)), toHex(fixedField(3, value)));
}

Deno.test("integers of every width have the bytes of another encoder, and are read again", () => {
  for (const value of boundaries) assertInteger(value);
  fc.assert(fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }), assertInteger));
});

Deno.test("known integers have the bytes of the specification", () => {
  const known: readonly (readonly [bigint, string])[] = [
    [150n, "0x289601"],
    [2n ** 31n, "0x288080808008"],
    [2n ** 32n - 1n, "0x28ffffffff0f"],
    [2n ** 64n - 1n, "0x28ffffffffffffffffff01"],
    [-2n, "0x28feffffffffffffffff01"],
  ];
  for (const [value, bytes] of known) assert.equal(toHex(integerField(5, value)), bytes);
});

Deno.test("bytes and texts of every length have the bytes of another encoder", () => {
  for (const length of [0, 1, 127, 128, 16_384]) {
    const value = new Uint8Array(length).fill(7);
    assert.equal(toHex(dataField(2, value)), toHex(octets(2, value)));
  }
  assert.equal(toHex(dataField(6, "Größe")), toHex(textField(6, "Größe")));
});
