/** Integers as protobuf.dev (programming-guides/encoding) writes them: what Heimdall hashes and signs. */
import assert from "node:assert/strict";
import { fixed64Field, integerField } from "../../../../../src/consensus/clients/polygon/spec/protobuf.ts";
import { toHex } from "../../../../../src/core/encoding/bytes.ts";

Deno.test("Protobuf: integers of every width, negative ones as 64 bits, and zero as nothing", () => {
  const written: readonly (readonly [bigint, string])[] = [
    [0n, "0x"],
    [127n, "0x087f"],
    [150n, "0x089601"],
    [2n ** 31n, "0x088080808008"],
    [2n ** 32n - 1n, "0x08ffffffff0f"],
    [2n ** 63n - 1n, "0x08ffffffffffffffff7f"],
    [-1n, "0x08ffffffffffffffffff01"],
    [-2n, "0x08feffffffffffffffff01"],
  ];
  for (const [value, bytes] of written) assert.equal(toHex(integerField(1, value)), bytes, `${value}`);
  assert.equal(toHex(fixed64Field(2, -2n)), "0x11feffffffffffffff");
  assert.equal(toHex(fixed64Field(2, 258n)), "0x110201000000000000");
  assert.equal(fixed64Field(2, 0n).length, 0);
});
