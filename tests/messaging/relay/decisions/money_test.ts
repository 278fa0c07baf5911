import assert from "node:assert/strict";
import fc from "fast-check";
import { toTokenUnits } from "../../../../src/core/encoding/bytes.ts";
import { unitPrice27 } from "../../../../src/core/evm/native_price.ts";
import { costUsd18, requiredUsd18, toFee18 } from "../../../../src/messaging/relay/decisions/profit.ts";

const dollars27 = (whole: bigint): bigint => whole * 10n ** 27n;

for (
  const [units, decimals, fee18] of [
    [5n, 0, 5_000_000_000_000_000_000n],
    [1_500_000n, 6, 1_500_000_000_000_000_000n],
    [1n, 6, 1_000_000_000_000n],
    [123n, 17, 1_230n],
    [7n, 18, 7n],
    [0n, 6, 0n],
    [1_999n, 21, 1n],
  ] as const
) {
  Deno.test(`money: ${units} units of a token with ${decimals} decimals are ${fee18} of 18 (F22)`, () => {
    assert.equal(toFee18(units, decimals), fee18);
  });
}

Deno.test("money: decimals that no token can have are a defect", () => {
  for (const decimals of [-1, 1.5, 256, NaN]) assert.throws(() => toFee18(1n, decimals), RangeError);
});

Deno.test("money: scaling a fee to 18 decimals loses nothing up to 18 decimals", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 128n }), fc.integer({ min: 0, max: 18 }), (units, d) => {
      assert.equal(toFee18(units, d) / 10n ** BigInt(18 - d), units);
      assert.equal(toFee18(units, d) % 10n ** BigInt(18 - d), 0n);
    }),
  );
});

Deno.test("money: the price per wei rounds down (F22)", () => {
  assert.equal(unitPrice27(dollars27(3_000n)), 3_000_000_000_000n);
  assert.equal(unitPrice27(1_999_999_999_999_999_999n), 1n);
});

const GWEI = 10n ** 9n;

// gas, gas price in wei, data cost in wei, price -> cost in dollars x 10^18
for (
  const [name, gas, gasPriceWei, dataCostWei, price27, cost18] of [
    ["gas at 3,000 dollars", 200_000n, 30n * GWEI, 0n, dollars27(3_000n), 18n * 10n ** 18n],
    ["gas at one dollar", 200_000n, 30n * GWEI, 0n, dollars27(1n), 6n * 10n ** 15n],
    [
      "gas and data of an OP-stack chain",
      200_000n,
      1_000_000n,
      50_000n * GWEI,
      dollars27(3_000n),
      1_506n * 10n ** 14n,
    ],
    ["data alone", 0n, 1n, GWEI, dollars27(1n), GWEI],
    ["data, which rounds down by itself", 1n, 1n, 1n, dollars27(1n), 2n],
    ["less than a part, which is nothing", 1n, 1n, 0n, 10n ** 26n, 0n],
    ["an estimate of Arbitrum", 1_234_567n, 10_000_000n, 0n, 345_678n * 10n ** 25n, 42_676_265_142_600_000n],
  ] as const
) {
  Deno.test(`money: cost of ${name}`, () => {
    assert.equal(costUsd18({ gas, dataCostWei }, { gasPriceWei, price27 }), cost18);
  });
}

Deno.test("money: an unknown price is unknown cost, except where no wei is spent", () => {
  const unknown = { gasPriceWei: 5n, price27: undefined };
  assert.equal(costUsd18({ gas: 1n, dataCostWei: 0n }, unknown), undefined);
  assert.equal(costUsd18({ gas: 0n, dataCostWei: 1n }, unknown), undefined);
  assert.equal(costUsd18({ gas: 0n, dataCostWei: 0n }, unknown), 0n);
  assert.equal(costUsd18({ gas: 9n, dataCostWei: 0n }, { ...unknown, gasPriceWei: 0n }), 0n);
});

for (
  const [percent, cost18, required18] of [
    [0, 101n, 101n],
    [1, 99n, 99n],
    [1, 100n, 101n],
    [1, 199n, 200n],
    [50, 1n, 1n],
    [50, 3n, 4n],
    [50, 2n, 3n],
    [100, 7n, 14n],
    [100, 0n, 0n],
    [1_000_000, 1n, 10_001n],
    [10, 18_000_000_000_000_000_000n, 19_800_000_000_000_000_000n],
  ] as const
) {
  Deno.test(`money: ${percent} percent above ${cost18} requires ${required18}`, () => {
    assert.equal(requiredUsd18(cost18, percent), required18);
  });
}

for (
  const [amount, decimals, units] of [
    [10, 6, 10_000_000n],
    [10, 18, 10n ** 19n],
    [100.5, 6, 100_500_000n],
    [10.123456, 6, 10_123_456n],
    [10.1234567, 6, 10_123_457n],
    [12.5, 0, 13n],
    [1e21, 2, 10n ** 23n],
    [0, 6, 0n],
  ] as const
) {
  Deno.test(`money: ${amount} whole units of a token with ${decimals} decimals are ${units}`, () => {
    assert.equal(toTokenUnits(amount, decimals), units);
  });
}

Deno.test("money: amounts that are no amounts are refused", () => {
  for (const amount of [-1, Infinity, NaN, 1e-7]) assert.throws(() => toTokenUnits(amount, 6), RangeError);
});
