import assert from "node:assert/strict";
import {
  findRewardEnd,
  judgeRewardRefusal,
} from "../../../../src/messaging/fees/rewards/reward_decisions.ts";

const NOW = Date.UTC(2026, 0, 1);

Deno.test("rewards: what is paid, or not offered, ends without a claim", () => {
  const ends = [[true, 0n], [true, 5n], [false, 0n], [false, 5n]] as const;
  assert.deepEqual(
    ends.map(([isClaimed, offered]) => findRewardEnd({ isClaimed, offered })?.state),
    ["claimed", "claimed", "refused", undefined],
  );
});

for (
  const [error, state] of [
    ["OutboundRotationAlreadyClaimed", "claimed"],
    ["OutboundRequestAlreadyClaimed", "claimed"],
    ["OutboundNoRewardConfigured", "refused"],
    ["OutboundSignerMismatch", "refused"],
    ["OutboundRequestNoRewardConfigured", "refused"],
    ["OutboundRequestSignerMismatch", "refused"],
    ["OutboundRequestNotKnown", "refused"],
    ["OutboundDestinationStateNotKnown", "pending"],
    ["OutboundDeliveryNotProven", "pending"],
    ["OutboundRewardTransferFailed", "pending"],
    ["SomethingNew", "pending"],
    [undefined, "pending"],
  ] as const
) {
  Deno.test(`rewards: after ${error ?? "a refusal without a reason"} a claim is ${state}`, () => {
    const refusal = judgeRewardRefusal({ attempts: 2 }, { error, isFinal: true }, NOW);
    assert.equal(refusal.state, state);
    if (refusal.state === "pending") {
      assert.deepEqual([refusal.attempts, refusal.nextAttemptAtMs], [3, NOW + 600_000]);
    }
  });
}

for (const error of ["OutboundRotationAlreadyClaimed", "OutboundRequestAlreadyClaimed"]) {
  Deno.test(`rewards: ${error} in a block that is not final is no end, and no attempt`, () => {
    const refusal = judgeRewardRefusal({ attempts: 2 }, { error, isFinal: false }, NOW);
    assert.deepEqual(refusal, { state: "pending", attempts: 2, nextAttemptAtMs: NOW + 60_000 });
  });
}
