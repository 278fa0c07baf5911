import assert from "node:assert/strict";
import {
  equalBytes,
  fromHex,
  type Hex,
  isHexBytes,
  toHash256,
  toHex,
  toLowerHex,
} from "../../../src/core/encoding/bytes.ts";

Deno.test("hex: read in any letter case, with and without 0x, and written in lower case", () => {
  for (const text of ["0x00fFA1", "0X00ffa1", "00FFa1"]) {
    assert.deepEqual(fromHex(text), Uint8Array.of(0, 255, 0xa1));
    assert.equal(toHex(fromHex(text)), "0x00ffa1");
  }
  assert.deepEqual(fromHex("0x"), new Uint8Array());
});

Deno.test("hex: anything but an even number of digits is refused without being repeated", () => {
  for (const text of ["0x1", "0xsecret", "0x0g", " 00", "00 ", "0x00\n", "0x0x00", "é0"]) {
    assert.throws(() => fromHex(text), (error) => {
      assert.ok(error instanceof RangeError);
      assert.equal(error.cause, undefined);
      assert.equal(error.message, "Expected an even number of hex digits");
      return true;
    });
  }
});

Deno.test("hash: exactly 32 bytes, in lower case", () => {
  const lower = `0x${"ab".repeat(32)}`;
  for (const text of [lower, lower.toUpperCase(), lower.slice(2), `0x${"aB".repeat(32)}`]) {
    assert.equal(toHash256(text), lower);
  }
  assert.equal(toHash256(fromHex(lower)), lower);
  for (const text of ["0x", lower.slice(0, -2), `${lower}00`, `${lower}\n`]) {
    assert.throws(() => toHash256(text), RangeError);
  }
});

Deno.test("bytes: equal only with the same length and content", () => {
  assert.ok(equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2)));
  assert.ok(!equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 3)));
  assert.ok(!equalBytes(Uint8Array.of(1, 2), Uint8Array.of(1, 2, 3)));
  assert.ok(equalBytes(new Uint8Array(), new Uint8Array()));
});

Deno.test("hex: long text is told from other text as short text is", () => {
  for (const bytes of [0, 1, 32, 148, 149, 150, 1_000]) {
    const text: Hex = `0x${"aF".repeat(bytes)}`;
    assert.ok(isHexBytes(text));
    assert.equal(toLowerHex(text), text.toLowerCase());
    const wrong = [
      `${text}0`,
      `${text} `,
      `${text}0g`,
      text.slice(1),
      `0X${text.slice(2)}`,
      ` ${text}`,
      `${text}\n`,
    ];
    for (const other of wrong) assert.ok(!isHexBytes(other), JSON.stringify(other));
  }
  for (const other of [undefined, null, 1, [], {}]) assert.ok(!isHexBytes(other));
});
