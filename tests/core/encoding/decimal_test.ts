import assert from "node:assert/strict";
import { formatDecimal, parseDecimal, rescale } from "../../../src/core/encoding/bytes.ts";

for (
  const [text, decimals, value] of [
    ["3456.78", 2, 345_678n],
    ["3456.78", 27, 3_456_780_000_000_000_000_000_000_000_000n],
    ["3456.78", 1, 34_567n],
    ["0.5", 0, 0n],
    ["1", 6, 1_000_000n],
    ["007.50", 2, 750n],
    // 30 decimals: the last three are cut off.
    ["1.000000000000000000000000000999", 27, 10n ** 27n],
    ["0.000000000000000000000000001", 27, 1n],
  ] as const
) {
  Deno.test(`decimal: ${text} with ${decimals} decimals is ${value}`, () => {
    assert.equal(parseDecimal(text, decimals), value);
  });
}

for (
  const text of [
    "",
    ".",
    "1.",
    ".5",
    "-1",
    "+1",
    "1e3",
    "1E-7",
    "1_000",
    "1,5",
    " 1",
    "1 ",
    "0x10",
    "NaN",
    "Infinity",
    "1.2.3",
    "\u0661",
    "9".repeat(41),
    `1.${"0".repeat(81)}`,
  ]
) {
  Deno.test(`decimal: ${JSON.stringify(text.slice(0, 12))} is not a plain number`, () => {
    assert.equal(parseDecimal(text, 27), undefined);
  });
}

Deno.test("decimal: rescaling up is exact, down it rounds down", () => {
  assert.equal(rescale(15n, 1, 3), 1_500n);
  assert.equal(rescale(1_599n, 3, 1), 15n);
  assert.equal(rescale(7n, 5, 5), 7n);
});

Deno.test("decimals: integers get their point, exactly", () => {
  assert.deepEqual(
    [0n, 1n, -1n, 10n ** 18n, 12_345n * 10n ** 16n, -25n * 10n ** 17n, 2n ** 128n].map((amount) =>
      formatDecimal(amount, 18)
    ),
    [
      "0",
      "0.000000000000000001",
      "-0.000000000000000001",
      "1",
      "123.45",
      "-2.5",
      "340282366920938463463.374607431768211456",
    ],
  );
});
