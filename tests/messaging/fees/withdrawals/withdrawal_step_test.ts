import assert from "node:assert/strict";
import type { WithdrawalDispatch } from "../../../../src/messaging/ledger/ledger.ts";
import {
  ORDER_PATIENCE_MS,
  type OrderStatus,
  pauseAfter,
  stepWithdrawal,
  type WithdrawalObservation,
  type WithdrawalView,
} from "../../../../src/messaging/fees/withdrawals/withdrawal_step.ts";

const NOW = Date.UTC(2026, 0, 1);
const payment: WithdrawalDispatch = {
  commitment: `0x${"11".repeat(32)}`,
  encoded: Uint8Array.of(1),
  hubBlock: 500n,
};

const requested: WithdrawalView = {
  state: "requested",
  nonce: 3n,
  hubBlock: 480n,
  dispatch: undefined,
  attempts: 0,
  nextAttemptAtMs: NOW,
  createdAtMs: NOW,
};
const dispatched: WithdrawalView = { ...requested, state: "dispatched", dispatch: payment };
const delivering: WithdrawalView = { ...dispatched, state: "delivering" };

function order(
  orderStatus: OrderStatus,
  change: Partial<Extract<WithdrawalObservation, { of: "requested" }>> = {},
): WithdrawalObservation {
  return {
    of: "requested",
    nowMs: NOW + 1_000,
    order: orderStatus,
    hubNonce: 3n,
    payment: undefined,
    ...change,
  };
}

const search = { kind: "search_payment", fromHubBlock: 480n } as const;
for (
  const [name, seen, state, action] of [
    ["not handed over yet is sent", order("unsent"), "requested", { kind: "send_order" }],
    ["out of the pool is sent again", order("gone"), "requested", { kind: "send_order" }],
    ["in the pool waits", order("pending"), "requested", { kind: "wait", for: "order_fate" }],
    ["in a block waits for finality", order("included"), "requested", {
      kind: "wait",
      for: "order_finality",
    }],
    ["final searches the payment", order("finalized"), "requested", search],
    ["with a used nonce searches the payment", order("gone", { hubNonce: 4n }), "requested", search],
    ["with its payment found is delivered", order("finalized", { payment }), "dispatched", {
      kind: "deliver",
    }],
    ["out of sight with its payment found is delivered", order("unsent", { payment }), "dispatched", {
      kind: "deliver",
    }],
    ["final without a payment is void", order("finalized", { payment: "none" }), "void", { kind: "none" }],
    ["whose nonce a claim used is void", order("pending", { hubNonce: 4n, payment: "none" }), "void", {
      kind: "none",
    }],
    ["that the hub refuses is void", order("refused"), "void", { kind: "none" }],
    ["that was refused but paid before is searched", order("refused", { hubNonce: 4n }), "requested", search],
    [
      "gone for ten minutes less a moment is sent",
      order("gone", { nowMs: NOW + ORDER_PATIENCE_MS - 1 }),
      "requested",
      {
        kind: "send_order",
      },
    ],
    ["gone for ten minutes is void", order("gone", { nowMs: NOW + ORDER_PATIENCE_MS }), "void", {
      kind: "none",
    }],
    ["in the pool for an hour still waits", order("pending", { nowMs: NOW + 3_600_000 }), "requested", {
      kind: "wait",
      for: "order_fate",
    }],
  ] as const
) {
  Deno.test(`withdrawal: an order ${name}`, () => {
    const step = stepWithdrawal(requested, seen);
    assert.equal(step.change.state, state);
    assert.deepEqual(step.action, action);
    assert.equal(step.change.detail !== undefined, state === "void");
  });
}

Deno.test("withdrawal: what was dispatched is written with its request, due at once", () => {
  const { change } = stepWithdrawal(requested, order("finalized", { payment }));
  assert.deepEqual(change, {
    state: "dispatched",
    dispatch: payment,
    attempts: 0,
    nextAttemptAtMs: NOW + 1_000,
  });
});

function chain(
  change: Partial<Extract<WithdrawalObservation, { of: "dispatched" }>> = {},
): WithdrawalObservation {
  return { of: "dispatched", nowMs: NOW, receipt: "none", provableHubBlock: 500n, ...change };
}

