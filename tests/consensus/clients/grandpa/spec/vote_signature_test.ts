import assert from "node:assert/strict";
import { ed25519 } from "@noble/curves/ed25519.js";
import { isVoteSigned } from "../../../../../src/consensus/clients/grandpa/spec/verify_justification.ts";
import { concatBytes, fromHex } from "../../../../../src/core/encoding/bytes.ts";

const secret = new Uint8Array(32).fill(7);
const key = ed25519.getPublicKey(secret);
const payload = new TextEncoder().encode("a vote of a round");
const signature = ed25519.sign(payload, secret);

Deno.test("GRANDPA signatures: that of the key over the payload counts, and no other", () => {
  assert.ok(isVoteSigned(signature, payload, key));
  assert.ok(!isVoteSigned(signature, payload.with(0, 1), key));
  assert.ok(!isVoteSigned(signature, payload, ed25519.getPublicKey(new Uint8Array(32).fill(8))));
  for (let at = 0; at < signature.length; at += 9) {
    assert.ok(!isVoteSigned(signature.with(at, (signature[at] ?? 0) ^ 1), payload, key), `byte ${at}`);
  }
});

Deno.test("GRANDPA signatures: malformed keys and signatures are refused, not thrown", () => {
  for (const length of [0, 31, 33]) assert.ok(!isVoteSigned(signature, payload, new Uint8Array(length)));
  for (const length of [0, 63, 65]) assert.ok(!isVoteSigned(new Uint8Array(length), payload, key));
  assert.ok(!isVoteSigned(signature, payload, new Uint8Array(32).fill(0xff)));
});

Deno.test("GRANDPA signatures: a scalar of the group's order and more is refused", () => {
  const { ORDER } = ed25519.Point.Fn;
  const scalar = BigInt(
    `0x${[...signature.slice(32)].reverse().map((byte) => byte.toString(16).padStart(2, "0")).join("")}`,
  );
  const larger = (scalar + ORDER).toString(16).padStart(64, "0");
  const bytes = fromHex(larger).reverse();
  assert.ok(!isVoteSigned(concatBytes(signature.slice(0, 32), bytes), payload, key));
});

Deno.test("GRANDPA signatures: where RFC 8032 and ZIP 215 differ, that of the verifying chains counts", () => {
  // A key of order 8 and a neutral nonce: valid with the cofactor, and without it for one payload in eight at most.
  const small = fromHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a");
  const neutral = concatBytes(Uint8Array.of(1), new Uint8Array(63));
  for (let round = 0; round < 16; round++) {
    assert.ok(isVoteSigned(neutral, payload.with(0, round), small), `payload ${round}`);
  }
});
