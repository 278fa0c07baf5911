/** Bytes that Heimdall hashes, signs and stores: integers, times, trees, votes and milestones. */
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
import {
  decodeMilestone,
  encodeMilestone,
  type Milestone,
  milestoneKey,
  readMilestoneCount,
} from "../../../../../src/consensus/clients/polygon/spec/milestone.ts";
import { fixed64Field, integerField } from "../../../../../src/consensus/clients/polygon/spec/protobuf.ts";

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

const milestone: Milestone = {
  proposer: "0xab",
  startBlock: 300n,
  endBlock: 2n ** 63n + 1n,
  hash: toHash256(new Uint8Array(32).fill(7)),
  borChainId: "137",
  milestoneId: "",
  timestampSec: 0n,
  totalDifficulty: 2n ** 64n - 1n,
};

const BYTES = "0x0a043078616210ac021881808080808080808001" + "2220" + "07".repeat(32) + "2a03313337" +
  "40ffffffffffffffffff01";

Deno.test("a milestone has the Protobuf form of Heimdall's store, without fields that are zero", () => {
  assert.equal(toHex(encodeMilestone(milestone)), BYTES);
  assert.deepEqual(decodeMilestone(fromHex(BYTES)), milestone);
});

Deno.test("a milestone with a total difficulty of 32 bits is read as Heimdall stores it", () => {
  const stored = fromHex(BYTES.replace(/40f+01$/, "408080808008"));
  assert.deepEqual(decodeMilestone(stored), { ...milestone, totalDifficulty: 2n ** 31n });
});

Deno.test("a milestone whose bytes the hub would make differently is refused", () => {
  const known = fromHex(BYTES);
  for (
    const bytes of [
      new Uint8Array(0),
      known.subarray(0, -1),
      concatBytes(known, fromHex("4801")),
      concatBytes(known, fromHex("3800")),
      concatBytes(known.subarray(6), known.subarray(0, 6)),
      fromHex("0d00000000"),
      fromHex("220107"),
    ]
  ) {
    assert.throws(() => decodeMilestone(bytes), RangeError, toHex(bytes));
  }
});

Deno.test("milestones have their number in the key", () => {
  assert.equal(toHex(milestoneKey(14_893_911n)), "0x810000000000e34357");
  assert.equal(readMilestoneCount(fromHex("0000000000e34357")), 14_893_911n);
  assert.throws(() => readMilestoneCount(fromHex("00e34357")), RangeError);
});

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
