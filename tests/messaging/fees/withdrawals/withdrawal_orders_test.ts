import assert from "node:assert/strict";
import {
  decideOrder,
  decideWithdrawal,
  judgePayment,
  listFeeAccounts,
  nextWithdrawalMs,
  ORDER_PATIENCE_MS,
  type OrderObservation,
} from "../../../../src/messaging/fees/withdrawals/withdrawal_orders.ts";
import { holdReasons, type MessageRow } from "../../../../src/messaging/ledger/ledger.ts";

const NOW = Date.UTC(2026, 0, 1);
const DAY_SEC = 86_400;

for (
  const [name, startedMs, lastCompletedMs, dueMs] of [
    ["the first run is a minute after the start", NOW, undefined, NOW + 60_000],
    ["a restart keeps the period", NOW, NOW - 3_600_000, NOW - 3_600_000 + DAY_SEC * 1000],
    [
      "a run that was missed is made up a minute after the start",
      NOW,
      NOW - 2 * DAY_SEC * 1000,
      NOW + 60_000,
    ],
    ["a completed run starts the next period", NOW - 7_200_000, NOW, NOW + DAY_SEC * 1000],
    ["a run from the future counts as now", NOW - 7_200_000, NOW + 10 ** 12, NOW + DAY_SEC * 1000],
  ] as const
) {
  Deno.test(`withdrawal timer: ${name} (F25)`, () => {
    assert.equal(nextWithdrawalMs({ startedMs, lastCompletedMs, frequencySec: DAY_SEC, nowMs: NOW }), dueMs);
  });
}

const usdc = { feeTokenDecimals: 6, minimumAmount: 100, hubMinimum: 1n, isAskedFor: false };
const dai = { feeTokenDecimals: 18, minimumAmount: 100, hubMinimum: undefined, isAskedFor: false };
const e18 = 10n ** 18n;

for (
  const [name, facts, available, verdict] of [
    ["nothing", usdc, 0n, "empty"],
    ["one unit below 100", usdc, 99_999_999n, "below_configured"],
    ["exactly 100", usdc, 100_000_000n, "withdraw"],
    ["a minimum of 0 counts as 10: below", { ...usdc, minimumAmount: 0 }, 9_999_999n, "below_configured"],
    ["a minimum of 0 counts as 10: equal", { ...usdc, minimumAmount: 0 }, 10_000_000n, "withdraw"],
    ["a minimum with decimals: below", { ...usdc, minimumAmount: 12.5 }, 12_499_999n, "below_configured"],
    ["a minimum with decimals: equal", { ...usdc, minimumAmount: 12.5 }, 12_500_000n, "withdraw"],
    ["18 decimals, the hub's default below 100", dai, 100n * e18, "withdraw"],
    ["18 decimals, one below", dai, 100n * e18 - 1n, "below_configured"],
    [
      "6 decimals, the hub's default of 10^19 units",
      { ...usdc, hubMinimum: undefined },
      10n ** 18n,
      "below_hub_minimum",
    ],
    ["6 decimals, exactly 10^19 units", { ...usdc, hubMinimum: undefined }, 10n ** 19n, "withdraw"],
    [
      "the hub wants more than the operator",
      { ...usdc, hubMinimum: 200_000_000n },
      199_999_999n,
      "below_hub_minimum",
    ],
    ["--withdraw ignores the configured minimum", { ...usdc, isAskedFor: true }, 10_000_000n, "withdraw"],
    ["--withdraw still wants 10", { ...usdc, isAskedFor: true }, 9_999_999n, "below_configured"],
    [
      "--withdraw still wants what the hub wants",
      { ...dai, hubMinimum: 11n * e18, isAskedFor: true },
      10n * e18,
      "below_hub_minimum",
    ],
  ] as const
) {
  Deno.test(`withdrawal threshold: ${name}: ${verdict} (F25)`, () => {
    const decision = decideWithdrawal({ ...facts, available });
    assert.equal(decision.skip ?? "withdraw", verdict);
    assert.equal(decision.available, available);
  });
}

Deno.test("withdrawal threshold: the decision has all three numbers", () => {
  assert.deepEqual(decideWithdrawal({ ...usdc, hubMinimum: undefined, available: 5n }), {
    available: 5n,
    configuredMinimum: 100_000_000n,
    hubMinimum: 10_000_000_000_000_000_000n,
    skip: "below_configured",
  });
});

Deno.test("withdrawal accounts: each pays out to our address on the chain, none twice", () => {
  const [own, hubKey, other] = [1, 2, 3].map((byte) => new Uint8Array(20).fill(byte));
  assert.ok(own !== undefined && hubKey !== undefined && other !== undefined);
  assert.deepEqual(listFeeAccounts(own, [hubKey, own, other, other, hubKey]), [
    { address: own, beneficiary: undefined },
    { address: hubKey, beneficiary: own },
    { address: other, beneficiary: own },
  ]);
  assert.deepEqual(listFeeAccounts(own, [undefined]), [{ address: own, beneficiary: undefined }]);
});

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
