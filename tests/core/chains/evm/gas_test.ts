import assert from "node:assert/strict";
import fc from "fast-check";
import {
  capAfterDataCost,
  capPrice,
  chainGasLimit,
  gasLimitFor,
  gasPriceFor,
  highestPriceWei,
  lowestTip,
  untracedGasLimit,
} from "../../../../src/core/chains/evm/gas.ts";

Deno.test("gas: every chain has a limit, known ones their own", () => {
  const limits = [42161, 421614, 1329, 25, 1440, 1, 56, 100, 31337].map(chainGasLimit);
  assert.deepEqual(limits, [
    32_000_000n,
    32_000_000n,
    4_000_000n,
    18_000_000n,
    15_000_000n,
    16_000_000n,
    16_000_000n,
    16_000_000n,
    16_000_000n,
  ]);
});

Deno.test("gas: the limit leaves room for refunds, the 64th that stays behind and 5 percent", () => {
  assert.equal(gasLimitFor(1_000_000n), 1_333_334n);
  assert.equal(gasLimitFor(0n), 1n);
  fc.assert(fc.property(fc.bigInt({ min: 0n, max: 30_000_000n }), (used) => {
    assert.ok(gasLimitFor(used) * 63n * 4n * 100n >= used * 64n * 5n * 105n);
  }));
});

Deno.test("gas: without a trace the limit is a generous share of the chain's, never more than it", () => {
  assert.equal(untracedGasLimit(16_000_000n, 1, 270_000n), 4_000_000n);
  assert.equal(untracedGasLimit(16_000_000n, 1, 3_000_000n), 6_000_000n);
  assert.equal(untracedGasLimit(16_000_000n, 2, 270_000n), 8_000_000n);
  assert.equal(untracedGasLimit(16_000_000n, 3, undefined), 12_000_000n);
  assert.equal(untracedGasLimit(16_000_000n, 4, undefined), 12_800_000n);
  assert.equal(untracedGasLimit(16_000_000n, 100, undefined), 12_800_000n);
  assert.equal(untracedGasLimit(16_000_000n, 2, 15_000_000n), 16_000_000n);
});

Deno.test("gas: without a base fee the price is the node's plus the buffer in percent, rounded down (F22)", () => {
  const offer = (gasPriceWei: bigint, percent: number): unknown =>
    gasPriceFor({ gasPriceWei, baseFeeWei: undefined, lowestTipWei: 0n }, percent);
  assert.deepEqual(offer(1001n, 0), { type: "legacy", gasPriceWei: 1001n });
  assert.deepEqual(offer(1001n, 10), { type: "legacy", gasPriceWei: 1101n });
});

Deno.test("gas: with a base fee the offer covers two blocks of rising base fee and pays the node's tip", () => {
  const offer = gasPriceFor({ gasPriceWei: 110n, baseFeeWei: 100n, lowestTipWei: 0n }, 0);
  assert.deepEqual(offer, { type: "eip1559", maxFeeWei: 135n, maxPriorityFeeWei: 10n });
  assert.equal(highestPriceWei(offer), 135n);
  // A node that names less than the base fee pays no tip, but is still included.
  assert.deepEqual(gasPriceFor({ gasPriceWei: 90n, baseFeeWei: 100n, lowestTipWei: 0n }, 0), {
    type: "eip1559",
    maxFeeWei: 125n,
    maxPriorityFeeWei: 0n,
  });
});

Deno.test("gas: Polygon's nodes get the tip that they demand, whatever they suggest, and a higher one where they ask for it", () => {
  const gwei = 10n ** 9n;
  const lowestTipWei = lowestTip(137);
  assert.deepEqual([lowestTipWei, lowestTip(80002), lowestTip(1)], [25n * gwei, 25n * gwei, 0n]);
  const offer = (gasPriceWei: bigint, baseFeeWei: bigint | undefined): unknown =>
    gasPriceFor({ gasPriceWei, baseFeeWei, lowestTipWei }, 0);
  assert.deepEqual(offer(101n * gwei, 100n * gwei), {
    type: "eip1559",
    maxFeeWei: 150n * gwei,
    maxPriorityFeeWei: 25n * gwei,
  });
  assert.deepEqual(offer(130n * gwei, 100n * gwei), {
    type: "eip1559",
    maxFeeWei: 155n * gwei,
    maxPriorityFeeWei: 30n * gwei,
  });
  assert.deepEqual(offer(1n * gwei, undefined), { type: "legacy", gasPriceWei: 25n * gwei });
});

Deno.test("gas: a bound takes away buffer, room for the base fee and tip, in that order", () => {
  const offer = gasPriceFor({ gasPriceWei: 110n, baseFeeWei: 100n, lowestTipWei: 0n }, 10);
  assert.deepEqual(offer, { type: "eip1559", maxFeeWei: 148n, maxPriorityFeeWei: 10n });
  assert.deepEqual(capPrice(offer, 148n), offer);
  assert.deepEqual(capPrice(offer, 110n), { ...offer, maxFeeWei: 110n });
  assert.deepEqual(capPrice(offer, 20n), { type: "eip1559", maxFeeWei: 20n, maxPriorityFeeWei: 10n });
  assert.deepEqual(capPrice({ type: "legacy", gasPriceWei: 9n }, 8n), { type: "legacy", gasPriceWei: 8n });
});

Deno.test("gas: an offer never promises a higher tip than price", () => {
  const amount = fc.bigInt({ min: 0n, max: 10n ** 13n });
  fc.assert(
    fc.property(amount, amount, amount, fc.integer({ min: 0, max: 1000 }), (...sample) => {
      const [gasPriceWei, baseFeeWei, lowestTipWei, percent] = sample;
      const offer = gasPriceFor({ gasPriceWei, baseFeeWei, lowestTipWei }, percent);
      assert.equal(offer.type, "eip1559");
      assert.ok(offer.maxPriorityFeeWei <= offer.maxFeeWei);
      assert.ok(offer.maxPriorityFeeWei >= lowestTipWei);
      assert.ok(offer.maxFeeWei >= baseFeeWei || baseFeeWei > 2n * gasPriceWei);
      assert.ok(offer.maxFeeWei >= gasPriceWei);
    }),
  );
});

Deno.test("gas: data that costs more than in the simulation lowers the cap, cheaper data adds none", () => {
  const capOf = (simulatedWei: bigint, nowWei: bigint, gasUsed = 100n): bigint =>
    capAfterDataCost(50n, nowWei - simulatedWei, gasUsed);
  assert.deepEqual([capOf(10n, 10n), capOf(10n, 0n), capOf(0n, 1n), capOf(0n, 100n), capOf(0n, 101n)], [
    50n,
    50n,
    49n,
    49n,
    48n,
  ]);
  assert.deepEqual([capOf(0n, 4_999n), capOf(0n, 5_000n), capOf(0n, 10n ** 18n), capOf(0n, 9n, 0n)], [
    0n,
    0n,
    0n,
    50n,
  ]);
});