const wait = (what: string): unknown => ({ kind: "wait", for: what });
for (
  const [name, row, seen, state, action] of [
    ["provable is delivered", dispatched, chain(), "delivering", { kind: "deliver" }],
    ["delivered by anybody is done", dispatched, chain({ receipt: "final", provableHubBlock: 0n }), "done", {
      kind: "none",
    }],
    [
      "delivered in a young block waits",
      dispatched,
      chain({ receipt: "seen" }),
      "dispatched",
      wait("receipt_finality"),
    ],
    [
      "not provable yet waits",
      dispatched,
      chain({ provableHubBlock: 499n }),
      "dispatched",
      wait("hub_height"),
    ],
    ["not due yet waits", { ...dispatched, nextAttemptAtMs: NOW + 1 }, chain(), "dispatched", {
      kind: "wait",
      for: "next_attempt",
      untilMs: NOW + 1,
    }],
    [
      "with just enough gas is delivered",
      dispatched,
      chain({ funds: { balanceWei: 7n, neededWei: 7n } }),
      "delivering",
      {
        kind: "deliver",
      },
    ],
    [
      "whose delivery costs less than a tenth of it is delivered",
      dispatched,
      chain({ worth: { cost18: 5n, budget18: 5n } }),
      "delivering",
      { kind: "deliver" },
    ],
    [
      "whose delivery costs more waits",
      dispatched,
      chain({ worth: { cost18: 6n, budget18: 5n } }),
      "dispatched",
      { kind: "report_too_dear", worth: { cost18: 6n, budget18: 5n }, untilMs: NOW + 600_000 },
    ],
    [
      "whose delivery has no price waits",
      dispatched,
      chain({ worth: { cost18: undefined, budget18: 5n } }),
      "dispatched",
      { kind: "report_too_dear", worth: { cost18: undefined, budget18: 5n }, untilMs: NOW + 600_000 },
    ],
    [
      "without gas tells the shortfall",
      dispatched,
      chain({ funds: { balanceWei: 7n, neededWei: 10n } }),
      "dispatched",
      {
        kind: "report_shortfall",
        shortfallWei: 3n,
        untilMs: NOW + 60_000,
      },
    ],
  ] as const
) {
  Deno.test(`withdrawal: a payment ${name}`, () => {
    const step = stepWithdrawal(row, seen);
    assert.equal(step.change.state, state);
    assert.deepEqual(step.action, action);
  });
}

function delivery(
  submission: "pending" | "handled" | "failed",
  change: Partial<Extract<WithdrawalObservation, { of: "delivering" }>> = {},
): WithdrawalObservation {
  return { of: "delivering", nowMs: NOW, receipt: "none", submission, frequencySec: 86_400, ...change };
}

Deno.test("withdrawal: a delivery ends with the final receipt, whoever delivered, and whatever the outcome of ours", () => {
  for (const submission of ["pending", "handled", "failed"] as const) {
    const step = stepWithdrawal(delivering, delivery(submission, { receipt: "final" }));
    assert.equal(step.change.state, "done");
  }
});

Deno.test("withdrawal: a delivery under way, or in a young block, is waited for", () => {
  assert.deepEqual(stepWithdrawal(delivering, delivery("pending")).action, wait("delivery"));
  assert.deepEqual(stepWithdrawal(delivering, delivery("handled")).action, wait("receipt_finality"));
  const seen = stepWithdrawal(delivering, delivery("failed", { receipt: "seen" }));
  assert.deepEqual([seen.change.state, seen.action], ["delivering", wait("receipt_finality")]);
});

Deno.test("withdrawal: failed deliveries are tried three times within a round, then every period", () => {
  const pauses: number[] = [];
  let row = delivering;
  for (let attempt = 1; attempt <= 6; attempt++) {
    const { change } = stepWithdrawal(row, delivery("failed"));
    assert.equal(change.state, "dispatched");
    assert.equal(change.attempts, attempt);
    pauses.push((change.nextAttemptAtMs ?? 0) - NOW);
    row = { ...delivering, attempts: attempt };
  }
  assert.deepEqual(pauses, [10_000, 60_000, 86_400_000, 10_000, 60_000, 86_400_000]);
  assert.equal(pauseAfter(3, 5), 5_000);
});

Deno.test("withdrawal: an observation of another state is a defect, and so is a payment that was never recorded", () => {
  assert.throws(() => stepWithdrawal(requested, chain()));
  assert.throws(() => stepWithdrawal({ ...dispatched, dispatch: undefined }, chain()));
});

Deno.test("withdrawal: from order to payment through each state", () => {
  let row = requested;
  const states: string[] = [];
  const seen: WithdrawalObservation[] = [
    order("unsent"),
    order("pending"),
    order("finalized"),
    order("finalized", { payment }),
    chain({ nowMs: NOW + 1_000, provableHubBlock: 499n }),
    chain({ nowMs: NOW + 1_000 }),
    delivery("pending"),
    delivery("handled"),
    delivery("handled", { receipt: "final" }),
  ];
  for (const one of seen) {
    const { change } = stepWithdrawal(row, one);
    row = {
      ...row,
      state: change.state,
      dispatch: change.dispatch ?? row.dispatch,
      attempts: change.attempts ?? row.attempts,
      nextAttemptAtMs: change.nextAttemptAtMs ?? row.nextAttemptAtMs,
    };
    states.push(row.state);
  }
  assert.deepEqual(states, [
    "requested",
    "requested",
    "requested",
    "dispatched",
    "dispatched",
    "delivering",
    "delivering",
    "delivering",
    "done",
  ]);
});
