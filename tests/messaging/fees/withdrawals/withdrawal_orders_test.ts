import assert from "node:assert/strict";
import {
  decideWithdrawal,
  listFeeAccounts,
  nextWithdrawalMs,
} from "../../../../src/messaging/fees/withdrawals/withdrawal_orders.ts";

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
