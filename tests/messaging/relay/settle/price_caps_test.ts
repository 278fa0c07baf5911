import { MAX_TIMES_MARKET } from "../../../../src/core/chains/replacement.ts";
import assert from "node:assert/strict";
import {
  type PriceCapInput,
  priceCaps,
  shortfallWei,
} from "../../../../src/messaging/relay/settle/replacement.ts";

const rich: PriceCapInput = {
  revenue: { kind: "any" },
  gasLimit: 150_000n,
  dataCostWei: 0n,
  marketWei: 1_000n,
  balanceWei: 10n ** 30n,
};
const fees = { kind: "fees", price27: 10n ** 27n, profitPercent: 10 } as const;

Deno.test("price cap: without a minimum profit it is a multiple of the market", () => {
  assert.deepEqual(priceCaps(rich), {
    capWei: MAX_TIMES_MARKET * 1_000n,
    cancelCapWei: MAX_TIMES_MARKET * 1_000n,
  });
});

Deno.test("price cap: with one it is the price at which the fees just pay", () => {
  const { capWei } = priceCaps({ ...rich, revenue: { ...fees, offered18: 123_750n * 5_000n } });
  assert.equal(capWei, 5_000n);
  assert.equal(priceCaps({ ...rich, revenue: { ...fees, offered18: 0n } }).capWei, 0n);
  const unknown = { ...fees, price27: undefined, offered18: 10n ** 18n };
  assert.equal(priceCaps({ ...rich, revenue: unknown }).capWei, 0n, "an unknown price pays for nothing");
});

Deno.test("price cap: what is not wanted any more may cost nothing, its cancellation may", () => {
  const { capWei, cancelCapWei } = priceCaps({ ...rich, revenue: { kind: "none" } });
  assert.equal(capWei, 0n);
  assert.equal(cancelCapWei, MAX_TIMES_MARKET * 1_000n);
});

Deno.test("price cap: the account must be able to pay for the gas limit", () => {
  const poor = { ...rich, balanceWei: 150_000n * 700n };
  assert.deepEqual(priceCaps(poor), { capWei: 700n, cancelCapWei: MAX_TIMES_MARKET * 1_000n });
  assert.equal(priceCaps({ ...poor, dataCostWei: 150_000n * 600n }).capWei, 100n, "data is paid for first");
  assert.equal(shortfallWei(poor, 700n), 0n);
  assert.equal(shortfallWei(poor, 701n), 150_000n);
});
