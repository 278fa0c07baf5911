import assert from "node:assert/strict";
import { blake2b } from "@noble/hashes/blake2.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { blake2b128, blake2b256, concatBytes, keccak256, toHex } from "../../../src/core/encoding/bytes.ts";
import { openWasmHashes } from "../../../src/core/encoding/wasm_hashes.ts";
import { seededRandomness } from "../../support/seeded_randomness.ts";

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Keccak: test vectors of the Keccak team's KeccakKAT-256. BLAKE2b: RFC 7693 parameters, as `b2sum -l` prints them. */
const vectors = [
  {
    name: "keccak256",
    data: ascii(""),
    hash: "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470",
  },
  {
    name: "keccak256",
    data: ascii("abc"),
    hash: "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45",
  },
  {
    name: "blake2b256",
    data: ascii(""),
    hash: "0x0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8",
  },
  {
    name: "blake2b256",
    data: ascii("abc"),
    hash: "0xbddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
  },
  { name: "blake2b128", data: ascii(""), hash: "0xcae66941d9efbd404e4d88758ea67670" },
  { name: "blake2b128", data: ascii("abc"), hash: "0xcf4ab791c62b8d2b2109c90275287816" },
] as const;

Deno.test("hashes: the known answers, in JavaScript and in WebAssembly", async () => {
  const wasm = await openWasmHashes();
  for (const { name, data, hash } of vectors) {
    assert.equal(toHex({ keccak256, blake2b256, blake2b128 }[name](data)), hash);
    assert.equal(toHex(wasm[name](data)), hash);
  }
});

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
