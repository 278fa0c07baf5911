import assert from "node:assert/strict";
import { concatBytes, fromHex, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  cometMerkleRoot,
  compareCometTimes,
  encodeCometTime,
  parseCometTime,
  voteSignBytes,
} from "../../../../../src/consensus/clients/polygon/spec/comet_header.ts";
import { PolygonError } from "../../../../../src/consensus/clients/polygon/spec/polygon_error.ts";
import { sha256Parts, simpleTree } from "../../../../../devnet/heimdall/wire.ts";

const times: readonly (readonly [string, bigint, number, string])[] = [
  ["2026-04-20T15:10:48.60553605Z", 1_776_697_848n, 605_536_050, "0x08f88399cf0610b2fedea002"],
  ["2026-04-20T15:10:48Z", 1_776_697_848n, 0, "0x08f88399cf06"],
  // The first second that does not fit 31 bits.
  ["2038-01-19T03:14:08Z", 2_147_483_648n, 0, "0x088080808008"],
  ["1970-01-01T00:00:00.000000001Z", 0n, 1, "0x1001"],
  ["1970-01-01T00:00:00Z", 0n, 0, "0x"],
];

for (const [text, seconds, nanos, protobuf] of times) {
  Deno.test(`CometBFT time ${text}`, () => {
    const time = parseCometTime(text);
    assert.deepEqual(time, { seconds, nanos });
    assert.equal(toHex(encodeCometTime(time)), protobuf);
  });
}

for (
  const text of [
    "",
    "2026-04-20 15:10:48Z",
    "2026-04-20T15:10:48+00:00",
    "2026-04-20T15:10:48.Z",
    "2026-04-20T15:10:48.1234567890Z",
    "2026-02-29T00:00:00Z",
    "2026-04-20T24:00:00Z",
    "2026-04-20T15:10:60Z",
    "0001-01-01T00:00:00Z",
  ]
) {
  Deno.test(`"${text}" is no time of CometBFT`, () => {
    assert.throws(() => parseCometTime(text), PolygonError);
  });
}

Deno.test("CometBFT times are in order to the nanosecond", () => {
  const [a, b, c] = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.000000001Z", "2026-01-01T00:00:01Z"]
    .map(parseCometTime);
  assert.ok(a !== undefined && b !== undefined && c !== undefined);
  assert.ok(compareCometTimes(a, b) < 0 && compareCometTimes(b, c) < 0 && compareCometTimes(c, a) > 0);
  assert.equal(compareCometTimes(b, b), 0);
});

Deno.test("the tree of no leaf, one leaf and up to forty leaves has the root of another implementation", () => {
  // SHA-256 of nothing, and RFC 6962's leaf of nothing.
  assert.equal(cometMerkleRoot([]), "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assert.equal(
    cometMerkleRoot([new Uint8Array(0)]),
    "0x6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  );
  for (let count = 1; count <= 40; count++) {
    const leaves = Array.from({ length: count }, (_, at) => Uint8Array.of(at, count));
    assert.equal(cometMerkleRoot(leaves), toHash256(simpleTree(leaves).root), `${count} leaves`);
  }
});

Deno.test("validators sign a vote with its length, and a round only when it is not the first", () => {
  const hash = toHash256(sha256Parts(Uint8Array.of(1)));
  const blockId = { hash, partSetHeader: { total: 1, hash } };
  const time = "1970-01-01T00:00:01Z";
  const block = concatBytes(fromHex("0a20"), fromHex(hash), fromHex("122408011220"), fromHex(hash));
  const tail = concatBytes(fromHex("2248"), block, fromHex("2a0208013201"), new TextEncoder().encode("c"));
  const first = concatBytes(fromHex("0802110300000000000000"), tail);
  assert.equal(
    toHex(voteSignBytes("c", { height: 3n, round: 0, blockId }, time)),
    toHex(concatBytes(Uint8Array.of(first.length), first)),
  );
  const second = concatBytes(fromHex("0802110300000000000000190100000000000000"), tail);
  assert.equal(
    toHex(voteSignBytes("c", { height: 3n, round: 1, blockId }, time)),
    toHex(concatBytes(Uint8Array.of(second.length), second)),
  );
});
