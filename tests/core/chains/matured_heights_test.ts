import assert from "node:assert/strict";
import { type ChallengeRule, isMatured, MaturedHeights } from "../../../src/core/chains/matured_heights.ts";
import { parseStateMachine, toConsensusStateId } from "../../../src/core/ismp/state_machine.ts";

for (
  const [name, updatedAtSec, change, expected] of [
    ["a Substrate host wants the period exceeded: reached", 900n, {}, false],
    ["a Substrate host wants the period exceeded", 899n, {}, true],
    ["an EVM host wants it reached", 900n, { comparison: "reached" }, true],
    ["an EVM host wants it reached: not yet", 901n, { comparison: "reached" }, false],
    ["without a period everything is mature at once", 1_005n, { challengePeriodSec: 0n }, true],
  ] as const
) {
  Deno.test(`isMatured: ${name}`, () => {
    const rule: ChallengeRule = { nowSec: 1_000n, challengePeriodSec: 100n, comparison: "strict", ...change };
    assert.equal(isMatured(updatedAtSec, rule), expected);
  });
}

Deno.test("matured heights: of a chain whose height advances faster than the period, the newest whose period is over", async () => {
  const id = { stateMachine: parseStateMachine("EVM-1"), consensusStateId: toConsensusStateId("ETH0") };
  const stored = new Map([[10n, 700n], [20n, 880n], [30n, 950n], [15n, 1_090n]]);
  const asked: bigint[] = [];
  const heights = new MaturedHeights({
    capabilities: { challengeRule: "strict" },
    reads: {
      fetchView: () => assert.fail("the view is given"),
      fetchUpdateTime: ({ height }) => {
        asked.push(height);
        return Promise.resolve(stored.get(height));
      },
    },
  });
  const { signal } = new AbortController();
  const find = (height: bigint, nowSec: bigint, challengePeriodSec = 100n): Promise<bigint | undefined> =>
    heights.find({ height, nowSec, challengePeriodSec }, id, signal);
  assert.equal(await find(10n, 750n), undefined);
  assert.equal(await find(20n, 890n), 10n);
  assert.equal(await find(30n, 960n), 10n, "both newer ones are in their period");
  assert.equal(await find(30n, 1_000n), 20n);
  assert.equal(await find(15n, 1_100n), undefined, "a veto took the newer ones, and 10 was forgotten");
  assert.equal(await find(15n, 1_200n), 15n);
  assert.equal(await find(40n, 1_300n), 15n, "a height without a time is skipped");
  assert.equal(await find(50n, 1_300n, 0n), 50n);
  assert.deepEqual(asked, [10n, 20n, 30n, 15n, 40n], "each is asked for once");
});
