import assert from "node:assert/strict";
import { decodeFunctionData, encodeAbiParameters, parseAbi } from "viem";
import type { Hex } from "../../../src/core/encoding/bytes.ts";
import {
  decodeRouterPrice,
  decodeWrappedNative,
  encodeRouterQuote,
  encodeWrappedNative,
} from "../../../src/core/evm/native_price.ts";

const feeToken: Hex = `0x${"aa".repeat(20)}`;
const native: Hex = `0x${"bb".repeat(20)}`;

function amounts(...values: bigint[]): Hex {
  return encodeAbiParameters([{ type: "uint256[]" }], [values]);
}

Deno.test("router: the question is for one whole native token, paid in the fee token", () => {
  const abi = parseAbi(["function getAmountsIn(uint256, address[]) view returns (uint256[])"]);
  const { args } = decodeFunctionData({ abi, data: encodeRouterQuote(feeToken, native) });
  assert.equal(args[0], 10n ** 18n);
  assert.deepEqual(args[1].map((address) => address.toLowerCase()), [feeToken, native]);
  assert.equal(encodeWrappedNative(), "0xad5c4648");
});

for (
  const [units, decimals, price27] of [
    [3_000_500_000n, 6, 3_000_500_000n * 10n ** 21n],
    [600n * 10n ** 18n, 18, 600n * 10n ** 27n],
    [5n, 0, 5n * 10n ** 27n],
    [10n ** 30n, 30, 10n ** 27n],
  ] as const
) {
  Deno.test(`router: ${units} units of a token with ${decimals} decimals`, () => {
    assert.deepEqual(decodeRouterPrice(amounts(units, 10n ** 18n), decimals), { kind: "price", price27 });
  });
}

Deno.test("router: a wrapper that answers with one amount is accepted where the fee token is the native one", () => {
  const wrapped = decodeRouterPrice(amounts(10n ** 18n), 18);
  assert.deepEqual(wrapped, { kind: "price", price27: 10n ** 27n });
  assert.deepEqual(decodeRouterPrice(amounts(10n ** 18n), 6), { kind: "failed", code: "malformed" });
});

Deno.test("router: an empty pool has no price", () => {
  assert.deepEqual(decodeRouterPrice(amounts(0n, 10n ** 18n), 6), { kind: "failed", code: "not_positive" });
});

Deno.test("router: answers of another shape are malformed", () => {
  for (const result of ["0x", amounts(), amounts(1n), amounts(1n, 2n, 3n), `0x${"ff".repeat(32)}`] as const) {
    assert.deepEqual(decodeRouterPrice(result, 6), { kind: "failed", code: "malformed" });
  }
});

Deno.test("router: its wrapped native token is an address, or there is no router", () => {
  assert.equal(decodeWrappedNative(encodeAbiParameters([{ type: "address" }], [native])), native);
  assert.equal(decodeWrappedNative("0x"), undefined);
  assert.equal(decodeWrappedNative(`0x${"00".repeat(32)}`), undefined);
});
