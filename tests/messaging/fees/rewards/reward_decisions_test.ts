import assert from "node:assert/strict";
import type { RewardRow } from "../../../../src/messaging/ledger/ledger.ts";
import { parseStateMachine } from "../../../../src/core/ismp/state_machine.ts";
import { judgeRewardRefusal, planRewards } from "../../../../src/messaging/fees/rewards/reward_decisions.ts";

const NOW = Date.UTC(2026, 0, 1);
const chain = parseStateMachine("EVM-1");
const lagging = parseStateMachine("EVM-420420419");

function row(reference: string, height: bigint, change: Partial<RewardRow> = {}): RewardRow {
  return {
    kind: "rotation",
    chain,
    reference,
    height,
    payload: new Uint8Array(),
    state: "pending",
    attempts: 0,
    nextAttemptAtMs: NOW,
    detail: undefined,
    createdAtMs: NOW,
    updatedAtMs: NOW,
    ...change,
  };
}

type Facts = Parameters<typeof planRewards>[1];

function facts(change: Partial<Facts> = {}): Facts {
  return { maturedHeight: () => 1_000n, find: () => ({ isClaimed: false, offered: 5n }), ...change };
}

Deno.test("rewards: rotations and requests are claimed oldest first, whatever the order of the rows", () => {
  const rows = [row("7", 300n), row("0xaa", 100n, { kind: "request" }), row("5", 200n), row("6", 200n)];
  for (const order of [rows, rows.toReversed()]) {
    const { claims, settled } = planRewards(order, facts());
    assert.deepEqual(claims.map((claim) => claim.row.reference), ["0xaa", "5", "6", "7"]);
    assert.deepEqual(
      claims.map(({ proofHeight, offered }) => [proofHeight, offered]),
      Array(4).fill([1_000n, 5n]),
    );
    assert.deepEqual(settled, []);
  }
});

for (
  const [name, change] of [
    ["above the hub's height of the chain", { maturedHeight: () => 99n }],
    ["of a chain without a mature height", { maturedHeight: () => undefined }],
    ["of which the hub's record could not be read", { find: () => undefined }],
  ] as const
) {
  Deno.test(`rewards: one ${name} waits`, () => {
    const plan = planRewards([row("5", 100n)], facts(change));
    assert.deepEqual([plan.claims, plan.settled], [[], []]);
  });
}

Deno.test("rewards: at exactly the hub's height a reward is claimed", () => {
  assert.equal(planRewards([row("5", 100n)], facts({ maturedHeight: () => 100n })).claims.length, 1);
});

Deno.test("rewards: a chain that lags does not hold back the others", () => {
  const rows = [row("5", 100n, { chain: lagging }), row("6", 200n)];
  const plan = planRewards(rows, facts({ maturedHeight: (asked) => asked === lagging ? 1n : 1_000n }));
  assert.deepEqual(plan.claims.map((claim) => claim.row.reference), ["6"]);
});

Deno.test("rewards: what is paid, or not offered, is settled without a claim", () => {
  const paid = planRewards([row("5", 100n)], facts({ find: () => ({ isClaimed: true, offered: 0n }) }));
  assert.deepEqual(paid.settled.map(({ to, why }) => [to, why]), [["claimed", "claimed_already"]]);
  const free = planRewards([row("5", 100n)], facts({ find: () => ({ isClaimed: false, offered: 0n }) }));
  assert.deepEqual(free.settled.map(({ to, why }) => [to, why]), [["refused", "nothing_offered"]]);
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
