import assert from "node:assert/strict";
import {
  decideProfit,
  isRaiseWorthATry,
  type Offer,
  paymentBudget18,
  type ProfitRule,
  toReward18,
} from "../../../../src/messaging/relay/decisions/profit.ts";

// 200,000 gas at 30 gwei and 3,000 dollars: 18 dollars.
const offer: Offer = { isOwnPayment: false, fee18: 0n, gas: 200_000n, dataCostWei: 0n };
const rule: ProfitRule = { gasPriceWei: 30_000_000_000n, price27: 3_000n * 10n ** 27n, profitPercent: 0 };
const COST = 18n * 10n ** 18n;

for (
  const [percent, required18] of [
    [1, 18_180_000_000_000_000_000n],
    [50, 27_000_000_000_000_000_000n],
    [100, 36_000_000_000_000_000_000n],
  ] as const
) {
  Deno.test(`profit: at ${percent} percent the fee that reaches ${required18} delivers (F22)`, () => {
    const decision = decideProfit({ ...offer, fee18: required18 }, { ...rule, profitPercent: percent });
    assert.equal(decision.kind, "deliver");
    assert.deepEqual(decision.numbers, {
      gas: 200_000n,
      dataCostWei: 0n,
      gasPriceWei: 30_000_000_000n,
      price27: 3_000n * 10n ** 27n,
      profitPercent: percent,
      feeUsd18: required18,
      costUsd18: COST,
      requiredUsd18: required18,
    });
  });
  Deno.test(`profit: at ${percent} percent a fee one below ${required18} is held with both numbers (F22)`, () => {
    const decision = decideProfit({ ...offer, fee18: required18 - 1n }, { ...rule, profitPercent: percent });
    assert.equal(decision.kind === "hold" && decision.reason, "unprofitable");
    assert.equal(decision.numbers.requiredUsd18, required18);
    assert.equal(decision.numbers.feeUsd18, required18 - 1n);
  });
}

Deno.test("profit: 0 percent delivers without a fee, without a known fee and without a price (F22)", () => {
  for (const fee18 of [0n, undefined]) {
    const decision = decideProfit({ ...offer, fee18 }, { ...rule, price27: undefined });
    assert.equal(decision.kind === "deliver" && decision.why, "no_minimum");
    assert.equal(decision.numbers.costUsd18, undefined);
  }
});

Deno.test("profit: without a price nothing is profitable, however high the fee (F22)", () => {
  const missing = { ...rule, profitPercent: 1, price27: undefined };
  const decision = decideProfit({ ...offer, fee18: 10n ** 40n }, missing);
  assert.equal(decision.kind === "hold" && decision.reason, "price_unknown");
  assert.equal(decision.numbers.requiredUsd18, undefined);
});

Deno.test("profit: an unknown fee is held as such, even where delivery costs nothing", () => {
  const decision = decideProfit({ ...offer, fee18: undefined, gas: 0n }, { ...rule, profitPercent: 1 });
  assert.equal(decision.kind === "hold" && decision.reason, "fee_unknown");
});

Deno.test("profit: a delivery that costs nothing needs neither fee nor price (F22)", () => {
  const free = decideProfit({ ...offer, gas: 0n }, { ...rule, profitPercent: 100, price27: undefined });
  assert.equal(free.kind === "deliver" && free.why, "profitable");
  assert.equal(free.numbers.requiredUsd18, 0n);
});

Deno.test("profit: the data cost of an OP-stack chain can make the difference (F22)", () => {
  const required = { ...rule, profitPercent: 10 };
  const fee18 = 19_800_000_000_000_000_000n;
  assert.equal(decideProfit({ ...offer, fee18 }, required).kind, "deliver");
  // 10^12 wei at 3,000 dollars: 0.003 dollars.
  const withData = decideProfit({ ...offer, fee18, dataCostWei: 10n ** 12n }, required);
  assert.equal(withData.kind, "hold");
  assert.equal(withData.numbers.costUsd18, COST + 3_000_000_000_000_000n);
});

Deno.test("profit: no message is delivered without a fee, or while fee and price are unknown", () => {
  const unpriced = { ...rule, profitPercent: 5, price27: undefined };
  for (const isOwnPayment of [true, false]) {
    const decisions = [
      decideProfit({ ...offer, isOwnPayment }, { ...rule, profitPercent: 5 }),
      decideProfit({ ...offer, isOwnPayment, fee18: undefined }, unpriced),
    ];
    assert.deepEqual(decisions.map(({ kind }) => kind), ["hold", "hold"]);
  }
});

Deno.test("profit: a payment of our own goes while it costs no more than what may be spent, also at 0 percent", () => {
  for (const profitPercent of [0, 50]) {
    const decide = (fee18: bigint): string =>
      decideProfit({ ...offer, isOwnPayment: true, fee18 }, { ...rule, profitPercent }).kind;
    assert.equal(decide(COST), "deliver", `at ${profitPercent} percent`);
    assert.equal(decide(COST - 1n), "hold", `at ${profitPercent} percent`);
  }
});

Deno.test("profit: a raise is tried at what was required last, or at a quarter of that and a tenth more than before", () => {
  const tried = (fees: readonly bigint[], offeredUsd18: bigint): readonly boolean[] =>
    fees.map((fee18) => isRaiseWorthATry(fee18, { requiredUsd18: 1_000n, offeredUsd18 }));
  assert.deepEqual(tried([249n, 250n], 0n), [false, true]);
  assert.deepEqual(tried([329n, 330n], 300n), [false, true]);
  assert.deepEqual(tried([1_000n], 999n), [true]);
});

Deno.test("profit: what may be spent on a payment is less than a tenth of it", () => {
  assert.deepEqual([0n, 10n, 11n, 100n * 10n ** 18n].map(paymentBudget18), [
    0n,
    0n,
    1n,
    10n ** 19n - 1n,
  ]);
});

Deno.test("profit: a reward is worth its amount at the price of the hub's token, and nothing without one", () => {
  const fiveTokens = 5n * 10n ** 12n;
  assert.equal(toReward18(fiveTokens, 35n * 10n ** 24n), 175n * 10n ** 15n);
  assert.equal(toReward18(fiveTokens, undefined), 0n);
});
