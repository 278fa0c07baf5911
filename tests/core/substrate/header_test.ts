import assert from "node:assert/strict";
import { fromHex, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import {
  decodeDigestItem,
  decodeSubstrateHeader,
  type SubstrateHeader,
  substrateHeaderCodec,
} from "../../../src/core/substrate/header.ts";
import { ScaleError } from "../../../src/core/encoding/scale.ts";

Deno.test("a header keeps its bytes, and so its hash, whatever bytes its engines are named by", () => {
  const root = toHash256(new Uint8Array(32));
  const named = (engine: string): SubstrateHeader => ({
    parentHash: root,
    number: 4,
    stateRoot: root,
    extrinsicsRoot: root,
    digest: [{ kind: "consensus", engine, data: Uint8Array.of(1) }],
  });
  const ascii = substrateHeaderCodec.enc(named("ISMP"));
  const encoded = ascii.with(ascii.indexOf("I".charCodeAt(0)), 0x80);
  const header = decodeSubstrateHeader(encoded);
  assert.deepEqual(header, named("\u0080SMP"));
  assert.equal(toHex(substrateHeaderCodec.enc(header)), toHex(encoded));
});

Deno.test("the number of a header may be any of 32 bits", () => {
  const root = toHash256(new Uint8Array(32));
  for (const number of [0, 63, 64, 2 ** 14, 2 ** 30 - 1, 2 ** 30, 2 ** 32 - 1]) {
    const header = { parentHash: root, number, stateRoot: root, extrinsicsRoot: root, digest: [] };
    assert.deepEqual(decodeSubstrateHeader(substrateHeaderCodec.enc(header)), header);
  }
});

Deno.test("a digest item of a kind that a later runtime has is hashed as it is", () => {
  const root = toHash256(new Uint8Array(32));
  const header = { parentHash: root, number: 4, stateRoot: root, extrinsicsRoot: root };
  const items = ["0x08", "0x09112233", "0x0445434d520401"].map(fromHex);
  const digest = items.map(decodeDigestItem);
  assert.deepEqual(digest[1], { kind: "unknown", encoded: items[1] });
  const tail = items.map((item) => toHex(item).slice(2)).join("");
  assert.ok(toHex(substrateHeaderCodec.enc({ ...header, digest })).endsWith(`0c${tail}`));
  for (const malformed of ["0x", "0x0445434d", "0x0800"]) {
    assert.throws(() => decodeDigestItem(fromHex(malformed)), ScaleError, malformed);
  }
});
