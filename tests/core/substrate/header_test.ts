import assert from "node:assert/strict";
import { concatBytes, toHash256, toHex } from "../../../src/core/encoding/bytes.ts";
import { u32, u64 } from "../../../src/core/encoding/scale.ts";
import {
  decodeDigestItem,
  decodeSubstrateHeader,
  lastAnnounced,
  readSlot,
  type SubstrateHeader,
  substrateHeaderCodec,
} from "../../../src/core/substrate/header.ts";

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

Deno.test("a digest item of an unknown kind ends the digest that can be read, and the header keeps its hash", () => {
  const root = toHash256(new Uint8Array(32));
  const slot = concatBytes(Uint8Array.of(9), u32.enc(1), u64.enc(77n), Uint8Array.of(0xaa));
  const header: SubstrateHeader = {
    parentHash: root,
    number: 4,
    stateRoot: root,
    extrinsicsRoot: root,
    digest: [
      // BABE's pre-digest in a variant that is not known either.
      { kind: "preRuntime", engine: "BABE", data: slot },
      { kind: "consensus", engine: "ISMP", data: u64.enc(5n) },
      { kind: "unknown", items: 2, data: Uint8Array.of(7, 1, 2, 3, 8) },
    ],
  };
  const encoded = substrateHeaderCodec.enc(header);
  const decoded = decodeSubstrateHeader(encoded);
  assert.deepEqual(decoded, header);
  assert.equal(toHex(substrateHeaderCodec.enc(decoded)), toHex(encoded));
  assert.deepEqual([readSlot(decoded), lastAnnounced(decoded, "ISMP", u64)], [77n, 5n]);
  // As JSON-RPC has them the items are apart, so that those behind are read, too.
  const items = [Uint8Array.of(7, 1, 2), Uint8Array.of(8)].map(decodeDigestItem);
  assert.deepEqual(items.map(({ kind }) => kind), ["unknown", "runtimeUpdated"]);
});
