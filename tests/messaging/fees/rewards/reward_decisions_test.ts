import assert from "node:assert/strict";
import { findRewardEnd, isFinalRefusal } from "../../../../src/messaging/fees/rewards/reward_decisions.ts";

Deno.test("rewards: what is paid, or not offered, ends without a claim", () => {
  const ends = [[true, 0n], [true, 5n], [false, 0n], [false, 5n]] as const;
  assert.deepEqual(
    ends.map(([isClaimed, offered]) => findRewardEnd({ isClaimed, offered })?.state),
    ["claimed", "claimed", "refused", undefined],
  );
});

for (
  const [error, state] of [
    ["OutboundRotationAlreadyClaimed", "pending"],
    ["OutboundRequestAlreadyClaimed", "pending"],
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
    assert.equal(isFinalRefusal(error) ? "refused" : "pending", state);
  });
}
