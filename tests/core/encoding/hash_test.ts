import assert from "node:assert/strict";
import { blake2b } from "@noble/hashes/blake2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { concatBytes } from "../../../src/core/encoding/bytes.ts";
import { openWasmHashes } from "../../../src/core/encoding/wasm_hashes.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

Deno.test("hashes: WebAssembly gives what JavaScript gives, for every length up to 300 and some large ones", async () => {
  const wasm = await openWasmHashes();
  const random = seededRandomness(14);
  const lengths = [...Array(301).keys(), 511, 512, 1_087, 1_088, 16_383, 16_384, 16_385, 100_001];
  for (const length of lengths) {
    const whole = concatBytes(random.bytes(3), random.bytes(length), random.bytes(3));
    const data = whole.subarray(3, 3 + length);
    assert.deepEqual(wasm.keccak256(data), keccak_256(data), `keccak256 of ${length} bytes`);
    assert.deepEqual(wasm.blake2b256(data), blake2b(data, { dkLen: 32 }), `blake2b256 of ${length} bytes`);
    assert.deepEqual(wasm.blake2b128(data), blake2b(data, { dkLen: 16 }), `blake2b128 of ${length} bytes`);
  }
});

Deno.test("hashes: a result stays when another one is made", async () => {
  const { keccak256: hash } = await openWasmHashes();
  const first = hash(ascii("abc"));
  hash(ascii("another"));
  assert.deepEqual(first, keccak_256(ascii("abc")));
});
