import assert from "node:assert/strict";
import { concatBytes, fromHex, toHash256, toHex } from "../../../../../src/core/encoding/bytes.ts";
import {
  decodeMilestone,
  encodeMilestone,
  type Milestone,
  milestoneKey,
  readMilestoneCount,
} from "../../../../../src/consensus/clients/polygon/spec/milestone.ts";

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
