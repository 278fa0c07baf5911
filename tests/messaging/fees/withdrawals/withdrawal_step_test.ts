import assert from "node:assert/strict";
import { holdReasons, type MessageRow } from "../../../../src/messaging/ledger/ledger.ts";
import {
  decideOrder,
  judgePayment,
  ORDER_PATIENCE_MS,
  type OrderObservation,
} from "../../../../src/messaging/fees/withdrawals/withdrawal_orders.ts";

const NOW = Date.UTC(2026, 0, 1);

function order(status: OrderObservation["order"], change: Partial<OrderObservation> = {}): OrderObservation {
  return { nowMs: NOW + 1_000, order: status, hubNonce: 3n, isScanned: false, ...change };
}

for (
  const [name, seen, kind] of [
    ["out of the pool is sent again", order("dropped"), "send"],
    ["in the pool waits", order("open"), "wait"],
    ["in a block waits for finality", order("included"), "wait"],
    ["final waits for the search of its payment", order("final"), "wait"],
    ["with a used nonce waits for the search of its payment", order("dropped", { hubNonce: 4n }), "wait"],
    ["final without a payment is void", order("final", { isScanned: true }), "void"],
    ["whose nonce a claim used is void", order("open", { hubNonce: 4n, isScanned: true }), "void"],
    ["that the hub refuses is void", order("failed"), "void"],
    ["that was refused but paid before is searched", order("failed", { hubNonce: 4n }), "wait"],
    [
      "gone for ten minutes less a moment is sent",
      order("dropped", { nowMs: NOW + ORDER_PATIENCE_MS - 1 }),
      "send",
    ],
    ["gone for ten minutes is void", order("dropped", { nowMs: NOW + ORDER_PATIENCE_MS }), "void"],
    ["in the pool for an hour still waits", order("open", { nowMs: NOW + 3_600_000 }), "wait"],
  ] as const
) {
  Deno.test(`withdrawal: an order ${name}`, () => {
    assert.equal(decideOrder({ nonce: 3n, createdAtMs: NOW }, seen).kind, kind);
  });
}

Deno.test("withdrawal: a payment of an order without a nonce of ours is never taken for spent", () => {
  const found = { nonce: undefined, createdAtMs: NOW };
  assert.equal(decideOrder(found, order("open", { hubNonce: 9n, isScanned: true })).kind, "wait");
});

Deno.test("withdrawal: each reason of its message says whether a payment comes soon, waits, or was refused", () => {
  const of = (state: MessageRow["state"], reason?: MessageRow["reason"]): string =>
    judgePayment({ state, reason });
  for (const state of ["seen", "ready", "submitted", "held"] as const) assert.equal(of(state), "soon", state);
  const found = Map.groupBy(holdReasons, (reason) => of("held", reason));
  assert.deepEqual(found.get("gated"), ["gated"]);
  assert.deepEqual(found.get("later"), [
    "unprofitable",
    "price_unknown",
    "loss_limit",
    "fee_unknown",
    "consensus_proofs_unprofitable",
    "held_by_operator",
  ]);
  for (const reason of ["simulation_failed", "not_executed", "unfunded", "host_frozen"] as const) {
    assert.equal(of("held", reason), "refused", reason);
  }
  assert.equal(of("held", "race"), "soon");
});
